import { referenceOf, resolveCitations } from '#law/citations/antecedents/resolve.ts'
import { lex } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import type { Citation, ExplicitReference } from './citation.ts'
import { findCitations } from './find.ts'

export { type ActAliases, createActAliases, namesOfAct } from './names/aliases.ts'
export { ancestorsOf, canonicalReference, type ExplicitReference, type Reference } from './citation.ts'
export { parseReference } from './label.ts'

/** Further references of a query are ignored. */
const EXPLICIT_REFERENCES_MAX = 100

/** The references of a query; each list is in order, and no two references overlap. */
export interface QueryReferences {
  readonly certain: readonly ExplicitReference[]
  /** They count only if the corpus holds them: `GDPR 17`, or an article in small letters without an act (`art. 970`). */
  readonly ifHeld: readonly ExplicitReference[]
}

/** The act that a name means, where the whole name is one of an act. */
export function actNamed(name: string, aliases: ActAliases): string | undefined {
  const tokens = lex(name)
  const found = aliases.find(tokens, 0)
  return found?.end === tokens.length ? found.act : undefined
}

/**
 * Returns the provisions and acts that a query cites, in time linear in its length. The stages are: tokens (`lexer`) →
 * citations, read once from left to right by `provisions`, `grammars` and `names` → their antecedents (`antecedents`).
 * Each item of a list and each end of a range is one reference. Publishers do not number sentences, subparagraphs and
 * alinéas, so these belong to the text of a reference, never to its path. A provision without an act takes the act of
 * its list, else the only act in the query if that act has such provisions. A provision left without an act counts only
 * if it is unambiguous: `§`, `Rule 6.5.2`, `Article 6`, `section 5(a)`.
 */
export function referencesIn(query: string, aliases: ActAliases): QueryReferences {
  const tokens = lex(query)
  const citations = findCitations(tokens, aliases, EXPLICIT_REFERENCES_MAX)
  const { certain, ifHeld } = resolveCitations(citations, tokens)
  const written = (citation: Citation): ExplicitReference => {
    const start = tokens.get(citation.from)?.start ?? 0
    const end = tokens.get(citation.to - 1)?.end ?? start
    return { text: query.slice(start, end), start, end, reference: referenceOf(citation) }
  }
  return { certain: certain.map(written), ifHeld: ifHeld.map(written) }
}
