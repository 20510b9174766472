import type { ActAliases } from './aliases.ts'
import { readCandidates } from './candidates.ts'
import type { ExplicitReference } from './reference.ts'
import { referenceOf, withActs } from './resolve.ts'
import { tokenise } from './tokens.ts'

export { type ActAliases, createActAliases } from './aliases.ts'
export { ancestorsOf, canonicalReference, type ExplicitReference, type Reference } from './reference.ts'
export { parseReference } from './written.ts'

/** References of one query beyond this many are not read. */
const EXPLICIT_REFERENCES_MAX = 100

/**
 * The provisions and acts that a query names, in order and without overlap, in time linear in its length. Each element
 * of a list and each end of a range is one. Sentences, subparagraphs and alinéas, which publishers do not number,
 * belong to the text of a reference, never to its path. A provision without an act takes that of the list it stands in,
 * else the only act the query names, if it has such provisions. Left without one it counts only where it can hardly be
 * anything else: `§`, `Rule 6.5.2`, `Article 6`, `section 5(a)`.
 */
export function explicitReferences(query: string, aliases: ActAliases): ExplicitReference[] {
  const tokens = tokenise(query)
  const named: ExplicitReference[] = []
  for (const candidate of withActs(readCandidates(tokens, aliases, EXPLICIT_REFERENCES_MAX), tokens)) {
    const start = tokens[candidate.from]?.start ?? 0
    const end = tokens[candidate.to - 1]?.end ?? start
    named.push({ text: query.slice(start, end), start, end, reference: referenceOf(candidate) })
  }
  return named
}
