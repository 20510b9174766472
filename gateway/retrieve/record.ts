import type { ReservationWriter } from '#core/db/reservation-writer.ts'
import { sha256 } from '#core/platform/digest.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { LimitEpochs } from '#core/limits/epochs.ts'
import type { Admitted } from './admit.ts'
import type { BoundedReply } from './bound.ts'
import type { EmbeddedQuery } from './embed.ts'
import type { Exchange } from './exchange.ts'
import type { PinnedRequest } from './pin.ts'
import type { Abstention } from './schema.ts'

export interface RecordDeps {
  readonly reservations: ReservationWriter
  readonly epochs: LimitEpochs
}

/**
 * Commits the outcome to the reservation, then ends the lease and counts the exposure. The reply may be sent only after
 * this.
 * @throws ServiceError INTERNAL_UNAVAILABLE when the reservation is no longer open, because it was refunded as overdue.
 */
export async function record(
  deps: RecordDeps,
  exchange: Exchange,
  pinned: PinnedRequest,
  admission: Admitted,
  query: EmbeddedQuery,
  abstention: Abstention,
  reply: BoundedReply,
): Promise<void> {
  const served = reply.served.map((passage) => ({
    chunk: passage.chunkId,
    document: passage.document.id,
    revision: passage.document.revisionId,
    ordinal: passage.place.ordinal,
    total: passage.place.documentPassages,
  }))
  const outcome = {
    decision: abstention.decision,
    error_code: null,
    result_count: served.length,
    response_bytes: reply.body.length,
    query_embedding_tokens: query.tokens,
    signal: abstention.signal,
    threshold: abstention.threshold,
    observed_value: abstention.observed_value,
    top_k: pinned.topK,
    chunk_ids: served.map((passage) => passage.chunk),
    reply_sha256: sha256(reply.body).toString('hex'),
  }
  const commit = (): Promise<boolean> => deps.reservations.recordDelivered(exchange.requestId, outcome, served)
  // A failed commit is retried once before the deadline. If only Postgres's reply was lost, the caller is charged and
  // must get the committed result.
  const recorded = await exchange.timings.wait(
    'postgres',
    commit().catch((error: unknown) => {
      if (exchange.signal.aborted) throw error
      return commit()
    }),
  )
  if (!recorded)
    throw new ServiceError('INTERNAL_UNAVAILABLE', {
      cause: new Error('the reservation was settled before its reply was ready'),
    })
  try {
    await exchange.timings.wait('redis', deps.epochs.settle(admission.scope, exchange.requestId, pinned.limits, served))
  } catch {
    deps.epochs.invalidate(pinned.organizationId)
  }
}
