import type { ActMention, Reading } from '#law/citations/citation.ts'
import { isDesignatorBehind, languagesIn } from '#law/citations/lexer/languages.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { impliedDesignator } from '#law/citations/provisions/designators.ts'
import { readDesignation, wholeNumber, type Part } from '#law/citations/provisions/numbers.ts'
import { readQualifiers } from '#law/citations/provisions/qualifiers.ts'
import { cite } from './citations.ts'

/**
 * Reads a provision whose word stands behind its number: `36 §`, `3 kap. 5 §`, `5. pants`, `6:519. §`.
 * @param from where the citation begins, with its act before it.
 */
export function readNumberFirst(
  tokens: TokenStream,
  at: number,
  aliases: ActAliases,
  from = at,
  before?: ActMention,
): Reading | undefined {
  const languages = languagesIn(tokens, aliases.languages)
  if (languages.size === 0 || !tokens.isNumber(at)) return undefined
  const chapter = tokens.reads(at + 1, 'kap', 'kapitlet', 'luvun', 'luku') ? tokens.skip(at + 2, '.') : at
  const number = wholeNumber(tokens, chapter, readDesignation(tokens, chapter))
  if (number === undefined) return undefined
  // `5 a §`: a letter apart.
  const isLetter = /^[a-z]$/.test(tokens.raw(number.end)) && isDesignatorBehind(tokens.text(number.end + 1), languages)
  const word = tokens.skip(isLetter ? number.end + 1 : number.end, '.')
  if (!isDesignatorBehind(tokens.text(word), languages) || tokens.isNumber(word + 1)) return undefined
  const [first, ...rest] = number.parts
  if (first === undefined) return undefined
  const own = isLetter ? { ...first, text: `${first.text}${tokens.text(number.end)}` } : first
  const outer: Part[] = chapter === at ? [] : [{ text: `chapter-${tokens.text(at)}`, kind: 'main', keyword: '' }]
  // `6:519. §-a`: the ending of a case.
  const end = tokens.reads(word + 1, '-') && tokens.isGlued(word + 1) && tokens.isWord(word + 2) ? word + 3 : word + 1
  const more = readQualifiers(tokens, end)
  const element = { parts: [...outer, own, ...rest, ...more.parts], from, to: more.end }
  return cite(tokens, { designator: impliedDesignator('sign', at), elements: [element] }, before, aliases, 'certain')
}
