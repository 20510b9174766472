import { fork, spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { storeUrl } from '#operator/demo/local/stack.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { UsageError, numberOf, optionsOf, runWithSteps } from '#test/support/long-run.ts'
import { startOwnServers } from '#test/support/own-servers.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { benchChanged } from './changed.ts'
import { makeCorpus } from './corpus.ts'

const USAGE = `npm run bench:import -- [--mb N] [--data-dir PATH]
npm run bench:import -- --changed FILE --mapping FILE [--embedding none|openai] [--data-dir PATH]
npm run bench:import -- --acts N [--data-dir PATH]

Makes a JSONL corpus of N megabytes (default 5000), the same in each run, and imports it as an operator does. Then runs
the stages of a build that read and sort it, and writes the rows of documents and revisions to Postgres. Shows time,
largest memory and disk of each. Exit code 1 when a process held more than 1 GB.

With --changed it publishes that JSONL, changes one record, captures it again as the schedule does, and shows how long it
takes until the candidate is evaluated and compared, by stage. With --acts it does so with a clone that it makes, of N
acts with three versions each, and fifty reforms.
`
const MEGABYTES_MAX = 1_000
const RSS_EVERY_MS = 200
const OPERATOR = fileURLToPath(new URL('../../../operator/main.ts', import.meta.url))
const STAGES = fileURLToPath(new URL('./stages.ts', import.meta.url))

/** Waits for a process and reads its largest resident memory (`VmHWM`) while it runs. Linux only. */
async function measured(what: string, child: ChildProcess) {
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
  const rssMegabytes = (rssKib * 1_024) / 1_000_000
  const seconds = (performance.now() - started) / 1_000
  return { sentence: `${what}: ${seconds.toFixed(0)} s, at most ${rssMegabytes.toFixed(0)} MB`, rssMegabytes }
}

async function gigabytesBelow(folder: string): Promise<string> {
  let bytes = 0
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size
  return (bytes / 1e9).toFixed(2)
}

const importedSchema = z.object({
  id: z.uuid(),
  report: z.object({ records_read: z.int(), passages: z.int(), documents: z.int(), revisions: z.int(), lost: z.int() }),
})

async function bench(megabytes: number, dataDir: string, work: string, steps: Steps): Promise<number> {
  const { folder, mapping } = await steps.run('corpus', () => makeCorpus(dataDir, megabytes))
  const servers = await startOwnServers({ name: 'bench', folder: work, secrets: testSecrets() }, steps)
  const { settings, operatorUrl } = servers
  await createKnowledgeBase(servers.operator, { slug: 'made', title: 'Made up' })
  const args = ['import', '--knowledge-base', 'made', '--source', folder, '--mapping', mapping, '--json']
  const operator = spawn(process.execPath, [OPERATOR, ...args], {
    env: { ...process.env, DATABASE_URL: operatorUrl, ARTIFACT_STORE: storeUrl(settings) },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  operator.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text))
  const importing = await measured('operator import', operator)
  const { id, report } = importedSchema.parse(JSON.parse(printed))
  const store = join(work, 'store')
  const snapshots = await gigabytesBelow(store)
  const stages = fork(STAGES, [settings.jobsDatabaseUrl, id, randomUUID(), store], { execArgv: [] })
  const building = await measured('build: import, sort, rows', stages)
  steps.print(
    [
      `${await gigabytesBelow(folder)} GB of JSONL in parts: ${report.records_read} records, ${report.passages} ` +
        `passages, ${report.documents} documents, ${report.revisions} revisions, ${report.lost} lost.`,
      importing.sentence,
      building.sentence,
      `Snapshots: ${snapshots} GB; with the build's work folder: ${await gigabytesBelow(store)} GB.`,
    ].join('\n'),
  )
  return Math.max(importing.rssMegabytes, building.rssMegabytes) <= MEGABYTES_MAX ? 0 : 1
}

const OPTIONS = {
  mb: { type: 'string', default: '5000' },
  'data-dir': { type: 'string', default: '.data/bench' },
  acts: { type: 'string' },
  changed: { type: 'string' },
  mapping: { type: 'string' },
  embedding: { type: 'string', default: 'none' },
  help: { type: 'boolean', default: false },
} as const

function flagsOf(args: readonly string[]) {
  const { help, mb, acts, changed: file, mapping, embedding: named, 'data-dir': dataDir } = optionsOf(args, OPTIONS)
  if (help) return 'help' as const
  const embedding = (['none', 'openai'] as const).find((one) => one === named)
  if (embedding === undefined) throw new UsageError('--embedding is none or openai.')
  if ((file === undefined) !== (mapping === undefined)) throw new UsageError('--changed and --mapping belong together.')
  const changed = file === undefined || mapping === undefined ? undefined : ({ file, mapping, embedding } as const)
  const clone =
    acts === undefined ? undefined : ({ acts: numberOf('acts', acts, 50, 100_000), embedding: 'none' } as const)
  return { megabytes: numberOf('mb', mb, 1, 20_000), changed: clone ?? changed, dataDir: resolve(dataDir) } as const
}

await runWithSteps(USAGE, flagsOf, async ({ megabytes, changed, dataDir }, steps) => {
  steps.stopOnSignals()
  mkdirSync(dataDir, { recursive: true })
  const work = mkdtempSync(join(dataDir, 'import-run-'))
  steps.onStop(async () => rmSync(work, { recursive: true, force: true }))
  if (changed === undefined) return await bench(megabytes, dataDir, work, steps)
  await benchChanged(changed, work, steps)
  return 0
})
