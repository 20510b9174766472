import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { z } from 'zod'
import { describeCause } from '#core/platform/log.ts'
import { startService } from '#operator/demo/local/processes.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { createSteps } from '#operator/demo/steps.ts'
import type { SELECTIVITIES } from '../corpus.ts'
import type { install } from '../installation.ts'
import type { untilSettled } from '../ledger.ts'
import type { drive, during } from '../load.ts'
import type { openRaw, openRawSearch } from '../paths.ts'
import type { admitCaller, createBase, publishArtifact } from '../publish.ts'
import type { builtArtifact } from '../run.ts'
import type { inventTasks } from '../tasks.ts'
import { orderSchema, standOptionsSchema, type Ready, type Searched, type StandOrder } from './messages.ts'

/**
 * One of two trees that are compared, in a process of its own: node test/bench/against/stand.ts <options as JSON>. The
 * bench of that tree builds the artifact, starts the services, publishes and searches, each in the tree's own way. So
 * these exports of `test/bench` are what trees have in common; their names and arguments stay.
 */
const aFunction = <T>(): z.ZodType<T> => z.custom<T>((value) => typeof value === 'function')
const benchSchema = z.object({
  builtArtifact: aFunction<typeof builtArtifact>(),
  inventTasks: aFunction<typeof inventTasks>(),
  install: aFunction<typeof install>(),
  createBase: aFunction<typeof createBase>(),
  publishArtifact: aFunction<typeof publishArtifact>(),
  admitCaller: aFunction<typeof admitCaller>(),
  openRawSearch: aFunction<typeof openRawSearch>(),
  openRaw: aFunction<typeof openRaw>(),
  TOP_K: z.number(),
  KNOWLEDGE_BASE: z.string(),
  drive: aFunction<typeof drive>(),
  during: aFunction<typeof during>(),
  untilSettled: aFunction<typeof untilSettled>(),
  SELECTIVITIES: z.custom<typeof SELECTIVITIES>((value) => Array.isArray(value)),
})
const FILES = ['run', 'tasks', 'installation', 'publish', 'paths', 'load', 'ledger', 'corpus']
const CLIENTS = 2

const steps = createSteps(process.stdout)
steps.stopOnSignals()
const options = standOptionsSchema.parse(JSON.parse(process.argv[2] ?? ''))
const { dimensions, passages, seed } = options
const files = FILES.map((file) => pathToFileURL(join(options.tree, 'test', 'bench', `${file}.ts`)).href)
const modules = z.array(z.looseObject({})).parse(await Promise.all(files.map((file) => import(file))))
const bench = benchSchema.parse(Object.assign({}, ...modules))

const spec = { kind: 'invented', passages, dimensions, seed } as const
const { artifact, state, settings, build, dataDir } = await bench.builtArtifact(spec, options, steps)
const { queries } = bench.inventTasks(settings.corpus, seed)
const installation = await bench.install({ dataDir, dimensions, state, queries }, steps)
await steps.run('activation', async () =>
  bench.publishArtifact(installation, await bench.createBase(installation), artifact),
)
const raw = await bench.openRawSearch(artifact)
steps.onStop(() => raw.close())
const path = bench.openRaw(raw, 'raw')
const [selectivity] = bench.SELECTIVITIES

/** @returns address of the bare route, on the same Postgres and Redis, with the bytes of a reply of the gateway. */
async function startBare(key: string): Promise<string> {
  const { gateway, owner, settings: to } = installation
  await owner.query('create table bare_requests (id uuid primary key, asked jsonb, settled_at timestamptz)')
  await owner.query('grant select, insert, update on bare_requests to public')
  const [query] = queries
  if (query === undefined) throw new Error('there are no questions')
  const request = JSON.stringify({ query: query.text, top_k: bench.TOP_K, knowledge_base: bench.KNOWLEDGE_BASE })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const reply = await fetch(`${gateway.baseUrl}/v1/retrieve`, { method: 'POST', headers, body: request })
  const file = join(dataDir, 'reply.json')
  writeFileSync(file, await reply.text())
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const service = await startService({
    name: 'bare route',
    script: fileURLToPath(new URL('./bare.ts', import.meta.url)),
    args: [to.gatewayDatabaseUrl, to.redisUrl, String(port), key, file],
    environment: {},
    logFile: join(dataDir, 'logs', 'bare.log'),
    ready: async () => (await fetch(`${url}/ready`)).ok,
  })
  steps.watch(service)
  return url
}

async function obey(order: StandOrder): Promise<Searched | null> {
  if (order.kind === 'settle') {
    await bench.untilSettled(installation.owner)
    return null
  }
  const before = process.cpuUsage()
  const load = { queries, selectivity, clients: CLIENTS, goesOn: bench.during(order.ms), from: order.from }
  const { answered, failure, elapsedMs } = await bench.drive(path, load)
  const { user, system } = process.cpuUsage(before)
  return { answered, ...(failure === undefined ? {} : { failure }), elapsedMs, cpuMs: (user + system) / 1_000 }
}

async function onMessage(message: unknown): Promise<void> {
  try {
    process.send?.(await obey(orderSchema.parse(message)))
  } catch (error) {
    steps.print(describeCause(error))
    await steps.stop(1)
  }
}
process.on('message', (message) => void onMessage(message))
const key = await bench.admitCaller(installation)
const ready: Ready = {
  gatewayUrl: installation.gateway.baseUrl,
  bareUrl: await startBare(key),
  key,
  questions: queries.map(({ text }) => text),
  buildSeconds: build.write_seconds,
}
process.send?.(ready)
