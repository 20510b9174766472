import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '#core/db/pool.ts'
import type { SignedStore } from '#core/index/format/store.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import { captureSource } from '#jobs/capture/pipeline.ts'
import { SCHEDULED } from '#jobs/capture/run-child.ts'
import { enqueueBuild } from '#jobs/platform/queues.ts'
import { cloneLocation } from '#law/sources/git/clone.ts'
import { inspectClone } from '#law/sources/git/inspect.ts'
import { SOURCE_YAML } from '#law/sources/list.ts'
import { createProgress } from '#operator/command-line/progress.ts'
import { startJobs, startSearchNode, storeOf } from '#operator/demo/local/stack.ts'
import { publish } from '#operator/demo/publish.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { startBuild } from '#operator/actions/builds.ts'
import { importCorpus } from '#operator/actions/import-corpus.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { addSource, sourceNamed } from '#operator/actions/sources.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { waitForBuild } from '#operator/command-line/wait.ts'
import { startEmbeddingEndpoint, vectorsByWords, type EmbeddingEndpoint } from '#test/support/embedding-endpoint.ts'
import { startOwnServers } from '#test/support/own-servers.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { cpuBetween, cpuTimes } from '../cpu.ts'
import { makeClone, pullReforms, STATED } from './clone.ts'

/** A corpus whose publisher changes some of it. */
export type ChangedCorpus =
  | { readonly file: string; readonly mapping: string; readonly embedding: 'none' | 'openai' }
  /** A made clone of so many acts. */
  | { readonly acts: number; readonly embedding: 'none' }

const WAIT_SECONDS = 3_600
const LOOK_EVERY_MS = 50
const REFORMS = 50
/** The record in the middle of the file gets a word more. */
const ADDED = ' Amended.'

/**
 * Publishes a corpus, changes one record of it or pulls fifty reforms, gives the job worker the capture of its schedule, and shows how long it
 * takes until the candidate is evaluated and compared. The endpoint of `openai` is one of this process.
 * @param work folder that is removed afterwards.
 */
export async function benchChanged(corpus: ChangedCorpus, work: string, steps: Steps): Promise<void> {
  const { embedding } = corpus
  const endpoint = await startEmbeddingEndpoint(vectorsByWords())
  steps.onStop(() => endpoint.stop())
  const environment = { OPENAI_BASE_URL: endpoint.baseUrl, OPENAI_API_KEY: 'bench', SOURCE_ROOTS: work }
  const servers = await startOwnServers({ name: 'bench', folder: work, secrets: testSecrets(), environment }, steps)
  const { settings, operator } = servers
  const searchNode = await steps.run('search node', () => startSearchNode(settings))
  steps.watch(searchNode)
  steps.watch(await steps.run('job worker', () => startJobs(settings, [searchNode.address])))
  const { redisUrl } = settings
  const store = storeOf(settings)
  const base = await createKnowledgeBase(operator, { slug: 'changed', title: 'Changed' })
  const { source, what, change, ...from } = await prepared(corpus, work, steps)
  await addSource(operator, { name: 'source', knowledgeBase: 'changed', ...from })
  const published = {
    knowledgeBase: 'changed',
    source,
    mappingFile: from.mapping,
    questionsFile: undefined,
    embedding,
    endpoint: embedding === 'openai' ? { model: 'bench-words' } : undefined,
  }
  const progress = createProgress(process.stderr)
  const deps = { operator, store, redisUrl, reviewerKeyFile: join(work, 'reviewer.pem') }
  const publishing = performance.now()
  const { report } = await publish(deps, published, progress)
  progress.end()
  steps.print(`Imported, built and activated: ${((performance.now() - publishing) / 1_000).toFixed(0)} s.`)

  if (from.git !== undefined) steps.print(await ratioToFiles(operator, store, source, join(work, 'files')))
  await change()
  const before = endpoint.passages().length
  const [began, cpuBefore] = [performance.now(), cpuTimes()]
  const captured = await sourceNamed(operator.database, 'source', base.id)
  const buildId = await withQueues(redisUrl, async (open) => {
    if (from.git === undefined) {
      await open('capture').add('capture', { id: captured.id })
      return await scheduledBuild(operator.database)
    }
    // A clone has no schedule.
    const { import_id: id } = await captureSource({ ...operator, store, roots: 'own rights' }, captured)
    const build = { import: id ?? '', questions: undefined, embedding, store }
    return (await startBuild(operator, build, (queued) => enqueueBuild(open('build'), queued))).id
  })
  const imported = performance.now()
  const stages = createStageClock()
  const built = await waitForBuild(operator.database, buildId, WAIT_SECONDS, stages)
  const ended = performance.now()
  const { jobs, 'search node': node, others } = cpuBetween(cpuBefore, cpuTimes())
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`
  steps.print(
    [
      `${what} of ${report.passages} passages, embedding ${embedding}: an evaluated candidate after ` +
        `${seconds(ended - began)} (passed: ${built.passed}).`,
      `Capture and import ${seconds(imported - began)}; ${stages.sentence()}.`,
      `CPU: job worker with its capture and build ${seconds(jobs)}, search node ${seconds(node)}, others on the ` +
        `machine ${seconds(others)}.`,
      ...(embedding === 'none'
        ? []
        : [await textsSince(endpoint, before, store.artifactFolder(built.version_id ?? ''))]),
    ].join('\n'),
  )
}

/** Makes the source. @returns where it is, how it is added, and what its publisher changes afterwards. */
async function prepared(corpus: ChangedCorpus, work: string, steps: Steps) {
  if ('acts' in corpus) {
    const path = await steps.run('clone', () => makeClone(dirname(work), join(work, 'clone'), corpus.acts))
    steps.print(await inspected(path))
    const change = (): Promise<void> => pullReforms(path, REFORMS)
    return {
      source: cloneLocation({ path }),
      what: `${REFORMS} reforms`,
      change,
      from: undefined,
      git: path,
      mapping: undefined,
    }
  }
  const file = join(work, basename(corpus.file))
  await copyFile(corpus.file, file)
  const change = (): Promise<void> => amend(file)
  return { source: file, what: 'One changed record', change, from: file, git: undefined, mapping: corpus.mapping }
}

/** Imports the clone again, and the same texts as files without git. */
async function ratioToFiles(operator: Operator, store: SignedStore, source: string, folder: string): Promise<string> {
  const { rows } = await operator.database.query<{ name: string; sha256: string }>(
    "select source_name as name, encode(sha256, 'hex') as sha256 from source_snapshots where source_name like '%.md?%'",
  )
  for (const { name, sha256 } of rows) {
    await mkdir(join(folder, dirname(name)), { recursive: true })
    // The name states the days.
    await copyFile(store.snapshotFile(sha256), join(folder, `${name}&.md`))
  }
  await writeFile(join(folder, SOURCE_YAML), STATED)
  const timed: number[] = []
  for (const [slug, from] of [
    ['again', source],
    ['files', folder],
  ] as const) {
    await createKnowledgeBase(operator, { slug, title: slug })
    const began = performance.now()
    await importCorpus(operator, { knowledgeBase: slug, source: from, store })
    timed.push((performance.now() - began) / 1_000)
  }
  const [git = 0, files = 0] = timed
  return `Import from git ${git.toFixed(1)} s, of the same texts as files ${files.toFixed(1)} s: ${(git / files).toFixed(2)}.`
}

async function inspected(path: string): Promise<string> {
  const began = performance.now()
  const { commits, groups } = await inspectClone({ path }, () => undefined)
  const revisions = groups.reduce((sum, group) => sum + group.revisions, 0)
  return `Inspected ${commits} commits, ${revisions} revisions: ${((performance.now() - began) / 1_000).toFixed(1)} s.`
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
  const counts = `${sent.length}, of which passages: ${embedded.length}, of which with the change: ${changed.length}`
  return `Texts sent to the endpoint: ${counts}.`
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
      const lasted = began.map(([stage, at], index) => [stage, (began[index + 1]?.[1] ?? ended) - at] as const)
      return lasted.map(([stage, ms]) => `${stage} ${(ms / 1_000).toFixed(1)} s`).join(', ')
    },
  }
}
