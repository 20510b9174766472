import { randomUUID } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { readImport } from '#core/db/imports.ts'
import { openDatabase } from '#core/db/pool.ts'
import type { LoginUrls } from '#core/db/provision.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { createSignedStore } from '#core/index/format/store.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { createLog } from '#core/platform/log.ts'
import { utcDay } from '#core/platform/time.ts'
import type { BuiltArtifact } from '#jobs/version-build/artifact.ts'
import type { BuildContext } from '#jobs/version-build/context.ts'
import { buildParametersSchema, defaultProfile } from '#jobs/version-build/parameters.ts'
import { buildVersion } from '#jobs/version-build/pipeline.ts'
import type { Corpus } from '#jobs/version-build/sort.ts'
import { namedChangeSchema, type NamedChange } from '#jobs/evaluation/compare/changes-file.ts'
import { compareWithActive, type Compared } from '#jobs/evaluation/compare/pipeline.ts'
import { servedOf } from '#jobs/evaluation/ask.ts'
import { EVALUATION_DEPTH, evaluate, type Evaluation } from '#jobs/evaluation/pipeline.ts'
import { withSourceIds } from '#jobs/evaluation/source-ids.ts'
import type { ImportReport } from '#law/import/report/report.ts'
import { importCorpus } from '#operator/actions/import-corpus.ts'
import type { Imported } from '#jobs/capture/import-captured.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { startAttackedNode, type AttackedNode } from './attacked-node.ts'
import { openInProcessNode } from './in-process-node.ts'
import type { Sources } from './sources.ts'

/** A version that was built and evaluated, and the import that it comes from. */
export interface BuiltLaw {
  readonly sources: Sources
  readonly report: ImportReport
  readonly artifact: BuiltArtifact
  readonly corpus: Corpus
  readonly evaluation: Evaluation
  readonly profile: ProfileParameters
  readonly questionSet: string | undefined
}

/** What a refusal says, and which step refuses. */
export interface Refused {
  readonly refused: 'import' | 'build' | 'comparison'
  readonly message: string
}

export interface ComparedLaw {
  readonly compared: Compared
  /** Every line of the changes file. */
  readonly named: readonly NamedChange[]
}

/** One database, one store and one search, in which versions are built and compared as a job worker does. */
export type Laboratory = Awaited<ReturnType<typeof openLaboratory>>

const quiet = createLog('test', 'silent')
const SLUG = 'law'
const NO_PROGRESS: BuildContext['progress'] = {
  begin: () => Promise.resolve(),
  at: () => undefined,
  embedded: () => Promise.resolve(),
}

export async function openLaboratory(urls: LoginUrls) {
  const root = mkdtempSync(join(tmpdir(), 'evidence-law-'))
  const keys = signingKeys()
  const storeUrl = pathToFileURL(join(root, 'store')).href
  const store = createSignedStore({ ARTIFACT_STORE: storeUrl, MANIFEST_PUBLIC_KEY: [keys.publicKeyDer] })
  const database = openDatabase(urls.operatorUrl, quiet, 2)
  const jobs = openDatabase(urls.jobsUrl, quiet, 2)
  const operator = { database, actor: 'editor' }
  const { id: knowledgeBaseId } = await createKnowledgeBase(operator, { slug: SLUG, title: 'Law' })
  const node = openInProcessNode(store, keys.publicKeyDer)
  let attacked: Promise<AttackedNode> | undefined
  const bench = { root, store, keys, jobs, operator, node, knowledgeBaseId }
  return {
    operator,
    jobs,
    store,
    node,
    keys,
    build: (sources: Sources, acceptLoss: readonly string[] = []): Promise<BuiltLaw | Refused> =>
      refusedAt(() => build(bench, sources, acceptLoss)),
    compare: (active: BuiltLaw, candidate: BuiltLaw): Promise<ComparedLaw | Refused> =>
      orRefused('comparison', () => compare(bench, active, candidate)),
    discard({ artifact }: BuiltLaw): void {
      node.release(artifact.versionId)
      rmSync(artifact.folder, { recursive: true, force: true })
      rmSync(store.changesFile(artifact.versionId), { force: true })
    },
    /** A search node on a store of its own, in which bytes are altered; started when it is first asked for. */
    attackedNode: () => (attacked ??= startAttackedNode(join(root, 'attacked'), keys.publicKeyDer)),
    async close() {
      node.close()
      await (await attacked)?.stop()
      await database.end()
      await jobs.end()
      rmSync(root, { recursive: true, force: true })
    },
  }
}

export function isRefused(outcome: object): outcome is Refused {
  return 'refused' in outcome
}

type Bench = Pick<Laboratory, 'operator' | 'jobs' | 'store' | 'node' | 'keys'> & {
  readonly root: string
  readonly knowledgeBaseId: string
}

async function refusedAt(work: () => Promise<BuiltLaw | Refused>): Promise<BuiltLaw | Refused> {
  return await orRefused('build', work)
}

/** A refusal is an outcome; whatever else is thrown is a fault of the service. */
async function orRefused<T>(step: Refused['refused'], work: () => Promise<T>): Promise<T | Refused> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof OperatorError || error instanceof ArtifactError)
      return { refused: step, message: error.message }
    throw error
  }
}

async function build(bench: Bench, sources: Sources, acceptLoss: readonly string[]): Promise<BuiltLaw | Refused> {
  const work = mkdtempSync(join(bench.root, 'case-'))
  using ending = new DisposableStack()
  ending.defer(() => rmSync(work, { recursive: true, force: true }))
  const imported = await orRefused('import', () => importSources(bench, sources, work, acceptLoss))
  if (isRefused(imported)) return imported
  const context = await buildContext(bench, imported, join(work, 'build'))
  const { corpus, artifact } = await buildVersion(context, undefined)
  const questionSet = sources.questions && storeQuestions(bench, sources.questions)
  const profile = defaultProfile(context.parameters)
  try {
    const evaluation = await evaluateVersion(bench, { corpus, artifact, profile, questionSet })
    return { sources, report: imported.report, artifact, corpus, evaluation, profile: evaluation.profile, questionSet }
  } catch (error) {
    rmSync(artifact.folder, { recursive: true, force: true })
    bench.node.release(artifact.versionId)
    throw error
  }
}

async function importSources(
  { operator, store }: Bench,
  { files, mapping, format }: Sources,
  work: string,
  acceptLoss: readonly string[],
): Promise<Imported> {
  const folder = join(work, 'sources')
  mkdirSync(folder)
  for (const [name, text] of files) writeFileSync(join(folder, name), text)
  const mappingFile = join(work, 'mapping.json')
  if (mapping !== undefined) writeFileSync(mappingFile, JSON.stringify(mapping))
  const [only] = files.keys()
  return await importCorpus(operator, {
    knowledgeBase: SLUG,
    source: format === 'jsonl' && files.size === 1 ? join(folder, only ?? '') : folder,
    mapping: mapping === undefined ? undefined : mappingFile,
    acceptLoss,
    store,
  })
}

async function buildContext(
  { jobs, store, keys, knowledgeBaseId }: Bench,
  { id }: Imported,
  workFolder: string,
): Promise<BuildContext> {
  return {
    fence: { buildId: randomUUID(), attempt: 1 },
    knowledgeBaseId,
    knowledgeBase: 'laboratory',
    parameters: buildParametersSchema.parse({ embedding: 'none' }),
    source: await readImport(jobs, id),
    store,
    workFolder,
    privateKeyDer: keys.privateKeyDer,
    publicKeysDer: [keys.publicKeyDer],
    vectors: { concurrency: 1, batchTexts: 1, cache: undefined },
    progress: NO_PROGRESS,
    warn: () => undefined,
    signal: new AbortController().signal,
  }
}

/** @returns its SHA-256 (hex). */
function storeQuestions({ store }: Bench, questions: readonly object[]): string {
  const text = questions.map((question) => JSON.stringify(question)).join('\n')
  const hash = sha256(text).toString('hex')
  const path = store.snapshotFile(hash)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
  return hash
}

const damaged = (error: ArtifactError): Error => error

async function evaluateVersion(
  { store, node }: Bench,
  { corpus, artifact, profile, questionSet }: Pick<BuiltLaw, 'corpus' | 'artifact' | 'profile' | 'questionSet'>,
): Promise<Evaluation> {
  const evaluation = {
    versionId: artifact.versionId,
    manifestDigest: artifact.manifestDigest,
    knowledgeBase: SLUG,
    artifact: { ...artifact.manifest, folder: artifact.folder },
    facets: corpus.facets,
    profile,
    targetRisk: 0.05,
    questionsSha256: questionSet,
    store,
    embedder: undefined,
    nodes: [node],
    day: utcDay(new Date()),
    signal: new AbortController().signal,
    onProgress: () => undefined,
  }
  return await withSourceIds({ ...evaluation.artifact, damaged }, (sourceIdOf, noteSourceIds) =>
    evaluate({ ...evaluation, sourceIdOf, noteSourceIds }),
  )
}

async function compare({ root, store, keys }: Bench, active: BuiltLaw, candidate: BuiltLaw): Promise<ComparedLaw> {
  const { artifact, corpus, evaluation, profile } = candidate
  const { versionId, manifestDigest } = artifact
  const { questionSet, questions, outcomes } = evaluation.measured
  const compared = await withSourceIds({ ...artifact.manifest, folder: artifact.folder, damaged }, (sourceIdOf) =>
    compareWithActive(
      {
        versionId,
        manifestDigest,
        facets: corpus.facets,
        profile,
        questionSet: questionSet ?? undefined,
        evaluated: { questions, outcomes: servedOf(outcomes) },
        limit: EVALUATION_DEPTH,
        context: { ...evaluation.context, sourceIdOf },
      },
      {
        readActive: () =>
          Promise.resolve({
            versionId: active.artifact.versionId,
            manifestDigest: active.artifact.manifestDigest,
            facets: active.corpus.facets,
            profile: active.profile,
            embedder: undefined,
            questionSet: active.questionSet ?? null,
          }),
        publicKeysDer: [keys.publicKeyDer],
        sortFile: join(root, `${randomUUID()}.sqlite`),
        changeLimits: {},
      },
      store,
    ),
  )
  if (compared === null) throw new Error('the candidate was not compared')
  const lines = readFileSync(store.changesFile(versionId), 'utf8').split('\n').slice(0, -1)
  return { compared, named: lines.map((line) => namedChangeSchema.parse(JSON.parse(line))) }
}
