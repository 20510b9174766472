import type { FoundPassage } from '#core/domain/search.ts'
import type { ChargeDecision } from '#core/limits/counters.ts'
import { ServiceError } from '#core/platform/errors.ts'

/**
 * A reply with a passage of a document that was copied far enough is not sent. Other documents are served. The request
 * is refunded like every refusal after admission.
 * @throws ServiceError RATE_LIMITED with reason `exposure`.
 */
export function assertDocumentsOpen(
  { nowMs, stoppedDocuments }: Pick<ChargeDecision, 'nowMs' | 'stoppedDocuments'>,
  served: readonly FoundPassage[],
): void {
  const hit = stoppedDocuments.find(({ id }) => served.some(({ document }) => document.id === id))
  if (hit !== undefined) throw exposureError(`document:${hit.id}`, nowMs, hit.opensAtMs)
}

/** @param scope `knowledge_base`, or `document:` and its id. */
export function exposureError(scope: string, nowMs: number, growsAtMs: number): ServiceError {
  const what = scope === 'knowledge_base' ? 'the knowledge base' : 'this document'
  return new ServiceError('RATE_LIMITED', {
    retryAfterSeconds: (growsAtMs - nowMs) / 1_000,
    details: [
      {
        path: '(plan)',
        message: `so many new passages of ${what} were served that more follow with the next days`,
        reason: 'exposure',
        scope,
        access_grows_at: new Date(growsAtMs).toISOString(),
      },
    ],
  })
}
