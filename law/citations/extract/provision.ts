import type { ActMention, Citation, Reading } from '#law/citations/citation.ts'
import { readComments } from '#law/citations/grammars/us.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { isCitedFromWithin, isSelfCitation } from '#law/citations/names/self-citation.ts'
import { impliedDesignator, readDesignator } from '#law/citations/provisions/designators.ts'
import type { Designator } from '#law/citations/provisions/designators.ts'
import { readList } from '#law/citations/provisions/lists.ts'
import { finish } from './citations.ts'
import { confidenceOf, isOfAnAct } from './confidence.ts'

/** Reads a designator with its numbers, and the act before or after them. */
export function readProvision(
  tokens: TokenStream,
  at: number,
  from: number,
  before: ActMention | undefined,
  aliases: ActAliases,
): Reading | undefined {
  const [comment, ...comments] = readComments(tokens, at)
  if (comment !== undefined) {
    const designator = impliedDesignator('section', at + 1)
    return finish(tokens, designator, [{ ...comment, from }, ...comments], before, aliases, 'certain', 'comment')
  }
  const designator = readDesignator(tokens, at)
  if (designator === undefined || (before?.code === true && before.cased !== true && designator.kind !== 'rule'))
    return undefined
  const [first, ...rest] = readList(tokens, designator)
  if (first === undefined) return undefined
  if (before === undefined && isSelfCitation(tokens, at)) return { citations: [], end: (rest.at(-1) ?? first).to }
  const end = (rest.at(-1) ?? first).to
  const confidence = confidenceOf(tokens, at, designator, [first, ...rest])
  const reading = finish(tokens, designator, [{ ...first, from }, ...rest], before, aliases, confidence)
  if (before !== undefined || reading === undefined) return reading
  const scope = scopeOf(tokens, end, designator)
  return { ...reading, citations: reading.citations.map((citation) => ({ ...citation, scope })) }
}

function scopeOf(tokens: TokenStream, end: number, designator: Designator): Citation['scope'] {
  if (isCitedFromWithin(tokens, end)) return 'self-citation'
  return isOfAnAct(tokens, end, designator) ? 'an act' : undefined
}
