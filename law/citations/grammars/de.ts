import { actBeside, type ActMention, readPattern } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'

const TITLE_TOKENS_MAX = 14
const GERMAN_TREATY = /(?:^einigungs|staats)vertrag(?:e?s)?$/
const GERMAN_ACT = /\p{L}{3}(?:gesetz(?:buch)?|ordnung|verfassung|ubereinkommen|konvention)(?:e?s|en)?$/u
const GERMAN_DIRECTIVE = /^\p{L}{3,}(?:richtlinie|verordnung)$/u
const GERMAN_PREPOSITIONS = new Set(['uber', 'zur', 'zum', 'gegen', 'betreffend', 'fur', 'zu'])
/** Ordinals of the books of the Sozialgesetzbuch without their endings, and the numerals of `SGB`. */
export const SOCIAL_VOLUMES = 'erst zweit dritt viert funft sechst siebt acht neunt zehnt elft zwolft'.split(' ')
const SOCIAL_NUMERALS = 'i ii iii iv v vi vii viii ix x xi xii'.split(' ')

/** Orders that a firm, a school or a meeting gives itself. */
const PRIVATE_ORDER =
  /^(?:haus|tages|geschafts|prufungs|studien|betriebs|sitz|bade|park|benutzungs|schul|spiel|wahl|beitrags)ordnung(?:en)?$/
/** Any act at all, and orders of things: `Verordnung`, `Rangordnung`. */
const GENERIC =
  /^(?:(?:rechts|durchfuhrungs)?verordnung|(?:grossen|rang|rechts|grund|ein|unter|neu)ordnung|(?:landes|bundes|natur)gesetz|reise(?:kosten)?richtlinie)(?:e?s|en)?$/

export function isPrivateOrder(folded: string): boolean {
  return PRIVATE_ORDER.test(folded)
}

/** `Produkthaftungsgesetzes`, `Straßenverkehrs-Ordnung`, `Gesetz gegen den unlauteren Wettbewerb`. */
export function readGermanName(tokens: TokenStream, at: number, linked: boolean): ActMention | undefined {
  const first = tokens.get(at)
  if (first === undefined || !/\p{Lu}/u.test(first.raw) || first.glued) return undefined
  if (tokens.reads(at, 'gesetz', 'gesetzes', 'verordnung')) return readGermanTitle(tokens, at)
  const social = readSocialCode(tokens, at)
  if (social !== undefined) return social
  if (tokens.reads(at + 1, '-') && tokens.reads(at + 2, 'und', 'oder')) return readGermanPair(tokens, at)
  let [name, end] = [first.text, at + 1]
  while (tokens.reads(end, '-') && tokens.isGlued(end) && tokens.isGlued(end + 1) && end < at + 6) {
    name += tokens.text(end + 1)
    end += 2
  }
  const isAct = GERMAN_ACT.test(name) || GERMAN_TREATY.test(name) || (linked && GERMAN_DIRECTIVE.test(name))
  if (!isAct || PRIVATE_ORDER.test(name) || GENERIC.test(name)) return undefined
  return actBeside(`name:${name.replace(/(gesetz|buch|vertrag|ubereinkommen)e?s$/, '$1')}`, end)
}

/** `Rennwett- und Lotteriegesetz`: two compounds that share their last part. */
function readGermanPair(tokens: TokenStream, at: number): ActMention | undefined {
  const [first, second] = [tokens.text(at), tokens.text(at + 3)]
  if (!GERMAN_ACT.test(second) || PRIVATE_ORDER.test(second) || GENERIC.test(second)) return undefined
  return actBeside(`name:${first}-und-${second.replace(/(gesetz|buch)e?s$/, '$1')}`, at + 4)
}

function readGermanTitle(tokens: TokenStream, at: number): ActMention | undefined {
  // `Gesetz vom 20. Dezember 2008`: the date names the law.
  if (tokens.reads(at + 1, 'vom')) return readPattern(tokens, at, 'german_date')
  if (!GERMAN_PREPOSITIONS.has(tokens.text(at + 1)) || tokens.reads(at - 1, 'dieses')) return undefined
  const words = [tokens.text(at).replace(/es$/, '')]
  for (let index = at + 1; index < at + TITLE_TOKENS_MAX; index += 1) {
    const token = tokens.get(index)
    if (token?.kind !== 'word') return undefined
    words.push(token.text)
    if (tokens.isCapitalised(index)) return actBeside(`name:${words.join('-')}`, afterGenitives(tokens, index + 1))
  }
  return undefined
}

/** `Gesetz zur Reform des Betriebsverfassungsgesetzes`: the name goes on in the genitive. */
function afterGenitives(tokens: TokenStream, at: number): number {
  const isGenitive = tokens.reads(at, 'des', 'der') && tokens.isWord(at + 1) && tokens.isCapitalised(at + 1)
  return isGenitive ? at + 2 : at
}

/** `Neuntes Buch Sozialgesetzbuch`, `des Neunten Buches Sozialgesetzbuch`: the act that is cited as `SGB IX`. */
function readSocialCode(tokens: TokenStream, at: number): ActMention | undefined {
  const numeral = SOCIAL_NUMERALS[SOCIAL_VOLUMES.indexOf(tokens.text(at).replace(/e[nrs]?$/, ''))]
  if (numeral === undefined || !tokens.reads(at + 1, 'buch', 'buches', 'buchs')) return undefined
  return tokens.reads(at + 2, 'sozialgesetzbuch', 'sozialgesetzbuchs')
    ? actBeside(`de:sgb-${numeral}`, at + 3)
    : undefined
}
