import { generateKeyPairSync } from 'node:crypto'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createArtifactStore, type ArtifactStore } from '#core/index/format/store.ts'
import type { ImportRow } from '#core/db/imports.ts'
import { embeddingOf, type Embedder } from '#core/embedding/embedder.ts'
import type { EngineSettings } from '#core/engine/settings.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import { utcDay } from '#core/platform/time.ts'
import { embeddingInWords, overlongWarning } from '#core/domain/embedding-counts.ts'
import type { BuildContext } from '#jobs/version-build/context.ts'
import type { BuildStage } from '#jobs/version-build/progress.ts'
import { removeIndexesOf } from '#jobs/version-build/engine.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { buildParametersSchema } from '#jobs/version-build/parameters.ts'
import { buildVersion } from '#jobs/version-build/pipeline.ts'
import type { BuiltArtifact } from '#jobs/version-build/artifact.ts'
import { sortPassages } from '#jobs/version-build/sort.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import { captureSearchQuestions } from '#jobs/version-build/search-questions/file.ts'
import { VECTORS_OF_ONE_BUILD, type VectorSettings } from '#jobs/version-build/text-vectors.ts'
import type { ImportReport } from '#law/import/report/report.ts'
import { prepareOn } from '#jobs/platform/search-nodes.ts'
import { captureSources, snapshotsOf } from '#law/sources/capture.ts'
import { alteredCandidate } from '#jobs/evaluation/altered-candidate.ts'
import type { AskRecordsContext } from '#jobs/evaluation/ask.ts'
import { withSourceIds } from '#jobs/evaluation/source-ids.ts'
import type { ArtifactError } from '#core/index/artifact-error.ts'
import type { FlaggedRewriter } from './rewriter.ts'
import { startNodeProcess } from '#operator/processes/search-node-process.ts'

/** Ids are derived from names, so that the same corpus gives the same version on every machine. */
const KNOWLEDGE_BASE_ID = derivedUuid('knowledge base', 'evaluation')
const BUILD_ID = derivedUuid('build', 'evaluation')

export interface VersionInput {
  /** `corpus.jsonl`. */
  readonly corpus: string
  readonly mapping: object
  /** Undefined: a version without vectors. */
  readonly embedder: Embedder | undefined
  /** One that is told of the version; absent: the version has no description. */
  readonly rewriter?: Pick<FlaggedRewriter, 'pinned'> | undefined
  /** Path of a file of search questions; absent: a version without any. */
  readonly searchQuestions?: string | undefined
  /** Undefined: vectors are not kept. */
  readonly vectors?: VectorSettings
  /** The cluster of a version that is built for the engine `opensearch`; undefined: it is searched in its own files. */
  readonly engine?: EngineSettings | undefined
  /** Record ids that qrels name. */
  readonly relevant: ReadonlySet<string>
  readonly dataDir: string | undefined
  readonly signal: AbortSignal
  readonly onProgress: (stage: string, done: number, total: number, more?: string) => void
  readonly note?: (sentence: string) => void
}

/** A version that is built, loaded and asked like any other, and removed completely afterwards. */
export type TemporaryVersion = Built & {
  readonly store: ArtifactStore
  readonly asking: Omit<AskRecordsContext, 'profile' | 'onProgress'>
}

/** Builds the version, loads it on its own search node, passes it to `use`, and always removes everything. */
export async function withTemporaryVersion<T>(input: VersionInput, use: (version: TemporaryVersion) => Promise<T>) {
  const folder = await temporaryFolder(input.dataDir)
  try {
    const storeUrl = pathToFileURL(folder).href
    const keys = signingKeys()
    const store = createArtifactStore(storeUrl)
    const built = await build(input, store, keys)
    await using opened = new AsyncDisposableStack()
    const node = opened.adopt(
      await startNodeProcess({ ARTIFACT_STORE: storeUrl }, [keys.publicKeyDer], input.engine),
      (it) => it.stop(),
    )
    reportCorpus(built, input)
    await prepareOn(node.client, built.artifact, input.signal)
    const { manifest, folder: artifactFolder } = built.artifact
    const damaged = (error: ArtifactError): Error => alteredCandidate(built.artifact.versionId, error)
    const asking = {
      versionId: built.artifact.versionId,
      facets: built.corpus.facets,
      embedder: input.embedder,
      nodes: [node.client],
      day: utcDay(new Date()),
      signal: AbortSignal.any([input.signal, node.ended]),
    }
    return await withSourceIds({ ...manifest, folder: artifactFolder, damaged }, (sourceIdOf) =>
      use({ ...built, store, asking: { ...asking, sourceIdOf } }),
    )
  } finally {
    if (input.engine !== undefined) await removeIndexesOf(input.engine, versionIdOf(BUILD_ID))
    await rm(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

function reportCorpus({ report, missing }: Pick<Built, 'report' | 'missing'>, { note, relevant }: VersionInput): void {
  const [first] = report.entries
  const reasons = Object.entries(report.reasons).map(([reason, count]) => `${count} ${reason}`)
  if (first !== undefined)
    note?.(
      `records of corpus.jsonl skipped: ${report.skipped} (${reasons.slice(0, 5).join('; ')}; the ` +
        `first in line ${first.line})`,
    )
  if (report.split > 0) note?.(`records cut into several passages, each judged once at its best place: ${report.split}`)
  if (missing.length > 0)
    note?.(
      `relevant records that the corpus does not hold, counted as not found: ${missing.length} of ${relevant.size}`,
    )
}

async function temporaryFolder(dataDir: string | undefined): Promise<string> {
  const parent = dataDir ?? tmpdir()
  try {
    await mkdir(parent, { recursive: true })
    return await mkdtemp(join(await realpath(parent), 'evaluate-'))
  } catch (cause) {
    throw new OperatorError(
      `${parent} cannot hold the temporary files: name a folder that this account may write to with --data-dir.`,
      { cause },
    )
  }
}

function signingKeys() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    privateKeyDer: privateKey.export({ format: 'der', type: 'pkcs8' }),
    publicKeyDer: publicKey.export({ format: 'der', type: 'spki' }),
  }
}

type Built = Awaited<ReturnType<typeof build>>

async function build(input: VersionInput, store: ArtifactStore, keys: ReturnType<typeof signingKeys>) {
  const source = await snapshot(input, store)
  let stage: BuildStage = 'import'
  const context: BuildContext = {
    fence: { buildId: BUILD_ID, attempt: 1 },
    knowledgeBaseId: KNOWLEDGE_BASE_ID,
    knowledgeBase: basename(dirname(await realpath(input.corpus))),
    parameters: buildParametersSchema.parse({
      embedding: embeddingOf(input.embedder),
      rewriter: input.rewriter?.pinned,
      search_questions_sha256: input.searchQuestions && (await captureSearchQuestions(input.searchQuestions, store)),
      ...(input.engine === undefined ? {} : { engine: 'opensearch' }),
    }),
    source,
    store,
    workFolder: store.workFolder(BUILD_ID),
    privateKeyDer: keys.privateKeyDer,
    publicKeysDer: [keys.publicKeyDer],
    progress: {
      begin(next, total) {
        input.signal.throwIfAborted()
        stage = next
        input.onProgress(stage, 0, total)
        return Promise.resolve()
      },
      at: (done, total, embedding) =>
        input.onProgress(stage, done, total, embedding === undefined ? '' : embeddingInWords(embedding)),
      embedded(counts) {
        const warning = overlongWarning(counts)
        if (warning !== undefined) input.note?.(warning)
        return Promise.resolve()
      },
    },
    vectors: input.vectors ?? VECTORS_OF_ONE_BUILD,
    ...(input.engine === undefined ? {} : { engine: input.engine }),
    warn: (sentence) => input.note?.(sentence),
    signal: input.signal,
  }
  // The build goes on from what is sorted here, and says no more of the import.
  const { report } = await sortPassages({ ...context, accept: assertPassages })
  const { corpus, artifact } = await buildVersion(context, input.embedder)
  await rm(context.workFolder, { recursive: true, force: true })
  return {
    corpus,
    artifact,
    /** Of a build without further choices. */
    parameters: context.parameters,
    report,
    /** Judged records of which the version holds no passage, sorted. */
    missing: await missingOf(input, artifact),
  }
}

/** Captures the corpus's exact bytes in the store and returns the import as its row would hold it. */
async function snapshot({ corpus, mapping }: VersionInput, store: ArtifactStore): Promise<ImportRow> {
  const path = await realpath(corpus)
  const captured = await captureSources(store, [
    { root: dirname(path), path, sourceName: 'corpus.jsonl', mediaType: 'application/x-ndjson' },
  ])
  const snapshots = snapshotsOf(KNOWLEDGE_BASE_ID, captured)
  return { id: derivedUuid('import', 'evaluation'), knowledgeBaseId: KNOWLEDGE_BASE_ID, mapping, snapshots }
}

/** @throws OperatorError when the corpus holds no passage. */
function assertPassages({ passages, reasons }: ImportReport): void {
  if (passages > 0) return
  const [reason] = Object.keys(reasons)
  throw new OperatorError(
    'corpus.jsonl holds no record that can be asked ' +
      `for${reason === undefined ? '' : ` (${reason})`}: correct it and evaluate again.`,
  )
}

async function missingOf({ relevant }: VersionInput, { folder, manifest }: BuiltArtifact): Promise<readonly string[]> {
  const missing = new Set(relevant)
  for await (const { source_id: id } of verifiedPassagesIn(folder, manifest.files['passages.jsonl'])) missing.delete(id)
  return [...missing].sort()
}
