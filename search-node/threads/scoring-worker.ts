import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BOUNDS } from '#core/platform/bounds.ts'
import { openIndex } from '#core/index/format/reader.ts'
import type { ArtifactRef, IndexReader } from '#core/index/format/reader.ts'
import { search as runSearch } from '#search-node/search/pipeline.ts'
import type { SearchInput } from '#search-node/search/pipeline.ts'
import { encodeSearchReply } from '#search-node/wire.ts'

/** What runs on a scoring thread: one task at a time, each under the name of its function. */

export interface SearchTask {
  readonly artifact: ArtifactRef
  readonly input: SearchInput
}

const mappings = new Map<string, IndexReader>()

/** Maps an artifact on this thread and searches it once, so that the first caller finds everything warm; idempotent. */
export function open(artifact: ArtifactRef): void {
  const mapping = mappingOf(artifact)
  encodeSearchReply(runSearch(mapping, searchForFirstRow(mapping)))
}

/** @returns the reply as the wire carries it, so that the event loop only passes bytes on. */
export function search({ artifact, input }: SearchTask): Uint8Array {
  return encodeSearchReply(runSearch(mappingOf(artifact), input))
}

/** Lets an artifact go; idempotent. The caller knows that no search of it is queued or running. */
export async function close(artifact: ArtifactRef): Promise<void> {
  mappings.get(artifact.projectionId)?.close()
  mappings.delete(artifact.projectionId)
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
function mappingOf(artifact: ArtifactRef): IndexReader {
  const known = mappings.get(artifact.projectionId)
  if (known !== undefined) return known
  const opened = openIndex(artifact)
  mappings.set(artifact.projectionId, opened)
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
