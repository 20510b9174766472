import type { TokenStream } from '#law/citations/lexer/tokens.ts'

/** Places in the text where the words stand: `section 4.2 above`, `l'article 4 ci-dessus`. */
const SELF_REFERENCES = new Set(
  'above below hereof herein hereunder hereto supra infra overleaf oben unten vorstehend nachstehend'.split(' '),
)
/** Verbs of price and place after an article of a shop. */
const PRICED = new Set(['kostet', 'kosten', 'costs', 'cost', 'coute', 'coutent'])

/** Whether a provision is a self-citation or of a thing: `above`, `hereof`, `ci-dessous`, `kostet 4 €`. */
export function isRelative(tokens: TokenStream, at: number): boolean {
  const index = tokens.skip(at, ',', '(')
  const word = tokens.text(index)
  if (SELF_REFERENCES.has(word) || PRICED.has(word)) return true
  return word === 'ci' && tokens.reads(index + 1, '-') && tokens.reads(index + 2, 'dessus', 'dessous', 'apres', 'avant')
}

/** `nach § 4 den Vertrag beenden`, `§ 196 Absatz 1, die nach den Bedingungen`: what follows is no genitive. */
export function startsClause(tokens: TokenStream, at: number): boolean {
  return tokens.reads(at, ',')
    ? tokens.reads(at + 1, 'der', 'die', 'das', 'den', 'dem', 'dessen', 'deren', 'denen', 'the')
    : tokens.reads(at, 'die', 'das', 'den') || (tokens.reads(at, 'von') && tokens.reads(at + 1, 'dem'))
}

/** `this Section 8`, `dieser § 4`: a provision of the text that the words stand in. */
export function isSelfCitation(tokens: TokenStream, at: number): boolean {
  return tokens.reads(at - 1, 'this', 'dieser', 'dieses', 'diesem', 'diesen', 'cet', 'cette', 'present', 'presente')
}

/** `of this title`, `to this Regulation`, `dieses Gesetzes`, `du présent code`: a self-citation. */
export function isCitedFromWithin(tokens: TokenStream, end: number): boolean {
  const index = tokens.skip(end, 'of', 'to', 'in', 'du', 'de')
  return tokens.reads(tokens.skip(index, 'la'), 'this', 'dieses', 'dieser', 'present', 'presente')
}
