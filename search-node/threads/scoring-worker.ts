import { workerData } from 'node:worker_threads'
import { openEngineClient } from '#core/engine/client.ts'
import type { EngineSettings } from '#core/engine/settings.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { forgetNgrams } from '#core/index/analysis/ngrams.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { openIndex, type ArtifactRef, type IndexReader } from '#core/index/format/reader.ts'
import { graphSearches } from '#core/index/vectors/graph.ts'
import type { SharedParts } from '#core/index/storage/resident-parts.ts'
import { errorOf, NodeError, type NodeErrorCode } from '#search-node/node-error.ts'
import { createIndexVersion, createSearchShared } from '#search-node/search/index-version.ts'
import { search as runSearch } from '#search-node/search/pipeline.ts'
import type { SearchInput } from '#search-node/search/interfaces.ts'
import { encodeSearchReply } from '#search-node/wire.ts'
import { collectGarbage } from './collect-garbage.ts'

/** The tasks of a scoring thread, which runs one at a time; a task is selected by the name of its function. */

export interface SearchTask {
  readonly versionId: string
  readonly input: SearchInput
  /** Milliseconds since the epoch; Infinity for none. */
  readonly deadlineMs: number
}

export interface OpenTask {
  readonly artifact: ArtifactRef
  /** Parts of the artifact that another thread has read. */
  readonly shared: SharedParts | undefined
}

/** What a thread gets when it starts. */
export interface ScoringThreadData {
  /** SQ4 vectors of so many MiB are kept in memory. */
  readonly sq4Mb: number
  /** The cluster of versions that have an engine. */
  readonly engine: EngineSettings
  /** The versions that are open on other threads. */
  readonly versions: Map<string, OpenTask>
  /** See `graphSearches`. */
  readonly graphSearches: BigInt64Array
}

/** The encoded reply, or why there is none. An error loses its class between threads, so a refusal is a plain object. */
export type SearchOutcome = Uint8Array | { readonly code: NodeErrorCode; readonly message: string } | Error

type OpenVersion = Awaited<ReturnType<typeof openVersion>>

// The pool gives it, and checks its type.
const { sq4Mb, engine: engineSettings, versions: openElsewhere, graphSearches: count } = workerData as ScoringThreadData
Object.assign(graphSearches, { count })
const versions = new Map<string, OpenVersion>()
/**
 * A thread that computes receives no abort: the pool drops a search that was given up in its queue, and the deadline
 * ends the rest.
 */
const NEVER_ABORTED = new AbortController().signal

/**
 * Maps an artifact on this thread and runs one warm-up search; idempotent.
 * @returns what other threads need not read again.
 */
export async function open(task: OpenTask): Promise<SharedParts> {
  const version = versions.get(task.artifact.versionId) ?? (await openVersion(task))
  await warmUp(version)
  await collectGarbage()
  return version.index.shared
}

/** A cluster that does not answer in time fails searches, and no load: it has not read its files yet. */
async function warmUp({ index, searchShared }: OpenVersion): Promise<void> {
  const deadline = { deadlineMs: Infinity, signal: NEVER_ABORTED }
  try {
    encodeSearchReply(await runSearch(createIndexVersion(index, searchShared), searchForFirstRow(index), deadline))
  } catch (error) {
    if (!(error instanceof NodeError && error.code === 'UNAVAILABLE')) throw error
  }
}

const LATE = 'The deadline passed before a scoring thread was free; send fewer searches at once or add search nodes.'

/** @returns the encoded reply, so that the event loop only forwards bytes; or why it failed. */
export async function search({ versionId, input, deadlineMs }: SearchTask): Promise<SearchOutcome> {
  try {
    if (Date.now() >= deadlineMs) return { code: 'DEADLINE_EXCEEDED', message: LATE }
    const { index, searchShared } = versions.get(versionId) ?? (await openVersion(openElsewhere.get(versionId)))
    const deadline = { deadlineMs, signal: NEVER_ABORTED }
    return encodeSearchReply(await runSearch(createIndexVersion(index, searchShared), input, deadline))
  } catch (error) {
    if (error instanceof NodeError) return { code: error.code, message: error.message }
    if (error instanceof ArtifactError) return { code: 'DATA_LOSS', message: error.message }
    return errorOf(error)
  } finally {
    // A thread waits for its next task within this one, and V8 keeps the last text that a regular expression matched.
    ;/./.test('-')
    forgetNgrams()
    Object.assign(input, { text: '', rewritten: undefined, vector: undefined })
  }
}

/** Closes an artifact; idempotent. The caller ensures that no search of it is queued or running. */
export async function close({ versionId }: Pick<SearchTask, 'versionId'>): Promise<void> {
  forget(versionId)
  await collectGarbage()
}

/** A function of its own, because a variable of `close` would keep the version from being collected. */
function forget(versionId: string): void {
  const version = versions.get(versionId)
  versions.delete(versionId)
  openElsewhere.delete(versionId)
  version?.index.close()
  void version?.searchShared.engine?.client.close()
}

function searchForFirstRow({ vectors, facets: { facets }, passage }: IndexReader): SearchInput {
  const filters = {
    languages: facets.languages,
    jurisdictions: facets.jurisdictions,
    subjects: [],
    anySubject: true,
    verificationStatuses: facets.statuses,
    inForceOn: '',
    documents: [],
  }
  const { heading, text } = passage(0)
  return {
    vector: vectors?.exact.read(0),
    text: `${heading} ${text}`.slice(0, SEARCH_BOUNDS.queryCharactersMax).toWellFormed(),
    limit: 1,
    filters,
    entitled: filters,
    ranking: {
      rowsScoredMin: SEARCH_BOUNDS.rowsScoredMinDefault,
      denseWeight: 0.5,
      perDocumentMax: 0,
      collapseRevisionsOn: '',
    },
    rowsOnly: false,
    onlyRows: undefined,
  }
}

async function openVersion(task: OpenTask | undefined) {
  if (task === undefined) throw new Error('no thread has opened the version')
  const { artifact, shared } = task
  const { engine } = artifact
  const opened = engine && { engine, client: await openEngineClient(engineSettings) }
  const index = openIndex(artifact, shared, sq4Mb)
  const version = { index, searchShared: createSearchShared(index, opened) }
  versions.set(artifact.versionId, version)
  return version
}
