import { createHash, randomBytes, randomUUID } from 'node:crypto'
import type { Replay } from '#core/db/reservations.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import type { Filters } from '#core/domain/search.ts'
import type { Candidate } from '#core/limits/admission.ts'
import type { LimitScope } from '#core/limits/counter-keys.ts'

/** For requests of tests that search nothing. */
export const NO_FILTERS: Filters = {
  languages: [],
  jurisdictions: [],
  subjects: [],
  anySubject: true,
  verificationStatuses: [],
  inForceOn: '',
  documents: [],
}
export const NO_REPLAY: Replay = { query_vector_digest: '', passage_sha256: [], rerank_order: null }

/** A request of an entitlement, with the digest of an Idempotency-Key if it has one. */
export function createCandidate(
  { scope, planId, limits }: { readonly scope: LimitScope; readonly planId: string; readonly limits: PlanLimits },
  more: { readonly corpusPassages: number; readonly limits?: PlanLimits; readonly key?: string },
): Candidate {
  const id = randomUUID()
  return {
    ...scope,
    id,
    traceId: id,
    apiKeyId: id,
    planId,
    versionId: id,
    inForceOn: '2026-01-01',
    filters: NO_FILTERS,
    entitled: NO_FILTERS,
    limits: more.limits ?? limits,
    corpusPassages: more.corpusPassages,
    idempotencyDigests: more.key === undefined ? [] : [createHash('sha256').update(more.key).digest()],
    fingerprint: () => ({ fingerprint: randomBytes(32), fingerprintEpoch: 1 }),
  }
}
