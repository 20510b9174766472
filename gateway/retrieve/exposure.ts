import type { FoundPassage } from '#core/domain/search.ts'
import type { ChargeDecision, StoppedDocument } from '#core/limits/counters.ts'
import { ServiceError, type ServiceErrorOptions } from '#core/platform/errors.ts'

/** A reply that is not sent. Repetitions of it close admission for a while. */
export class DocumentStopped extends ServiceError {
  readonly document: StoppedDocument

  constructor(document: StoppedDocument, nowMs: number) {
    super('RATE_LIMITED', exposed(document, document.opensAtMs - nowMs))
    this.document = document
  }
}

export const UNDER_WAY = {
  path: '(plan)',
  message: 'as many requests as the plan allows are under way',
  reason: 'concurrency',
} as const

/**
 * A reply with a passage of a document that was copied far enough is not sent. Other documents are served. The request
 * is refunded like every refusal after admission.
 * @throws DocumentStopped RATE_LIMITED with reason `exposure`.
 * @throws ServiceError with reason `concurrency`, where requests under way may take the document to its mark.
 */
export function assertDocumentsOpen(
  { nowMs, stoppedDocuments }: Pick<ChargeDecision, 'nowMs' | 'stoppedDocuments'>,
  served: readonly FoundPassage[],
): void {
  const hit = stoppedDocuments.find(({ id }) => served.some(({ document }) => document.id === id))
  if (hit?.opensAtMs === 0) throw new ServiceError('RATE_LIMITED', { details: [UNDER_WAY] })
  if (hit !== undefined) throw new DocumentStopped(hit, nowMs)
}

/** @param what is not served, or served at a lower rate, until it opens. */
export function exposed({ id, opensAtMs }: StoppedDocument, retryAfterMs: number): ServiceErrorOptions {
  const what = id === '' ? 'the knowledge base' : 'this document'
  return {
    retryAfterSeconds: retryAfterMs / 1_000,
    details: [
      {
        path: '(plan)',
        message: `so many new passages of ${what} were served that more follow with the next days`,
        reason: 'exposure',
        scope: id === '' ? 'knowledge_base' : `document:${id}`,
        access_grows_at: new Date(opensAtMs).toISOString(),
      },
    ],
  }
}
