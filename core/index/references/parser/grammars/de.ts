import { digitsAt, isCapitalised, reads, skip } from '#core/index/references/parser/lexer/tokens.ts'
import type { Token } from '#core/index/references/parser/lexer/tokens.ts'
import { mentionOf } from '#core/index/references/parser/names/act.ts'
import type { ActMention } from '#core/index/references/parser/names/act.ts'
import { isGenericOrder } from '#core/index/references/parser/names/not-acts.ts'

const TITLE_TOKENS_MAX = 14
const GERMAN_TREATY = /(?:^einigungs|staats)vertrag(?:e?s)?$/
const GERMAN_ACT = /\p{L}{3}(?:gesetz(?:buch)?|ordnung|verfassung|ubereinkommen|konvention)(?:e?s|en)?$/u
const GERMAN_DIRECTIVE = /^\p{L}{3,}(?:richtlinie|verordnung)$/u
const GERMAN_PREPOSITIONS = new Set(['uber', 'zur', 'zum', 'gegen', 'betreffend', 'fur', 'zu'])
/** Ordinals of the books of the Sozialgesetzbuch without their endings, and the numerals of `SGB`. */
const SOCIAL_VOLUMES = 'erst zweit dritt viert funft sechst siebt acht neunt zehnt elft zwolft'.split(' ')
const SOCIAL_NUMERALS = 'i ii iii iv v vi vii viii ix x xi xii'.split(' ')

/** `Produkthaftungsgesetzes`, `Straßenverkehrs-Ordnung`, `Gesetz gegen den unlauteren Wettbewerb`. */
export function readGermanName(tokens: readonly Token[], at: number, linked: boolean): ActMention | undefined {
  const first = tokens[at]
  if (first === undefined || !/\p{Lu}/u.test(first.raw) || first.glued) return undefined
  if (reads(tokens, at, 'gesetz', 'gesetzes')) return readGermanTitle(tokens, at)
  const social = readSocialCode(tokens, at)
  if (social !== undefined) return social
  if (reads(tokens, at + 1, '-') && reads(tokens, at + 2, 'und', 'oder')) return readGermanPair(tokens, at)
  let [name, end] = [first.text, at + 1]
  while (reads(tokens, end, '-') && tokens[end]?.glued === true && tokens[end + 1]?.glued === true && end < at + 6) {
    name += tokens[end + 1]?.text ?? ''
    end += 2
  }
  const isAct = GERMAN_ACT.test(name) || GERMAN_TREATY.test(name) || (linked && GERMAN_DIRECTIVE.test(name))
  if (!isAct || isGenericOrder(name) || isGenericOrder(name.replace(/e?s$|en$/, ''))) return undefined
  return mentionOf(`name:${name.replace(/(gesetz|buch|vertrag|ubereinkommen)e?s$/, '$1')}`, end)
}

/** `Rennwett- und Lotteriegesetz`: two compounds that share their last part. */
function readGermanPair(tokens: readonly Token[], at: number): ActMention | undefined {
  const [first, second] = [tokens[at]?.text ?? '', tokens[at + 3]?.text ?? '']
  if (!GERMAN_ACT.test(second) || isGenericOrder(second)) return undefined
  return mentionOf(`name:${first}-und-${second.replace(/(gesetz|buch)e?s$/, '$1')}`, at + 4)
}

function readGermanTitle(tokens: readonly Token[], at: number): ActMention | undefined {
  if (reads(tokens, at + 1, 'vom')) return readGermanDate(tokens, at)
  if (!GERMAN_PREPOSITIONS.has(tokens[at + 1]?.text ?? '') || reads(tokens, at - 1, 'dieses')) return undefined
  const words = ['gesetz']
  for (let index = at + 1; index < at + TITLE_TOKENS_MAX; index += 1) {
    const token = tokens[index]
    if (token?.kind !== 'word') return undefined
    words.push(token.text)
    if (isCapitalised(token)) return mentionOf(`name:${words.join('-')}`, afterGenitives(tokens, index + 1))
  }
  return undefined
}

/** `Gesetz zur Reform des Betriebsverfassungsgesetzes`: the name goes on in the genitive. */
function afterGenitives(tokens: readonly Token[], at: number): number {
  const isGenitive = reads(tokens, at, 'des', 'der') && tokens[at + 1]?.kind === 'word' && isCapitalised(tokens[at + 1])
  return isGenitive ? at + 2 : at
}

/** `Gesetz vom 20. Dezember 2008`: the date names the law. */
function readGermanDate(tokens: readonly Token[], at: number): ActMention | undefined {
  const day = digitsAt(tokens, at + 2, 1, 2)
  if (day === undefined) return undefined
  const month = skip(tokens, at + 3, '.')
  const year = digitsAt(tokens, month + 1, 4, 4)
  if (year === undefined) return mentionOf(`name:gesetz-vom-${day}`, at + 3)
  return mentionOf(`name:gesetz-vom-${day}-${tokens[month]?.text ?? ''}-${year}`, month + 2)
}

/** `Neuntes Buch Sozialgesetzbuch`, `des Neunten Buches Sozialgesetzbuch`: the act that is cited as `SGB IX`. */
function readSocialCode(tokens: readonly Token[], at: number): ActMention | undefined {
  const book = SOCIAL_VOLUMES.indexOf((tokens[at]?.text ?? '').replace(/(?:es|en|er|e)$/, ''))
  if (book < 0 || !reads(tokens, at + 1, 'buch', 'buches', 'buchs')) return undefined
  const numeral = SOCIAL_NUMERALS[book] ?? ''
  return reads(tokens, at + 2, 'sozialgesetzbuch', 'sozialgesetzbuchs')
    ? mentionOf(`de:sgb-${numeral}`, at + 3)
    : undefined
}
