import { fork, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'
import { openDatabase } from '#core/db/pool.ts'
import { createSchema } from '#operator/demo/local/schema.ts'
import { createLog, describeCause } from '#core/platform/log.ts'
import { startPostgres } from '#operator/demo/local/postgres.ts'
import { createSteps } from '#operator/demo/steps.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { benchChanged } from './changed.ts'
import { makeCorpus } from './corpus.ts'

const USAGE = `npm run bench:import -- [--mb N] [--data-dir PATH]
npm run bench:import -- --changed FILE --mapping FILE [--embedding local|openai] [--data-dir PATH]

Makes a JSONL corpus of N megabytes (default 5000), the same in each run, and imports it as an operator does. Then runs
the stages of a build that read and sort it, and writes the rows of documents and revisions to Postgres. Shows time,
largest memory and disk of each. Exit code 1 when a process held more than 1 GB.

With --changed it publishes that JSONL, changes one record, captures it again as the schedule does, and shows how long it
takes until the candidate is evaluated and compared, by stage.
`
const MEGABYTES_MAX = 1_000
const RSS_EVERY_MS = 200
const OPERATOR = fileURLToPath(new URL('../../../operator/main.ts', import.meta.url))
const STAGES = fileURLToPath(new URL('./stages.ts', import.meta.url))

interface Measured {
  readonly what: string
  readonly seconds: number
  readonly rssMegabytes: number
}

/** Waits for a process and reads its largest resident memory (`VmHWM`) while it runs. Linux only. */
async function measured(what: string, child: ChildProcess): Promise<Measured> {
  const started = performance.now()
  let rssKib = 0
  const timer = setInterval(() => {
    try {
      const found = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))
      rssKib = Math.max(rssKib, Number(found?.[1] ?? 0))
    } catch {
      // The process has just ended.
    }
  }, RSS_EVERY_MS)
  const code = await new Promise<number | null>((done) => child.once('close', done))
  clearInterval(timer)
  if (code !== 0) throw new Error(`${what} ended with ${code}`)
  return { what, seconds: (performance.now() - started) / 1_000, rssMegabytes: (rssKib * 1_024) / 1_000_000 }
}

async function bytesBelow(folder: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size
  return bytes
}

const importedSchema = z.object({
  id: z.uuid(),
  report: z.object({ records_read: z.int(), passages: z.int(), documents: z.int(), revisions: z.int(), lost: z.int() }),
})

async function bench(megabytes: number, dataDir: string, steps: Steps): Promise<number> {
  mkdirSync(dataDir, { recursive: true })
  const corpus = await steps.run('corpus', () => makeCorpus(dataDir, megabytes))
  const work = mkdtempSync(join(dataDir, 'import-run-'))
  steps.onStop(async () => rmSync(work, { recursive: true, force: true }))
  const postgres = await steps.run('Postgres', () => startPostgres({ folder: join(work, 'postgres'), onLog: () => {} }))
  steps.onStop(() => postgres.stop())
  const logins = await createSchema(postgres, 'evidence')
  const database = openDatabase(logins.operatorUrl, createLog('bench', 'silent'), 2, 60_000)
  steps.onStop(() => database.end())
  await createKnowledgeBase({ database, actor: 'bench' }, { slug: 'made', title: 'Made up' })

  const environment = {
    ...process.env,
    DATABASE_URL: logins.operatorUrl,
    ARTIFACT_STORE: pathToFileURL(join(work, 'store')).href,
  }
  const args = ['import', '--knowledge-base', 'made', '--source', corpus.folder, '--mapping', corpus.mapping, '--json']
  const operator = spawn(process.execPath, [OPERATOR, ...args], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  operator.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const importing = await measured('operator import', operator)
  const { id, report } = importedSchema.parse(JSON.parse(printed))
  const snapshotBytes = await bytesBelow(join(work, 'store'))

  const buildId = randomUUID()
  const stages = fork(STAGES, [logins.jobsUrl, id, buildId, join(work, 'store')], { execArgv: [] })
  const building = await measured('build: import, sort, rows', stages)
  steps.print(
    [
      `${(corpus.bytes / 1e9).toFixed(2)} GB of JSONL in parts: ${report.records_read} records, ${report.passages} ` +
        `passages, ${report.documents} documents, ${report.revisions} revisions, ${report.lost} lost.`,
      ...[importing, building].map(
        ({ what, seconds, rssMegabytes }) => `${what}: ${seconds.toFixed(0)} s, at most ${rssMegabytes.toFixed(0)} MB`,
      ),
      `Snapshots: ${(snapshotBytes / 1e9).toFixed(2)} GB; with the build's work folder: ` +
        `${((await bytesBelow(join(work, 'store'))) / 1e9).toFixed(2)} GB.`,
    ].join('\n'),
  )
  return [importing, building].every(({ rssMegabytes }) => rssMegabytes <= MEGABYTES_MAX) ? 0 : 1
}

const steps = createSteps(process.stdout)
try {
  const { values } = parseArgs({
    options: {
      mb: { type: 'string', default: '5000' },
      'data-dir': { type: 'string', default: '.data/bench' },
      changed: { type: 'string' },
      mapping: { type: 'string' },
      embedding: { type: 'string', default: 'local' },
    },
  })
  const { changed, mapping, 'data-dir': dataDir } = values
  const embedding = z.enum(['local', 'openai']).safeParse(values.embedding)
  if (!embedding.success || (changed === undefined) !== (mapping === undefined)) throw new Error(USAGE)
  if (changed !== undefined && mapping !== undefined) {
    steps.stopOnSignals()
    await benchChanged({ file: changed, mapping, embedding: embedding.data, dataDir }, steps)
    await steps.stop(0)
  }
  const megabytes = z.coerce.number().int().min(1).max(20_000).safeParse(values.mb)
  if (!megabytes.success) throw new Error(USAGE)
  steps.stopOnSignals()
  await steps.stop(await bench(megabytes.data, resolve(dataDir), steps))
} catch (error) {
  steps.print(describeCause(error))
  await steps.stop(1)
}
