import { reads, type Token } from './tokens.ts'

/** English nouns that end the name of an act. */
export const LEGAL_NOUNS: ReadonlySet<string> = new Set(
  (
    'act law code regulation regulations order directive decision rules rulebook convention treaty ' +
    'constitution charter ordinance statute protocol covenant declaration accord accords bill amendments'
  ).split(' '),
)
const FOREIGN_NOUNS = new Set(
  'gesetz gesetzes verordnung verfassung grundgesetz loi decret ordonnance traite charte'.split(' '),
)

/** `our constitution`, `unsere Verfassung`: a noun of legislation in any language. */
export function isLegalNoun(text: string): boolean {
  return LEGAL_NOUNS.has(text) || FOREIGN_NOUNS.has(text)
}

/** Agreements between states; all others are contracts. */
const TREATIES = new Set(['paris', 'eea', 'schengen', 'trips', 'wto', 'withdrawal', 'efta', 'dublin', 'minsk'])

/** `Paris Agreement`: the position is that of the first word. */
export function isTreaty(tokens: readonly Token[], at: number): boolean {
  return TREATIES.has(tokens[at]?.text ?? '') && reads(tokens, at + 1, 'agreement')
}
