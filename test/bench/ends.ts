import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { appendLedgerEntries } from '#core/db/ledger.ts'
import { openDatabase, type Database } from '#core/db/pool.ts'
import type { Outcome } from '#core/db/reservations.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { admit } from '#core/limits/admission.ts'
import { QUEUE_BOUNDS } from '#core/queues/bounds.ts'
import { createLog } from '#core/platform/log.ts'
import { openGatewayLimits } from '#gateway/limits.ts'
import { startRedis } from '#operator/demo/local/redis.ts'
import { createOrganization } from '#test/model/servers.ts'
import { createCandidate, NO_REPLAY } from '#test/support/limits.ts'
import { withRedis } from '#test/support/redis.ts'
import { numberOf, optionsOf, runCommandLine, withOwnDatabase } from '#test/support/long-run.ts'
import { cpuBetween, cpuTimes } from './cpu.ts'

const USAGE = `npm run bench:ends -- [--seconds S] [--callers N] [--organizations N]

Admits and delivers requests through Redis and Postgres alone, as gateways do, and appends their ledger entries. Prints
what a request takes of either, and how many a core of it takes a second.
`
const PASSAGES = 5
const LIMITS = planLimitsSchema.parse({
  requests_per_minute: 1_000_000,
  concurrency: 10_000,
  requests_per_day: 1_000_000_000,
  requests_per_month: 1_000_000_000,
  exposure: { floors: { corpus: 1_000_000, document: 1_000_000 } },
})
const OUTCOME: Outcome = {
  decision: 'answer',
  error_code: null,
  result_count: PASSAGES,
  response_bytes: 4_000,
  query_embedding_tokens: null,
  rewriter: null,
  rewriting_tokens: null,
  reader: null,
  reader_tokens: null,
  signal: null,
  threshold: 0.5,
  observed_value: 0.9,
  top_k: PASSAGES,
  chunk_ids: [],
  reply_sha256: null,
  node: null,
  stage_ms: {},
}

function flagsOf(args: readonly string[]) {
  const text = { type: 'string' } as const
  const given = optionsOf(args, { help: { type: 'boolean' }, seconds: text, callers: text, organizations: text })
  if (given.help === true) return 'help'
  const { seconds = '10', callers = '64', organizations = '8' } = given
  return {
    seconds: numberOf('seconds', seconds, 1, 600),
    callers: numberOf('callers', callers, 1, 1_024),
    organizations: numberOf('organizations', organizations, 1, 1_000),
  }
}

type Flags = Exclude<ReturnType<typeof flagsOf>, 'help'>
interface Urls {
  readonly ownerUrl: string
  readonly gatewayUrl: string
}

type Entitled = Awaited<ReturnType<typeof createOrganization>>

type GatewayLimits = ReturnType<typeof openGatewayLimits>

/** Admits and delivers one request. @returns its id. */
async function serve(limits: GatewayLimits, held: Entitled[number], document: string): Promise<string> {
  const candidate = { ...createCandidate(held, { corpusPassages: 1_000_000, limits: LIMITS }), topK: PASSAGES }
  const admission = await admit(limits, candidate, (_, work) => work)
  if (admission.status !== 'admitted') throw new Error(`refused: ${admission.refusal.reason}`)
  const { id } = candidate
  const served = Array.from({ length: PASSAGES }, (_, n) => ({ chunk: `${id}-${n}`, document, total: 10_000 }))
  const delivery = { outcome: OUTCOME, served, replay: NO_REPLAY }
  if (!(await limits.settlement.deliver(admission.charge, delivery, 10_000))) throw new Error('not delivered')
  return id
}

/** @returns how many requests all callers had served. */
async function askFor(ms: number, callers: number, limits: GatewayLimits, entitled: Entitled, owner: Database) {
  const endsAtMs = performance.now() + ms
  let settled: string[] = []
  async function ask(_: unknown, caller: number): Promise<number> {
    let count = 0
    for (; performance.now() < endsAtMs; count++) {
      const held = entitled[(caller + count) % entitled.length]
      if (held === undefined) throw new Error('nobody is entitled')
      settled.push(await serve(limits, held, `${caller}-${count % 100}`))
      if (settled.length < QUEUE_BOUNDS.ledgerBatchMax) continue
      const batch = settled
      settled = []
      await appendLedgerEntries(owner, batch)
    }
    return count
  }
  const counts = await Promise.all(Array.from({ length: callers }, ask))
  return counts.reduce((sum, count) => sum + count, 0)
}

async function keptBy(owner: Database, redisUrl: string) {
  const size =
    "select pg_database_size(current_database())::float8 as disk, (pg_current_wal_lsn() - '0/0')::float8 as wal"
  const { rows } = await owner.query<{ disk: number; wal: number }>(size)
  const memory = await withRedis(redisUrl, (client) => client.info('memory'))
  return [rows[0]?.disk ?? 0, rows[0]?.wal ?? 0, Number(/^used_memory:(\d+)/m.exec(memory)?.[1])] as const
}

async function measure({ seconds, callers, organizations }: Flags, urls: Urls, redisUrl: string): Promise<boolean> {
  const log = createLog('bench', 'warn')
  const owner = openDatabase(urls.ownerUrl, log, 2)
  const database = openDatabase(urls.gatewayUrl, log, DATABASE_BOUNDS.gatewayDatabaseConnectionsMax)
  const concurrency = { state: () => ({ limit: callers, active: callers, waiting: 0 }) }
  const limits = openGatewayLimits({ database, databaseUrl: urls.gatewayUrl, redisUrl, concurrency, log })
  await limits.counters.firstAttempt()
  const made = await Promise.all(Array.from({ length: organizations }, () => createOrganization(owner)))
  const entitled = made.flatMap(([first]) => first ?? [])
  await askFor(1_000, callers, limits, entitled, owner)
  const [before, keptBefore] = [cpuTimes(), await keptBy(owner, redisUrl)]
  const requests = await askFor(seconds * 1_000, callers, limits, entitled, owner)
  const { Redis: redis, Postgres: postgres } = cpuBetween(before, cpuTimes())
  const kept = await keptBy(owner, redisUrl)
  const [disk, wal, memory] = kept.map((bytes, at) => Math.round((bytes - (keptBefore[at] ?? 0)) / requests))
  const line = (name: string, ms: number): string =>
    `${name}: ${(ms / requests).toFixed(3)} CPU ms a request, ${Math.round((1_000 * requests) / ms)} a core-second\n`
  process.stdout.write(
    `${Math.round(requests / seconds)} requests a second of ${callers} callers and ${organizations} organizations\n` +
      `${line('Redis, admission and settlement', redis)}${line('Postgres, two commits and ledger', postgres)}` +
      `Bytes a request: ${disk} of the database, ${wal} of its log, ${memory} of Redis\n`,
  )
  await limits.close()
  await Promise.all([owner.end(), database.end()])
  return true
}

await runCommandLine(USAGE, flagsOf, (flags) =>
  withOwnDatabase('ends', async (urls) => {
    const folder = mkdtempSync(join(tmpdir(), 'evidence-ends-'))
    const redis = await startRedis({ folder })
    await using ending = new AsyncDisposableStack()
    ending.defer(async () => rmSync(folder, { recursive: true, force: true }))
    ending.defer(() => redis.stop())
    return await measure(flags, urls, redis.url)
  }),
)
