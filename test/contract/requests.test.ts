import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { groundsSchema } from '#core/db/reservations.ts'
import { createLog } from '#core/platform/log.ts'
import { forgetOld } from '#jobs/worker/workers.ts'
import { parseServiceSecrets } from '#core/credentials/settings.ts'
import { storeUrl } from '#operator/demo/local/stack.ts'
import { eraseFingerprints } from '#operator/actions/fingerprints.ts'
import { ABSTAINED_QUERY, ANSWERED_QUERY, KNOWLEDGE_BASE } from '#test/support/caller.ts'
import { asking } from '#test/support/embedding-faults.ts'
import { commandLine, type CliResult } from '#test/support/operator-cli.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { OF_MIXED } from './mixed-corpus.ts'
import { baseUrl, createCaller, service } from './service.ts'
import { outcomeOf } from './replies.ts'
import { folderOfFile } from '#test/support/folder.ts'

const { settings } = service
const cli = commandLine({
  ...settings.environment,
  DATABASE_URL: service.operatorUrl,
  SERVICE_SECRET: settings.secrets.SERVICE_SECRET,
  MANIFEST_PUBLIC_KEY: settings.secrets.MANIFEST_PUBLIC_KEY,
  ARTIFACT_STORE: storeUrl(settings),
})
const folder = folderOfFile()

const shownSchema = z.record(z.string(), z.unknown())
const show = async (...args: readonly string[]): Promise<z.infer<typeof shownSchema>> =>
  shownSchema.parse(await cli.json('requests', 'show', ...args))

/** What the database says that the version is served from. */
async function projectionOf(version: string): Promise<unknown> {
  const { rows } = await service.owner.query<{ projection: string }>(
    "select encode(manifest_digest, 'hex') as projection from corpus_versions where id = $1",
    [version],
  )
  return rows[0]?.projection
}

function fileWith(query: string): string {
  const file = join(folder, `${randomUUID()}.txt`)
  writeFileSync(file, `${query}\n`)
  return file
}

const replay = (id: string, query: string): Promise<CliResult> =>
  cli.run('replay', id, '--query-file', fileWith(query), '--json')

describe('A request can be looked up and run again', () => {
  test('an answer: by request id, trace id, UUID and Idempotency-Key; the replay is equal', async () => {
    const caller = await createCaller()
    const key = randomUUID()
    const reply = await caller.ask({}, { headers: { 'idempotency-key': key } })
    const { request_id, trace_id, results, version, retrieval_profile, abstention, usage } = reply.retrieved()
    const shown = await show(request_id)
    expect(shown).toMatchObject({
      request_id,
      trace_id,
      state: 'delivered',
      charged: true,
      client: caller.client,
      environment: 'live',
      knowledge_base: KNOWLEDGE_BASE,
      version,
      projection: await projectionOf(version),
      retrieval_profile,
      decision: 'answer',
      signal: abstention.signal,
      threshold: abstention.threshold,
      observed_value: abstention.observed_value,
      response_bytes: usage.response_bytes,
      passages: results.map(({ chunk_id }) => ({ chunk_id, text_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) })),
      node: expect.stringMatching(/^127\.0\.0\.1:\d+$/),
      stage_ms: { admit: expect.any(Number), embed: expect.any(Number), search: expect.any(Number) },
    })
    const ofKey = ['--idempotency-key', key, '--client', `${caller.organization}/${caller.client}`]
    for (const name of [[trace_id], [request_id.slice(4)], ofKey])
      expect((await show(...name))['request_id']).toBe(request_id)
    const replayed = await replay(request_id, ANSWERED_QUERY)
    expect([replayed.code, JSON.parse(replayed.stdout)], replayed.stderr).toMatchObject([0, { difference: null }])
    const listed = await cli.json('requests', 'list', '--client', `${caller.organization}/${caller.client}`)
    expect(listed).toMatchObject([{ request_id, decision: 'answer', state: 'delivered' }])
  })

  test('an abstention: the replay is equal, and its grounds are on record without text', async () => {
    const caller = await createCaller()
    const { request_id } = (await caller.ask({ query: ABSTAINED_QUERY })).retrieved()
    expect(await show(request_id)).toMatchObject({
      state: 'delivered',
      why: expect.stringMatching(
        /^an abstention was delivered, because the evidence is worth 0\.\d{3}, which is below/,
      ),
      decision: 'abstain',
      passages: [],
      considered: { allowed: expect.any(Number), unsupported: {}, candidates: expect.any(Array) },
    })
    expect((await replay(request_id, ABSTAINED_QUERY)).code).toBe(0)
    const named = (await caller.ask({ query: `${ANSWERED_QUERY} What does § 4711 BGB say?` })).retrieved()
    const { why, considered } = await show(named.request_id)
    expect(why).toMatch(/because 1 of the provisions that the question names is not held$/)
    const grounds = groundsSchema.parse(considered)
    expect([grounds.unsupported, grounds.candidates.length]).toEqual([{ not_in_corpus: 1 }, 5])
    await withoutGuards(service.owner, "update abstentions set recorded_at = now() - interval '31 days'", [])
    await forgetOld({ database: service.owner, log: createLog('test', 'silent') })
    expect(await show(named.request_id)).toMatchObject({ why: expect.stringContaining('no longer'), considered: null })
  })

  test('a 503 that was refunded and one that was not say so, and have nothing to replay', async () => {
    const caller = await createCaller({ ...OF_MIXED, limits: { requests_per_day: 1 } })
    const query = asking('status-400', 'silt')
    const ids: string[] = []
    for (let n = 0; n < 2; n++) {
      const reply = await caller.ask({ query })
      expect(outcomeOf(reply)).toEqual([503, 'RETRIEVAL_UNAVAILABLE'])
      ids.push(reply.error().request_id)
    }
    const [refunded = '', failed = ''] = ids
    expect(await show(refunded)).toMatchObject({
      state: 'refunded',
      charged: false,
      error_code: 'RETRIEVAL_UNAVAILABLE',
    })
    expect(await show(failed)).toMatchObject({ state: 'failed', charged: true, error_code: 'RETRIEVAL_UNAVAILABLE' })
    for (const id of ids)
      expect(await replay(id, query)).toMatchObject({ code: 1, stderr: expect.stringContaining('delivered nothing') })
  })
})

describe('A decision is explained', () => {
  const explainedSchema = z.object({
    request_id: z.string(),
    because: z.string(),
    observed_value: z.number(),
    passages: z.array(z.object({ chunk_id: z.string(), served: z.boolean(), score: z.number() })),
    predictors: z.array(z.object({ name: z.string(), adds: z.number() })),
    narrowed_to: z.object({ passages: z.number() }),
  })
  const explain = (query: string, ...args: readonly string[]): Promise<CliResult> =>
    cli.run('explain', ...args, '--question-file', fileWith(query))

  test('a request, to whoever has its question: its passages, what its value is made of, and one sentence', async () => {
    const caller = await createCaller()
    const { request_id, results, abstention } = (await caller.ask()).retrieved()
    const told = explainedSchema.parse(JSON.parse((await explain(ANSWERED_QUERY, request_id, '--json')).stdout))
    expect(told.because).toMatch(/^It answers, because the evidence is worth 0\.\d{3}, which reaches the threshold/)
    expect(told.passages.filter(({ served }) => served).map(({ chunk_id: id }) => id)).toEqual(
      results.map(({ chunk_id: id }) => id),
    )
    const logOdds = told.predictors.reduce((sum, { adds }) => sum + adds, 0)
    expect(1 / (1 + Math.exp(-logOdds))).toBeCloseTo(abstention.observed_value, 6)
    expect(await explain('Another question?', request_id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('its fingerprint is another one'),
    })
  })

  test('a question that is asked for it is admitted and charged, and the audit trail keeps no text', async () => {
    const caller = await createCaller()
    vi.stubEnv('EVIDENCE_API_KEY', caller.key)
    const at = ['--knowledge-base', KNOWLEDGE_BASE, '--gateway']
    const asked = await explain(ABSTAINED_QUERY, ...at, baseUrl)
    expect(asked.stdout, asked.stderr).toMatch(/^It abstains, because/)
    const refused = await explain('Any?', '--filters', '{"language":["xx"]}', ...at, baseUrl)
    expect(refused.stderr).toContain('/filters/language/0 is outside the entitlement, which holds: en')
    expect((await explain('Any?', ...at, 'localhost:1')).stderr).toContain('name one, as --gateway http://HOST:PORT')
    const listed = await cli.json('requests', 'list', '--client', `${caller.organization}/${caller.client}`)
    expect(listed).toMatchObject([{ decision: 'abstain', state: 'delivered' }])
    const { rows } = await service.owner.query<{ row: string }>(
      "select row_to_json(a)::text as row from audit a where action = 'request.explain' order by seq desc limit 1",
    )
    expect(rows[0]?.row).toContain('req_')
    expect(rows[0]?.row).not.toContain(ABSTAINED_QUERY)
  })
})

describe('A replay names what differs', () => {
  test('another query, another vector of the provider, and an altered record: exit code 2 with the field', async () => {
    const caller = await createCaller()
    const { request_id } = (await caller.ask()).retrieved()
    const other = await replay(request_id, ABSTAINED_QUERY)
    expect([other.code, JSON.parse(other.stdout)]).toMatchObject([2, { difference: { field: 'query' } }])
    for (const [field, set] of [
      ['chunk_ids', `outcome = jsonb_set(outcome, '{chunk_ids,0}', '"chk_00"')`],
      ['passage_sha256', `replay = jsonb_set(replay, '{passage_sha256,0}', '"00"')`],
      ['observed_value', `outcome = jsonb_set(outcome, '{observed_value}', '0.5')`],
      ['query_vector', `replay = jsonb_set(replay, '{query_vector_digest}', '"00"')`],
    ]) {
      const restored = await caller.ask()
      const id = restored.retrieved().request_id
      await withoutGuards(service.owner, `update reservations set ${set} where id = $1`, [id.slice(4)])
      const { code, stdout, stderr } = await replay(id, ANSWERED_QUERY)
      expect([code, JSON.parse(stdout)], stderr).toMatchObject([2, { difference: { field } }])
    }
  })

  test('an erased fingerprint key is named: no query can be tested any more', async () => {
    const caller = await createCaller()
    const { request_id } = (await caller.ask()).retrieved()
    const abstained = (await caller.ask({ query: ABSTAINED_QUERY })).retrieved()
    const serviceSecrets = parseServiceSecrets(settings.secrets.SERVICE_SECRET)
    await eraseFingerprints(service.operator, { organization: caller.organization, serviceSecrets })
    expect(await show(request_id)).toMatchObject({ fingerprint_key: 'erased' })
    expect(await show(abstained.request_id)).toMatchObject({ decision: 'abstain', considered: null })
    expect(await replay(request_id, ANSWERED_QUERY)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was erased'),
    })
  })

  test('what no request has is a sentence', async () => {
    expect(await cli.run('requests', 'show', randomUUID())).toMatchObject({ code: 1 })
    expect(await cli.run('requests', 'show', 'req_1')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('req_…'),
    })
    expect(await cli.run('requests', 'show')).toMatchObject({ code: 1 })
  })
})
