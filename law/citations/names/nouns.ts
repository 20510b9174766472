import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import WORDS from '#law/citations/lexer/words.json' with { type: 'json' }

/** English nouns that end the name of an act. */
export const LEGAL_NOUNS: ReadonlySet<string> = new Set(WORDS.legal_nouns.split(' '))
const FOREIGN_NOUNS = /^(?:gesetze?s?|verordnung|verfassung|grundgesetz|loi|decret|ordonnance|traite|charte)$/

/** `our constitution`, `unsere Verfassung`: a noun of legislation in any language. */
export function isLegalNoun(text: string): boolean {
  return LEGAL_NOUNS.has(text) || FOREIGN_NOUNS.test(text)
}

/** `Paris Agreement`: an agreement between states; all others are contracts. The position is that of the first word. */
export function isTreaty(tokens: TokenStream, at: number): boolean {
  return (
    tokens.reads(at, 'paris', 'eea', 'schengen', 'withdrawal', 'efta', 'dublin') && tokens.reads(at + 1, 'agreement')
  )
}
