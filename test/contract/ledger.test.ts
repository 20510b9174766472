import { createHash, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { parseServiceSecrets } from '#core/credentials/settings.ts'
import { eraseFingerprints, rotateFingerprints } from '#operator/actions/fingerprints.ts'
import { ABSTAINED_QUERY, ANSWERED_QUERY, type Caller } from '#test/support/caller.ts'
import { asking } from '#test/support/embedding-faults.ts'
import { OF_MIXED } from './mixed-corpus.ts'
import { admittedOf } from './counters.ts'
import { isShed } from './replies.ts'
import { createCaller, providerTokens, service } from './service.ts'
import { expectEventually, until } from '#test/support/until.ts'

const entrySchema = z.object({
  reservation_id: z.string(),
  trace_id: z.string(),
  state: z.string(),
  charged: z.boolean(),
  fingerprint: z.instanceof(Buffer),
  fingerprint_epoch: z.number(),
  version_id: z.string(),
  as_pinned: z.boolean(),
  outcome: z.object({
    decision: z.string().nullable(),
    error_code: z.string().nullable(),
    result_count: z.number(),
    response_bytes: z.number(),
    query_embedding_tokens: z.number().nullable(),
    top_k: z.number(),
    chunk_ids: z.array(z.string()),
    reply_sha256: z.string().nullable(),
  }),
})
type Entry = z.infer<typeof entrySchema>

async function entriesOf(caller: Caller): Promise<readonly Entry[]> {
  const { rows } = await service.owner.query(
    'select reservation_id, trace_id, state, charged, fingerprint, fingerprint_epoch, version_id, ' +
      '(select projection = manifest_digest from corpus_versions where id = version_id) as as_pinned, outcome from ledger where entitlement_id = $1 order by admitted_at',
    [caller.entitlementId],
  )
  return z.array(entrySchema).parse(rows)
}

async function entries(caller: Caller, count: number): Promise<readonly Entry[]> {
  await expectEventually(async () => (await entriesOf(caller)).length, count)
  return entriesOf(caller)
}

describe('Ledger: one row per admitted request', () => {
  test('an answer: charged, with its decision, passages, bytes and the digest of the reply', async () => {
    const caller = await createCaller()
    const reply = await caller.ask()
    const [entry] = await entries(caller, 1)
    const { request_id, trace_id, results, version } = reply.retrieved()
    expect(entry).toMatchObject({
      reservation_id: request_id.slice(4),
      trace_id: trace_id.slice(4),
      state: 'delivered',
      charged: true,
      version_id: version,
      as_pinned: true,
      outcome: {
        decision: 'answer',
        error_code: null,
        result_count: results.length,
        response_bytes: reply.bytes.length,
        query_embedding_tokens: null,
        top_k: 5,
        chunk_ids: results.map((result) => result.chunk_id),
        reply_sha256: createHash('sha256').update(reply.bytes).digest('hex'),
      },
    })
  })

  test('an abstention: charged, without passages', async () => {
    const caller = await createCaller()
    const reply = await caller.ask({ query: ABSTAINED_QUERY })
    expect((await entries(caller, 1))[0]).toMatchObject({
      state: 'delivered',
      charged: true,
      outcome: { decision: 'abstain', result_count: 0, chunk_ids: [], response_bytes: reply.bytes.length },
    })
  })

  test('a failure that was refunded: not charged, with its code', async () => {
    const caller = await createCaller(OF_MIXED)
    await caller.ask({ query: asking('status-400', 'silt') })
    expect((await entries(caller, 1))[0]).toMatchObject({
      state: 'refunded',
      charged: false,
      outcome: {
        decision: null,
        error_code: 'RETRIEVAL_UNAVAILABLE',
        result_count: 0,
        response_bytes: 0,
        reply_sha256: null,
      },
    })
  })

  test('the tokens that the provider reported', async () => {
    const caller = await createCaller(OF_MIXED)
    await caller.ask()
    expect((await entries(caller, 1))[0]?.outcome.query_embedding_tokens).toBe(providerTokens)
  })

  test('nothing for a request that was refused', async () => {
    const caller = await createCaller({ limits: { requests_per_day: 1 } })
    await caller.ask()
    await caller.ask()
    await caller.ask({ top_k: 0 })
    await caller.ask({ filters: { language: ['de'] } })
    await entries(caller, 1)
    expect(await admittedOf(caller)).toBe(1)
  })

  test('every delivered 200 is a charged entry, and every reservation has one', async () => {
    const caller = await createCaller()
    const sent = await Promise.all(
      Array.from({ length: 20 }, (_, n) => caller.ask(n % 3 === 0 ? { query: ABSTAINED_QUERY } : {})),
    )
    const replies = sent.filter((reply) => !isShed(reply))
    expect(replies.length).toBeGreaterThan(0)
    const all = await entries(caller, replies.length)
    expect(all.map((entry) => `req_${entry.reservation_id}`).sort()).toEqual(
      replies.map((reply) => reply.retrieved().request_id).sort(),
    )
    expect(all.every(({ charged }) => charged)).toBe(true)
  })
})

describe('Privacy: fingerprints in place of queries', () => {
  test('the same query has the same fingerprint within an organization, another query another', async () => {
    const caller = await createCaller()
    await caller.ask()
    await caller.ask({ query: ` ${ANSWERED_QUERY.replace(' ', '\n  ')} ` })
    await caller.ask({ query: ABSTAINED_QUERY })
    const [first, second, third] = (await entries(caller, 3)).map(({ fingerprint }) => fingerprint.toString('hex'))
    expect(second).toBe(first)
    expect(third).not.toBe(first)
  })

  test('another organization has other fingerprints', async () => {
    const [one, other] = [await createCaller(), await createCaller()]
    await one.ask()
    await other.ask()
    expect(
      (await entries(one, 1))[0]?.fingerprint.equals((await entries(other, 1))[0]?.fingerprint ?? Buffer.alloc(0)),
    ).toBe(false)
  })

  test('rotating makes a new epoch with other fingerprints', async () => {
    const caller = await createCaller()
    await caller.ask()
    await rotateFingerprints(service.operator, {
      organization: caller.organization,
      serviceSecrets: parseServiceSecrets(service.settings.secrets.SERVICE_SECRET),
    })
    await until('requests are fingerprinted under the new epoch', async () => {
      await caller.ask()
      const { rowCount } = await service.owner.query(
        'select from reservations where entitlement_id = $1 and fingerprint_epoch = 2',
        [caller.entitlementId],
      )
      return rowCount !== 0
    })
    const { rows } = await service.owner.query<{ count: number }>(
      'select count(distinct fingerprint)::int as count from reservations where entitlement_id = $1',
      [caller.entitlementId],
    )
    expect(rows).toEqual([{ count: 2 }])
  })

  test('erasure deletes the wrapped key; requests go on under a new epoch', async () => {
    const caller = await createCaller()
    await caller.ask()
    await eraseFingerprints(service.operator, {
      organization: caller.organization,
      serviceSecrets: parseServiceSecrets(service.settings.secrets.SERVICE_SECRET),
    })
    const { rows } = await service.owner.query(
      'select epoch, wrapped is null as erased, octet_length(wrapped) as bytes from fingerprint_keys ' +
        'where organization_id = (select id from organizations where name = $1) order by epoch',
      [caller.organization],
    )
    // 60 bytes: a random key wrapped, never the key itself.
    expect(rows).toEqual([
      { epoch: 1, erased: true, bytes: null },
      { epoch: 2, erased: false, bytes: 60 },
    ])
    expect((await caller.ask()).status).toBe(200)
  })

  test('a fingerprint is keyed: it is no plain digest of the query', async () => {
    const caller = await createCaller()
    const query = `What about ${randomUUID()}?`
    await caller.ask({ query })
    expect((await entries(caller, 1))[0]?.fingerprint.toString('hex')).not.toBe(
      createHash('sha256').update(query).digest('hex'),
    )
  })
})
