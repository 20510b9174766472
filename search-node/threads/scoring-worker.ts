import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BOUNDS } from '#core/platform/bounds.ts'
import { openIndex } from '#core/index/format/reader.ts'
import type { ArtifactRef, IndexReader } from '#core/index/format/reader.ts'
import { NodeError } from '#search-node/node-error.ts'
import type { NodeErrorCode } from '#search-node/node-error.ts'
import { createIndexVersion } from '#search-node/search/index-version.ts'
import type { SearchableVersion } from '#search-node/search/index-version.ts'
import { search as runSearch } from '#search-node/search/pipeline.ts'
import type { SearchInput } from '#search-node/search/query.ts'
import { encodeSearchReply } from '#search-node/wire.ts'

/** The tasks of a scoring thread, which runs one at a time; a task is selected by the name of its function. */

export interface SearchTask {
  readonly artifact: ArtifactRef
  readonly input: SearchInput
  /** Milliseconds since the epoch; Infinity for none. */
  readonly deadlineMs: number
}

/** An error loses its class between threads, so a refusal is returned as a value. */
export type SearchOutcome = Uint8Array | { readonly code: NodeErrorCode; readonly message: string }

interface OpenVersion extends SearchableVersion {
  readonly index: IndexReader
}

const versions = new Map<string, OpenVersion>()
/**
 * A thread that computes receives no abort: the pool drops a search that was given up, and the deadline ends the rest.
 */
const NEVER_ABORTED = new AbortController().signal

/** Maps an artifact on this thread and runs one warm-up search; idempotent. */
export async function open(artifact: ArtifactRef): Promise<void> {
  const version = versionOf(artifact)
  encodeSearchReply(
    await runSearch(version, searchForFirstRow(version.index), { deadlineMs: Infinity, signal: NEVER_ABORTED }),
  )
}

/** @returns the encoded reply, so that the event loop only forwards bytes; or the refusal. */
export async function search({ artifact, input, deadlineMs }: SearchTask): Promise<SearchOutcome> {
  try {
    const limits = { deadlineMs, signal: NEVER_ABORTED }
    return encodeSearchReply(await runSearch(versionOf(artifact), input, limits))
  } catch (error) {
    if (error instanceof NodeError) return { code: error.code, message: error.message }
    throw error
  }
}

/** Closes an artifact; idempotent. The caller ensures that no search of it is queued or running. */
export async function close(artifact: ArtifactRef): Promise<void> {
  const version = versions.get(artifact.projectionId)
  versions.delete(artifact.projectionId)
  version?.index.close()
  await collectGarbage()
}

function searchForFirstRow({ vectors, dimensions, facets: { facets }, passage }: IndexReader): SearchInput {
  const vector = new Float32Array(vectors.read(Uint32Array.of(0)), 0, dimensions).slice()
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
    vector,
    text: `${heading} ${text}`.slice(0, BOUNDS.queryCharactersMax).toWellFormed(),
    limit: 1,
    filters,
    entitled: filters,
    ranking: {
      expansionMin: BOUNDS.expansionMinDefault,
      fusion: 'weighted',
      denseWeight: 0.5,
      rrfK: 60,
      perDocumentMax: 0,
      collapseRevisionsOn: '',
    },
    withoutText: false,
    onlyRows: undefined,
  }
}

/** Opens the artifact if it is not open: a thread that piscina replaced has nothing open. */
function versionOf(artifact: ArtifactRef): OpenVersion {
  const known = versions.get(artifact.projectionId)
  if (known !== undefined) return known
  const index = openIndex(artifact)
  const opened = { index, ...createIndexVersion(index) }
  versions.set(artifact.projectionId, opened)
  return opened
}

/**
 * Forces a garbage collection. usearch unmaps its file only when its object is collected, and V8 does not collect a
 * small object soon, however large its mapping.
 */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  await nextTurn()
  runInNewContext('gc()')
  await nextTurn()
}
