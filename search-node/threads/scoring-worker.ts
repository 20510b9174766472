import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { BOUNDS } from '#core/platform/bounds.ts'
import { searchNodeService } from '#core/rpc/search-client.ts'
import type { SearchReply } from '#core/rpc/search-client.ts'
import { openMapping } from '#core/index/format/reader.ts'
import type { ArtifactRef, Mapping } from '#core/index/format/reader.ts'
import { search as runSearch } from '#search-node/search/pipeline.ts'
import type { SearchInput } from '#search-node/search/pipeline.ts'

/** What runs on a scoring thread: one task at a time, each under the name of its function. */

export interface SearchTask {
  readonly artifact: ArtifactRef
  readonly input: SearchInput
}

const mappings = new Map<string, Mapping>()

/** Maps an artifact on this thread and searches it once, so that the first caller finds everything warm; idempotent. */
export function open(artifact: ArtifactRef): void {
  const mapping = mappingOf(artifact)
  encodeReply(runSearch(mapping, searchForFirstRow(mapping)))
}

/** @returns the reply as the wire carries it, so that the event loop only passes bytes on. */
export function search({ artifact, input }: SearchTask): Uint8Array {
  return encodeReply(runSearch(mappingOf(artifact), input))
}

/** Lets an artifact go; idempotent. The caller knows that no search of it is queued or running. */
export async function close(artifact: ArtifactRef): Promise<void> {
  mappings.get(artifact.projectionId)?.close()
  mappings.delete(artifact.projectionId)
  await collectGarbage()
}

function searchForFirstRow({ vectors, dimensions, facets: { facets }, passage }: Mapping): SearchInput {
  const vector = new Float32Array(vectors.read(Uint32Array.of(0)), 0, dimensions).slice()
  const filters = {
    languages: facets.languages,
    jurisdictions: facets.jurisdictions,
    subjects: [],
    any_subject: true,
    verification_statuses: facets.statuses,
    in_force_on: '',
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
      expansion: BOUNDS.searchExpansionDefault,
      fusion: 'weighted',
      dense_weight: 0.5,
      rrf_k: 60,
      per_document_max: 0,
      collapse_revisions_on: '',
    },
    withoutText: false,
    onlyRows: undefined,
  }
}

/** A thread that piscina had to replace has nothing open yet: it opens what it is asked to search. */
function mappingOf(artifact: ArtifactRef): Mapping {
  const known = mappings.get(artifact.projectionId)
  if (known !== undefined) return known
  const opened = openMapping(artifact)
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

function encodeReply(reply: SearchReply): Uint8Array {
  const method = searchNodeService['Search']
  if (method === undefined) throw new Error('the proto names no method Search')
  // A copy, because the encoder's buffer lies in a larger one, all of which would be sent to the event loop.
  return new Uint8Array(method.responseSerialize(reply))
}
