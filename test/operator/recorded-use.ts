import { randomBytes, randomUUID } from 'node:crypto'
import type pg from 'pg'
import { grantEntitlement } from '#operator/actions/entitlements.ts'
import { createClient, createKnowledgeBase, createOrganization } from '#operator/actions/organizations.ts'
import { createPlan } from '#operator/actions/plans.ts'
import { inTransaction } from '#core/db/pool.ts'
import type { OperatorHarness } from '#test/support/operator-cli.ts'

/** Clients Desk and Bot of Bank and Desk of Fund, each with a live entitlement to the knowledge base "rules". */
export async function createEntitledClients({ operator, serviceSecrets }: OperatorHarness): Promise<void> {
  await createPlan(operator, {
    name: 'beta',
    limits: { exposure: { window_days: 30, floors: { corpus: 5, daily: 1 } } },
  })
  await createKnowledgeBase(operator, { slug: 'rules', title: 'Rules' })
  for (const [organization, client] of [
    ['Bank', 'Desk'],
    ['Bank', 'Bot'],
    ['Fund', 'Desk'],
  ] as const) {
    if (client !== 'Bot') await createOrganization(operator, { name: organization, serviceSecrets })
    await createClient(operator, { organization, name: client })
    await grantEntitlement(operator, {
      client: `${organization}/${client}`,
      environment: 'live',
      knowledgeBase: 'rules',
      plan: 'beta',
      languages: ['en'],
      jurisdictions: ['HS-M'],
      subjects: null,
    })
  }
}

/** `client` is ORGANIZATION/CLIENT, `at` the time of admission. */
interface Request {
  readonly client: string
  readonly at: string
  readonly state: 'delivered' | 'refunded' | 'failed'
  readonly decision?: 'answer' | 'abstain'
  readonly passages?: readonly string[]
  readonly bytes?: number
  readonly tokens?: number | null
}

/** A finished request as gateway and ledger job leave it. */
export async function use(owner: pg.Pool, request: Request): Promise<void> {
  const { passages = [] } = request
  const outcome = {
    decision: request.decision ?? null,
    result_count: passages.length,
    response_bytes: request.bytes ?? 0,
    query_embedding_tokens: request.tokens ?? null,
  }
  const served = passages.map((chunk) => ({ chunk, document: randomUUID(), total: 10 }))
  const id = randomUUID()
  await inTransaction(owner, async (client) => {
    // Only the owner can set the guards aside: a reservation begins open otherwise.
    await client.query('set local session_replication_role = replica')
    await client.query(
      `insert into reservations (id, trace_id, organization_id, client_id, environment, api_key_id, entitlement_id,
       plan_id, knowledge_base_id, version_id,
       fingerprint, fingerprint_epoch, admitted_at, deadline_at, in_force_on, filters, state, finished_at, outcome, served)
     select $1, $1, c.organization_id, c.id, 'live', $1, e.id, e.plan_id, e.knowledge_base_id, $1, $3, 1,
       $4::timestamptz, $4::timestamptz, $4::date, '{}', $5, $4::timestamptz, $6, $7
     from clients c join organizations o on o.id = c.organization_id join entitlements e on e.client_id = c.id
       where o.name || '/' || c.name = $2`,
      [id, request.client, randomBytes(32), request.at, request.state, JSON.stringify(outcome), JSON.stringify(served)],
    )
    await client.query(
      `insert into ledger (reservation_id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id,
       knowledge_base_id, version_id, trace_id,
       fingerprint, fingerprint_epoch, admitted_at, finished_at, state, charged, outcome)
     select id, organization_id, client_id, environment, api_key_id, entitlement_id, plan_id, knowledge_base_id,
       version_id, trace_id,
       fingerprint, fingerprint_epoch, admitted_at, finished_at, state, state <> 'refunded', outcome from reservations
         where id = $1`,
      [id],
    )
  })
}
