import type { ActAliases } from './aliases.ts'
import { readCandidates } from './candidates.ts'
import type { Candidate } from './readings.ts'
import type { ExplicitReference } from './reference.ts'
import { referenceOf, withActs } from './resolve.ts'
import { tokenise } from './tokens.ts'

export { type ActAliases, createActAliases } from './aliases.ts'
export { ancestorsOf, canonicalReference, type ExplicitReference, type Reference } from './reference.ts'
export { parseReference } from './written.ts'

/** Further references of a query are ignored. */
const EXPLICIT_REFERENCES_MAX = 100

/**
 * Returns the provisions and acts that a query names, in order and without overlap, in time linear in its length. Each
 * item of a list and each end of a range is one reference. Publishers do not number sentences, subparagraphs and
 * alinéas, so these belong to the text of a reference, never to its path. A provision without an act takes the act of
 * its list, else the only act in the query if that act has such provisions. A provision left without an act counts only
 * if it is unambiguous: `§`, `Rule 6.5.2`, `Article 6`, `section 5(a)`.
 */
export function explicitReferences(query: string, aliases: ActAliases): ExplicitReference[] {
  return [...referencesIn(query, aliases).named]
}

/** The references of a query. */
export interface ReadReferences {
  /** Those of `explicitReferences`. */
  readonly named: readonly ExplicitReference[]
  /** Articles in small letters without an act (`art. 970`), which count if the corpus holds them in one document. */
  readonly possible: readonly ExplicitReference[]
}

/** Reads a query once, for both kinds of references; each kind is in order, and none overlap. */
export function referencesIn(query: string, aliases: ActAliases): ReadReferences {
  const tokens = tokenise(query)
  const written = (candidate: Candidate): ExplicitReference => {
    const start = tokens[candidate.from]?.start ?? 0
    const end = tokens[candidate.to - 1]?.end ?? start
    return { text: query.slice(start, end), start, end, reference: referenceOf(candidate) }
  }
  const { named, possible } = withActs(readCandidates(tokens, aliases, EXPLICIT_REFERENCES_MAX), tokens)
  return { named: named.map(written), possible: possible.map(written) }
}
