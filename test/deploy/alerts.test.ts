import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { Worker } from 'bullmq'
import { afterAll, expect, test } from 'vitest'
import { RestoredError } from '#core/db/restores.ts'
import { LIMIT_BOUNDS } from '#core/limits/bounds.ts'
import { createLimitEpochs } from '#core/limits/epochs.ts'
import { createSettlement } from '#core/limits/settlement.ts'
import { createLog } from '#core/platform/log.ts'
import { QUEUE_PREFIX } from '#core/queues/ledger-queue.ts'
import { SAID, exportedRegistries } from '#test/support/exported-metrics.ts'
import { openNode } from '#test/support/fixtures.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { startOwnRedis, withRedis } from '#test/support/redis.ts'
import { requestOf } from '#test/support/search.ts'
import { nodeEnvironment } from '#test/support/search-node.ts'
import { makeCertificates, signingKeys } from '#test/support/secrets.ts'
import { until } from '#test/support/until.ts'
import { insertVersion } from '#test/support/version-rows.ts'
import { alerts, scrape, tried } from './prometheus.ts'

const log = createLog('test', 'silent')
const folder = folderOfFile()
const redis = await startOwnRedis()
const { node } = await openNode(nodeEnvironment(folder, signingKeys().publicKeyDer))
const certify = (days: number): string => makeCertificates(folder, 'node', days).cert
const said = { ...SAID }
const exported = await exportedRegistries(folder, certify(60), { said, nodes: node.address, redisUrl: redis.url })
const { owner, gateway, queues, searchTier } = exported
const { statfsSync } = fs
let [isFull, settles, release] = [false, true, '']
const patch = (patched: unknown): void => {
  Object.assign(fs, { statfsSync: patched })
  syncBuiltinESMExports()
}
patch((path: string) => ({ ...statfsSync(path), ...(isFull ? { bavail: 1 } : {}) }))
const text = (at: number) => async () => (await exported.registries[at]?.metrics()) ?? ''
const page = `http://127.0.0.1:${/"metrics":(\d+)/.exec(node.output())?.[1]}/metrics`
const targets = {
  gateway: text(0),
  'node process': async () => (await fetch(page, { signal: AbortSignal.timeout(2_000) })).text(),
  node: text(1),
  jobs: text(2),
  encoder: async () => (await text(4)()).replace('commit="', `$&${release}`),
}
afterAll(async () => {
  patch(statfsSync)
  node.child.kill('SIGCONT')
  await exported.close()
  await redis.stop()
})

/** A request that ended so, as the gateway counts it. */
function finish(
  status: number,
  seconds: number,
  more: { readonly error?: object; readonly decision?: string },
  failed = '',
): void {
  const waitedMs = { caller: 0, redis: 0, postgres: 0, provider: 0, search: 0 }
  const timings = { stages: failed === '' ? [] : [{ name: failed, ms: 1 }], totalMs: () => seconds * 1_000, waitedMs }
  const context = { timings, usage: undefined, client: 'bees/hive', about: { knowledge_base: 'bees' }, firstScore: 0.5 }
  exported.finished(context as never, { reply: { status }, ...more } as never)
}
const answered = () => finish(200, 0.1, { decision: 'answer' })
const search = () => searchTier.search(requestOf({ versionId: randomUUID() }), 3_000, new AbortController().signal)
const configure = (name: string, value: string) => withRedis(redis.url, (client) => client.config('SET', name, value))
await owner.query("insert into knowledge_bases (id, slug, title) values (gen_random_uuid(), 'bees', 'Bees')")
const rows = {
  key: "insert into api_keys (id, client_id, environment, digest, pepper, prefix, scopes, expires_at) values ($1, $1, 'live', sha256('k'), 'p', 'p', '{}', now() + interval '5 days')",
  source:
    "insert into sources (id, knowledge_base_id, name, location, hosts, private) select $1, id, 'gone', '/gone', '{}', false from knowledge_bases",
  captured: "insert into captures (source_id, outcome) values ($1, 'failed')",
  settled: "insert into ledger_outbox (reservation_id, added_at) values ($1, now() - interval '10 minutes')",
}
const mended = [
  'delete from api_keys',
  "insert into captures (source_id, outcome, files) select id, 'unchanged', '[]' from sources",
  'delete from ledger_outbox',
  'delete from corpus_versions',
]
const ageSchema = (sign: string) =>
  owner.query(`update schema_migrations set applied_at = applied_at ${sign} interval '2 days'`)
const settle = () => (settles ? Promise.resolve({ usage: {} } as never) : Promise.reject(new Error('away')))
const settlement = createSettlement({ database: owner, reservations: {} as never, counters: { settle }, log })
const id = randomUUID()

async function bringRows(): Promise<void> {
  for (const row of Object.values(rows)) await withoutGuards(owner, row, [id])
  await insertVersion(owner, { slug: 'bees', state: 'candidate', passages: 1 })
  await ageSchema('-')
  const connection = { connection: exported.connection, prefix: QUEUE_PREFIX, skipVersionCheck: true }
  await queues[3]?.add('capture', { id })
  const failing = new Worker('capture', () => Promise.reject(new Error('no source')), connection)
  await until('the job has failed', async () => (await queues[3]?.getFailedCount()) === 1)
  await failing.close()
  await queues[1]?.add('activate', { id }, { jobId: id, timestamp: Date.now() - 600_000 })
  const used = await withRedis(redis.url, (client) => client.info('memory'))
  await configure('maxmemory', `${Math.round(Number(/used_memory:(\d+)/.exec(used)?.[1]) * 1.15)}`)
  await configure('appendonly', 'no')
}

async function bringCounts(): Promise<void> {
  const error = { code: 'RETRIEVAL_UNAVAILABLE', status: 503 }
  for (let n = 0; n < 3; n++) {
    finish(503, 3, { error }, 'embed')
    finish(200, 0.1, { decision: 'abstain' })
    finish(429, 0.1, { error: { code: 'QUOTA_EXCEEDED', status: 429, details: [{ reason: 'day' }] } })
  }
  for (let n = 0; n < 20; n++) finish(401, 0.1, { error: { code: 'INVALID_API_KEY', status: 401 } })
  finish(503, 0.1, { error: { ...error, cause: new RestoredError() } }, 'admit')
  exported.usage.note({ entitlement_id: id, day: 0.9, month: 0, tightened: false, atMs: Date.now() })
  const charge = { scope: {} as never, requestId: id, idempotencyDigest: undefined }
  settles = false
  for (let n = 0; n <= LIMIT_BOUNDS.settlementsRepeatedMax; n++) await settlement.undo(charge, 'epoch')
  const away = { reads: owner, database: owner, counters: {}, settlement, log } as never
  await createLimitEpochs(away)
    .repair(id, {} as never)
    .catch(() => undefined)
}

async function mend(): Promise<void> {
  node.child.kill('SIGCONT')
  await until('the node answers', () => searchTier.isReachable(1_000))
  Object.assign(said, { ...SAID, damaged: 1 })
  ;[isFull, settles, release] = [false, true, '']
  certify(60)
  for (const row of mended) await withoutGuards(owner, row, [])
  await ageSchema('+')
  await configure('maxmemory', '0')
  await configure('appendonly', 'yes')
  await queues[1]?.remove(id)
  exported.usage.note({ entitlement_id: id, day: 0.1, month: 0, tightened: false, atMs: Date.now() })
}

const FAULTS = {
  'a node hangs, and much else is wrong': {
    bring: async () => {
      node.child.kill('SIGSTOP')
      await search().catch(() => undefined)
      await searchTier.isReachable(500)
      Object.assign(said, {
        reason: 'no node',
        search: { state: 'down', reason: 'no node' },
        waiting: 51,
        queued: 6,
        isLoaded: false,
        damaged: 1,
      })
      Object.assign(said, { ageMs: 90_000, drift: 0.6, encoding: 21, clockMs: 3_600_000 })
      ;[isFull, release] = [true, 'other']
      certify(2)
      await bringCounts()
      await bringRows()
      const [holding, waiting] = [await owner.connect(), await owner.connect()]
      await holding.query('begin; lock table clients')
      const locked = waiting.query('begin; lock table clients')
      return async () => {
        await holding.query('rollback')
        await locked
        await waiting.query('rollback')
        for (const client of [holding, waiting]) client.release()
        await mend()
      }
    },
    shows: /^evidence_clock_difference_seconds\{.* 3/m,
    fires: {
      EvidenceProcessDown: [{ instance: 'node process', job: 'evidence' }],
      EvidenceKnowledgeBaseNotServed: [{ knowledge_base: 'bees' }],
      EvidenceDependencyDown: [{ dependency: 'search' }],
      EvidenceRequestsFail: [{}],
      EvidenceRequestsSlow: [{}],
      EvidenceOverloaded: [{ instance: 'gateway' }],
      EvidenceAnswersChanged: [{ knowledge_base: 'bees' }],
      EvidenceKeysRefused: [{}],
      EvidenceClientRefused: [{ client: 'bees/hive', outcome: 'day' }],
      EvidenceClientsNearLimit: [{ limit: 'day' }],
      EvidenceApiKeysExpire: [{ environment: 'live' }],
      EvidenceNodeDown: [{ node: node.address }],
      EvidenceNodePassedOver: [{ node: node.address }],
      EvidenceNodeSlow: [{ node: node.address }],
      EvidenceSearchQueueFull: [{ instance: 'node', job: 'evidence' }],
      EvidenceVersionNotLoaded: [{ instance: 'node', job: 'evidence', version: 'v' }],
      EvidenceVersionDamaged: [{ instance: 'node', job: 'evidence' }],
      EvidenceTaskLate: [{ task: 'sweep' }],
      EvidenceQueueStuck: [{ queue: 'activate' }],
      EvidenceJobsFail: [{ queue: 'capture' }],
      EvidenceLedgerBehind: [{}],
      EvidenceSettlementsGivenUp: [{ event: 'settlement of the counters not repeated: too many repeat' }],
      EvidenceLimitsNotRebuilt: [{}],
      EvidenceCaptureFails: [{ knowledge_base: 'bees' }],
      EvidenceCandidateWaits: [{ knowledge_base: 'bees' }],
      EvidenceRewriterDrifts: [{ knowledge_base: 'bees' }],
      EvidenceModelFails: [{}],
      EvidenceEncoderBusy: [{ instance: 'encoder' }],
      EvidenceClocksDiffer: ['gateway', 'jobs'].map((instance) => ({ instance, server: 'postgres' })),
      EvidenceRestored: [{}],
      EvidenceDiskFull: ['node', 'jobs'].map((instance) => ({ instance, job: 'evidence', place: 'store' })),
      EvidenceBackupOld: [{}],
      EvidenceLocksWait: [{}],
      EvidenceRedisFull: [{}],
      EvidenceRedisNotPersistent: [{}],
      EvidenceCertificateExpires: ['gateway', 'node', 'jobs'].map((instance) => ({ instance })),
      EvidenceReleasesDiffer: [{}],
      EvidenceErrorsLogged: [{ event: 'clocks differ' }],
    },
  },
  'every connection to Postgres is taken': {
    bring: async () => {
      const taken = await Promise.all(Array.from({ length: gateway.options.max }, () => gateway.connect()))
      const awaited = gateway.connect()
      return async () => {
        for (const client of taken) client.release()
        ;(await awaited).release()
      }
    },
    shows: /^evidence_database_connections\{state="awaited"\} 1/m,
    fires: { EvidencePoolExhausted: [{ instance: 'gateway' }] },
  },
}

test('every alert has a fault that fires it', () => {
  const fired = Object.values(FAULTS).flatMap(({ fires }) => Object.keys(fires))
  expect(fired.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted())
})

test.each(Object.entries(FAULTS))('alerts fire while %s, and neither before nor after', async (name, fault) => {
  await searchTier.isReachable(1_000)
  const first = await scrape(targets)
  answered()
  const before = await scrape(targets)
  const seen = async (isThere: boolean) =>
    until(`${isThere ? '' : 'not '}${name}`, async () => {
      const scraped = await scrape(targets)
      return fault.shows.test(scraped.text) === isThere && scraped
    })
  async function whileThere() {
    await using ending = new AsyncDisposableStack()
    ending.defer(await fault.bring())
    return await seen(true)
  }
  const during = await whileThere()
  answered()
  const scrapes = [first, before, during, await seen(false)]
  for (const [alert, labels] of Object.entries(fault.fires))
    expect.soft(tried(folder, alert, scrapes, labels), alert).toContain('SUCCESS')
})
