import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DEFAULT_CHAT_READER_CALIBRATION, DEFAULT_REWRITTEN_CALIBRATION } from '#core/domain/default-calibration.ts'
import { PROMPT_SHA256 } from '#core/reading/chat.ts'
import { REWRITING_PROMPT_SHA256 } from '#core/rewriting/prompt.ts'
import { asking, startProvider } from '#test/support/embedding-faults.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { sendRaw } from '#test/support/http.ts'
import { settledLedgerRows } from '#test/support/ledger.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { OVERLAP, deciding, startReaderEndpoint } from '#test/support/reader-endpoint.ts'
import { ANSWERED_QUERY, startTestService } from '#test/support/service.ts'
import { until } from '#test/support/until.ts'

const MARKER = `quuxmarker${randomBytes(8).toString('hex')}`
const LAST_USES =
  "select concat_ws(' ', outcome ->> 'rewriter', outcome ->> 'reader') as uses from ledger where entitlement_id = $1"

/** Profiles by what becomes of their rewriter and their reader, whose words the failing ones send back. */
const MODELS = (['refuse', 'decide_without'] as const).flatMap((on_failure) =>
  [
    ['quoting', OVERLAP, 'rewritten read'],
    ['status-500', 'status-400', on_failure === 'refuse' ? 'failed' : 'failed failed'],
  ].map(([rewriter = '', reader = '', outcome = '']) => {
    const calibration = { ...DEFAULT_REWRITTEN_CALIBRATION, threshold: 0 }
    const description = { title: 'Rulebook', acts: [] }
    const rewriting = { model: rewriter, prompt_sha256: REWRITING_PROMPT_SHA256, description, on_failure, calibration }
    const pinned = { model: reader, prompt_sha256: PROMPT_SHA256, on_failure }
    const read = deciding({ ...pinned, calibration: DEFAULT_CHAT_READER_CALIBRATION })
    return [{ rewriter: rewriting, reader: read }, outcome] as const
  }),
)

test('no query and no key is left in a heap of gateway or search node once every outcome has settled', async () => {
  const provider = await startProvider()
  onTestFinished(() => provider.stop())
  const file = join(folderOfFile(), 'heap')
  const NODE_OPTIONS = `--import=${new URL('../support/heap-snapshots.ts', import.meta.url).href}`
  const models = await startReaderEndpoint()
  onTestFinished(() => models.stop())
  const environment = {
    OPENAI_BASE_URL: provider.baseUrl,
    OPENAI_API_KEY: 'test',
    READER_BASE_URL: models.baseUrl,
    REWRITER_BASE_URL: models.baseUrl,
    NODE_OPTIONS,
    HEAP_SNAPSHOT: file,
  }
  const service = await startTestService({ embedding: 'openai', environment })
  onTestFinished(() => service.stop())
  const caller = await service.createCaller()
  const tight = await service.createCaller({ limits: { requests_per_minute: 1 } })
  const query = `${ANSWERED_QUERY} ${MARKER}`
  const one = { headers: { 'idempotency-key': `idem-${MARKER}` } }
  const headers = { traceparent: MARKER, 'user-agent': MARKER, 'x-request-id': MARKER }
  const asked = [
    caller.ask({ query }, one),
    caller.ask({ query: asking('echo', query) }),
    caller.ask({ query: asking('status-400', query) }),
    caller.ask({ query, top_k: 0, surplus: MARKER }),
    caller.ask({ query, filters: { subject: [MARKER] } }),
    caller.ask({ query }, { key: MARKER }),
    caller.ask({ query }, { path: `/${MARKER}` }),
    caller.send(`{"query":"${MARKER}`),
    caller.ask({ query, profile: MARKER }),
    caller.ask({ query, knowledge_base: MARKER }, { headers }),
  ]
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  expect(statuses).toEqual([200, 503, 503, 400, 403, 401, 404, 400, 400, 403])
  expect((await caller.ask({ query: `What is ${MARKER}?` }, one)).status).toBe(409)
  expect([(await tight.ask({ query })).status, (await tight.ask({ query })).status]).toEqual([200, 429])
  expect((await caller.ask({ query: `What is ${MARKER}?` })).retrieved().abstention.decision).toBe('abstain')
  await sendRaw(service.gateways[0]?.baseUrl ?? '', `${MARKER} ${MARKER}\r\n\r\n`)
  const unassisted = await service.createCaller({ assistance: false })
  for (const [profile, outcome] of MODELS) {
    await withoutGuards(service.owner, 'update corpus_versions set profile = profile || $1', [profile])
    await until(`requests end with ${outcome}`, async (seen) => {
      await caller.ask({ query: `${query} «${query}»` })
      await unassisted.ask({ query })
      await settledLedgerRows(service.owner, caller.entitlementId)
      const { rows } = await service.owner.query(LAST_USES, [caller.entitlementId])
      seen(rows)
      return rows.some(({ uses }) => uses === outcome)
    })
  }
  await settledLedgerRows(service.owner, unassisted.entitlementId)
  await settledLedgerRows(service.owner, caller.entitlementId)
  for (const process of [...service.gateways, ...service.searchNodes]) {
    process.signal('SIGUSR2')
    const heap = `${file}.${process.pid}`
    await until('the heaps are written', () => Promise.resolve(existsSync(heap)))
    const kept = readFileSync(heap, 'latin1')
    for (const canary of [MARKER, ...[caller, tight, unassisted].map(({ key }) => key.slice(14))])
      expect([...kept.matchAll(new RegExp(`.{0,40}${canary}.{0,40}`, 'g'))].map(String), process.name).toEqual([])
  }
})
