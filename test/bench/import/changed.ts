import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import { createLog } from '#core/platform/log.ts'
import { SCHEDULED } from '#jobs/capture/run-child.ts'
import { createProgress } from '#operator/command-line/progress.ts'
import { startPostgres } from '#operator/demo/local/postgres.ts'
import { startRedis } from '#operator/demo/local/redis.ts'
import { createSchema } from '#operator/demo/local/schema.ts'
import { startJobs, startSearchNode, storeOf } from '#operator/demo/local/stack.ts'
import type { StackSettings } from '#operator/demo/local/stack.ts'
import { publish } from '#operator/demo/publish.ts'
import type { PublishDeps } from '#operator/demo/publish.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { addSource, sourceNamed } from '#operator/actions/sources.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { waitForBuild } from '#operator/command-line/wait.ts'
import { startEmbeddingEndpoint, vectorsByWords } from '#test/support/embedding-endpoint.ts'
import type { EmbeddingEndpoint } from '#test/support/embedding-endpoint.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { cpuBetween, cpuTimes } from '../cpu.ts'
import type { CpuPart } from '../cpu.ts'

/** A corpus of JSONL whose publisher changes one record. */
export interface ChangedCorpus {
  readonly file: string
  readonly mapping: string
  readonly embedding: 'local' | 'openai'
  readonly dataDir: string
}

const WAIT_SECONDS = 3_600
const LOOK_EVERY_MS = 50
/** The record in the middle of the file gets a word more. */
const ADDED = ' Amended.'

/**
 * Publishes a corpus, changes one record of it, gives the job worker the capture of its schedule, and shows how long it
 * takes until the candidate is evaluated and compared. The endpoint of `openai` is one of this process.
 */
export async function benchChanged(corpus: ChangedCorpus, steps: Steps): Promise<void> {
  const dataDir = resolve(corpus.dataDir)
  mkdirSync(dataDir, { recursive: true })
  const work = mkdtempSync(join(dataDir, 'changed-'))
  steps.onStop(async () => rmSync(work, { recursive: true, force: true }))
  const endpoint = await startEmbeddingEndpoint(vectorsByWords())
  steps.onStop(() => endpoint.stop())
  const deps = await startStack(work, endpoint, steps)
  const { operator, store, redisUrl } = deps
  const file = join(work, basename(corpus.file))
  await copyFile(corpus.file, file)
  const base = await createKnowledgeBase(operator, { slug: 'changed', title: 'Changed' })
  const source = { name: 'source', knowledgeBase: 'changed', from: file, mapping: corpus.mapping }
  await addSource(operator, source)
  const published = { knowledgeBase: 'changed', source: file, mappingFile: corpus.mapping, questionsFile: undefined }
  const progress = createProgress(process.stderr)
  const { report } = await publish(deps, { ...published, embedding: corpus.embedding }, progress)
  progress.end()

  await amend(file)
  const before = endpoint.passages().length
  const [began, cpuBefore] = [performance.now(), cpuTimes()]
  const { id } = await sourceNamed(operator.database, source.name, base.id)
  await withQueues(redisUrl, async (open) => void (await open('capture').add('capture', { id })))
  const buildId = await scheduledBuild(operator.database)
  const imported = performance.now()
  const stages = createStageClock()
  const built = await waitForBuild(operator.database, buildId, WAIT_SECONDS, stages)
  const [ended, cpuAfter] = [performance.now(), cpuTimes()]
  const sent = await textsSince(endpoint, before, store.artifactFolder(built.version_id ?? ''))
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
  const used = cpuBetween(cpuBefore, cpuAfter)
  const cpu = (part: CpuPart): string => seconds(used?.[part] ?? 0)
  steps.print(
    [
      `One changed record of ${report.passages} passages, embedding ${corpus.embedding}: an evaluated candidate after ` +
        `${seconds(ended - began)} (passed: ${built.passed}).`,
      `Capture and import ${seconds(imported - began)}; ${stages.sentence()}.`,
      `CPU: job worker with its capture and build ${cpu('jobs')}, search node ${cpu('search node')}, others on the ` +
        `machine ${cpu('others')}.`,
      ...(corpus.embedding === 'local' ? [] : [`Texts sent to the endpoint: ${sent}.`]),
    ].join('\n'),
  )
}

async function startStack(work: string, endpoint: EmbeddingEndpoint, steps: Steps): Promise<PublishDeps> {
  const postgres = await steps.run('Postgres', () => startPostgres({ folder: join(work, 'postgres'), onLog: () => {} }))
  steps.onStop(() => postgres.stop())
  const redis = await steps.run('Redis', () => startRedis({ folder: join(work, 'redis') }))
  steps.onStop(() => redis.stop())
  const logins = await createSchema(postgres, 'evidence')
  const settings: StackSettings = {
    folder: work,
    gatewayDatabaseUrl: logins.gatewayUrl,
    jobsDatabaseUrl: logins.jobsUrl,
    redisUrl: redis.url,
    keyEnvironment: 'live',
    secrets: testSecrets(),
    environment: {
      OPENAI_BASE_URL: endpoint.baseUrl,
      OPENAI_API_KEY: 'bench',
      OPENAI_MODEL: 'bench-words',
      SOURCE_ROOTS: work,
    },
  }
  const searchNode = await steps.run('search node', () => startSearchNode(settings))
  steps.watch(searchNode)
  steps.watch(await steps.run('job worker', () => startJobs(settings, [searchNode.address])))
  const database = openDatabase(logins.operatorUrl, createLog('bench', 'silent'), 2, 60_000)
  steps.onStop(() => database.end())
  return {
    operator: { database, actor: 'bench' },
    store: storeOf(settings),
    redisUrl: redis.url,
    reviewerKeyFile: join(work, 'reviewer.pem'),
  }
}

/** Waits for the build that a scheduled capture asks for. @returns its id. */
async function scheduledBuild(database: Database): Promise<string> {
  for (;;) {
    const { rows } = await database.query<{ id: string }>('select id from builds where started_by = $1', [SCHEDULED])
    if (rows[0] !== undefined) return rows[0].id
    await wait(LOOK_EVERY_MS)
  }
}

async function amend(file: string): Promise<void> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
  const at = Math.floor(lines.length / 2)
  const record = JSON.parse(lines[at] ?? '') as { text: string }
  lines[at] = JSON.stringify({ ...record, text: `${record.text}${ADDED}` })
  await writeFile(file, `${lines.join('\n')}\n`)
}

/** How many texts were sent since, and how many of them are passages of the version. The others are questions. */
async function textsSince(endpoint: EmbeddingEndpoint, before: number, folder: string): Promise<string> {
  const passages = new Set<string>()
  for await (const { heading, text } of passagesIn(join(folder, 'passages.jsonl'))) passages.add(`${heading}\n${text}`)
  const sent = endpoint.passages().slice(before)
  const embedded = sent.filter((text) => passages.has(text))
  const changed = embedded.filter((text) => text.endsWith(ADDED.trim()))
  return `${sent.length}, of which passages: ${embedded.length}, of which with the change: ${changed.length}`
}

/** Takes the time of each stage from the progress that is shown while the build is waited for. */
function createStageClock(): Parameters<typeof waitForBuild>[3] & { sentence(): string } {
  const began: [stage: string, atMs: number][] = []
  return {
    update: (stage) => {
      if (began.at(-1)?.[0] !== stage) began.push([stage, performance.now()])
    },
    end: () => undefined,
    sentence: () => {
      const ended = performance.now()
      return began
        .map(([stage, at], index) => `${stage} ${(((began[index + 1]?.[1] ?? ended) - at) / 1_000).toFixed(1)} s`)
        .join(', ')
    },
  }
}
