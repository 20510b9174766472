import { abandonEpoch, readEpoch } from '#core/db/limit-epochs.ts'
import { inTransaction } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { refundReservation } from '#core/db/reservations.ts'
import type { Outcome } from '#core/db/reservations.ts'
import type { Limiter } from './limiter.ts'

/**
 * Settles an admitted request that delivered nothing. Postgres decides (the cap of refunds per day, and only while the
 * request is open), and Redis follows. Day, month and the idempotency key are returned, the minute slot never.
 * @returns "failed" if the cap is reached and the request stays charged; "not-open" if it is already settled.
 */
export async function settleRefund(
  deps: { readonly database: Database; readonly limiter: Limiter },
  requestId: string,
  outcome: Outcome,
): Promise<'refunded' | 'failed' | 'not-open'> {
  const settled = await inTransaction(deps.database, async (client) => {
    const refunded = await refundReservation(client, requestId, outcome)
    return refunded && { ...refunded, ...(await readEpoch(client, refunded.organization_id)) }
  })
  if (settled === undefined) return 'not-open'
  const scope = {
    organizationId: settled.organization_id,
    epoch: settled.epoch,
    entitlementId: settled.entitlement_id,
    knowledgeBaseId: settled.knowledge_base_id,
    clientId: settled.client_id,
    environment: settled.environment,
  }
  if (settled.state === 'failed') {
    await deps.limiter.end(scope, requestId)
    return 'failed'
  }
  try {
    await deps.limiter.refund(scope, requestId, settled.idempotency_digest ?? undefined)
  } catch {
    // Redis may or may not have applied the refund. Under a new epoch every gateway counts again from Postgres.
    await abandonEpoch(deps.database, settled.organization_id)
  }
  return 'refunded'
}

/** Returns the outcome of a request that ended without a chargeable reply. */
export function undelivered(errorCode: string | null, topK: number): Outcome {
  return {
    decision: null,
    error_code: errorCode,
    result_count: 0,
    response_bytes: 0,
    query_embedding_tokens: null,
    signal: null,
    threshold: null,
    observed_value: null,
    top_k: topK,
    chunk_ids: [],
    reply_sha256: null,
  }
}
