import { passSource, readActFirst, readUnresolvedFirst } from '#law/citations/extract/act-first.ts'
import { readPartFirst, readProvision } from '#law/citations/extract/provision.ts'
import { readShortForm } from '#law/citations/extract/short-form.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import type { Citation, Reading } from './citation.ts'

/** Finds the citations of a text, token by token, in order and without overlap. */
export function findCitations(tokens: TokenStream, aliases: ActAliases, max: number): readonly Citation[] {
  const citations: Citation[] = []
  for (let at = 0; at < tokens.length && citations.length < max;) {
    const reading = readCitation(tokens, at, aliases)
    citations.push(...(reading?.citations ?? []))
    at = Math.max(at + 1, reading?.end ?? 0)
  }
  return citations.slice(0, max)
}

/** Reads the citation that starts at a token, or what is passed over there. The first case that applies counts. */
function readCitation(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  // 1. A sign starts no citation, except `§` and a bracket.
  if (tokens.get(at)?.kind === 'sign' && !tokens.reads(at, '§', '§§', '(')) return undefined
  return (
    // 2. A part before its provision: `point (f) of Article 6(1) GDPR`.
    readPartFirst(tokens, at, aliases) ??
    // 3. An act of a table or by its official number, perhaps with a provision: `GDPR Art. 6`, `15 U.S.C. 1601`.
    readActFirst(tokens, at, aliases) ??
    // 4. A non-statutory source, which is passed over with its provision: `ISO 27001 section 5`.
    passSource(tokens, at, aliases) ??
    // 5. An unresolved act, perhaps with a provision: `Solvency II Article 28`.
    readUnresolvedFirst(tokens, at, aliases) ??
    // 6. A provision, perhaps with the act after it: `Article 6 of the GDPR`, `§ 433`.
    readProvision(tokens, at, at, undefined, aliases) ??
    // 7. A short form, without a word for the kind of provision: `7.1.1(1)(c)`, `280 BGB`, `L. 3121-27 du code …`.
    readShortForm(tokens, at, aliases)
  )
}
