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
import type { SearchInput } from '#search-node/search/pipeline.ts'
import { encodeSearchReply } from '#search-node/wire.ts'

/** What runs on a scoring thread: one task at a time, each under the name of its function. */

export interface SearchTask {
  readonly artifact: ArtifactRef
  readonly input: SearchInput
  /** Milliseconds since the epoch; Infinity for none. */
  readonly deadlineMs: number
}

/** The class of an error is lost between threads, so a refusal is a value. */
export type SearchOutcome = Uint8Array | { readonly code: NodeErrorCode; readonly message: string }

interface OpenVersion extends SearchableVersion {
  readonly index: IndexReader
}

const versions = new Map<string, OpenVersion>()
/** A thread that computes receives no abort: the pool drops a search that was given up, and the deadline ends the rest. */
const NEVER_ABORTED = new AbortController().signal

/** Maps an artifact on this thread and searches it once, so that the first caller finds everything warm; idempotent. */
export async function open(artifact: ArtifactRef): Promise<void> {
  const version = versionOf(artifact)
  encodeSearchReply(
    await runSearch(version, searchForFirstRow(version.index), { deadlineMs: Infinity, signal: NEVER_ABORTED }),
  )
}

/** @returns the reply as the wire carries it, so that the event loop only passes bytes on; or why there is none. */
export async function search({ artifact, input, deadlineMs }: SearchTask): Promise<SearchOutcome> {
  try {
    const limits = { deadlineMs, signal: NEVER_ABORTED }
    return encodeSearchReply(await runSearch(versionOf(artifact), input, limits))
  } catch (error) {
    if (error instanceof NodeError) return { code: error.code, message: error.message }
    throw error
  }
}

/** Lets an artifact go; idempotent. The caller knows that no search of it is queued or running. */
export async function close(artifact: ArtifactRef): Promise<void> {
  versions.get(artifact.projectionId)?.index.close()
  versions.delete(artifact.projectionId)
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
      rowsScoredMin: BOUNDS.rowsScoredMinDefault,
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

/** A thread that piscina had to replace has nothing open yet: it opens what it is asked to search. */
function versionOf(artifact: ArtifactRef): OpenVersion {
  const known = versions.get(artifact.projectionId)
  if (known !== undefined) return known
  const index = openIndex(artifact)
  const opened = { index, ...createIndexVersion(index) }
  versions.set(artifact.projectionId, opened)
  return opened
}

/**
 * usearch unmaps its file when its object is collected, and V8 sees no reason to collect a small object that holds a
 * large mapping.
 */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  await nextTurn()
  runInNewContext('gc()')
  await nextTurn()
}
