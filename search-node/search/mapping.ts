import { closeSync, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { Index, MetricKind, ScalarKind } from 'usearch'
import { bitsetWords, facetsLayout, facetsSchema } from '#core/artifact/layout.ts'
import type { Facets } from '#core/artifact/layout.ts'
import type { PassageRecord } from '#core/artifact/passage.ts'
import { createAllowedCache } from './allowed.ts'
import type { AllowedCache } from './allowed.ts'
import { openRowFile } from './row-file.ts'
import type { RowFile } from './row-file.ts'

/** A verified artifact as the event loop names it to a thread. */
export interface ArtifactRef {
  readonly projectionId: string
  readonly folder: string
  readonly passages: number
  readonly dimensions: number
  readonly connectivity: number
}

/** The facets of all rows; see `core/artifact/layout.ts`. */
export interface FacetTable {
  readonly facets: Facets
  /** One bitset a value, in the order languages, jurisdictions, subjects, statuses. */
  readonly bitset: (value: number) => Uint32Array
  readonly inForceFrom: Int32Array
  readonly inForceTo: Int32Array
}

/** One thread's view of one artifact. */
export interface Mapping {
  readonly passages: number
  readonly dimensions: number
  readonly index: Index
  /** float32. */
  readonly vectors: RowFile
  /** int8. */
  readonly quantized: RowFile
  readonly facets: FacetTable
  readonly allowedCache: AllowedCache
  passage(row: number): PassageRecord
  close(): void
}

/** Below any expansion that a request may ask for: the number of neighbours asked for then sets how wide graph search looks. */
const VIEW_EXPANSION = 16

/** @throws Error if the opened index is not what the verified manifest says. */
export function openMapping(ref: ArtifactRef): Mapping {
  const { folder, passages, dimensions, connectivity } = ref
  const index = new Index({
    dimensions,
    metric: MetricKind.Cos,
    quantization: ScalarKind.BF16,
    connectivity,
    expansion_add: 0,
    expansion_search: VIEW_EXPANSION,
    multi: false,
  })
  index.view(join(folder, 'vectors.usearch'))
  if (index.dimensions() !== dimensions || index.size() !== passages || index.connectivity() !== connectivity)
    throw new Error('the opened index contradicts the manifest')
  const vectors = openRowFile(join(folder, 'vectors.f32'), dimensions * 4)
  const quantized = openRowFile(join(folder, 'vectors.i8'), dimensions)
  const lines = openPassages(folder)
  return {
    passages,
    dimensions,
    index,
    vectors,
    quantized,
    facets: readFacets(folder, passages),
    allowedCache: createAllowedCache(),
    passage: lines.passage,
    close() {
      vectors.close()
      quantized.close()
      lines.close()
    },
  }
}

function openPassages(folder: string): Pick<Mapping, 'passage' | 'close'> {
  const offsets = new Float64Array(ownBytes(join(folder, 'passages.offsets')))
  const file = openSync(join(folder, 'passages.jsonl'), 'r')
  return {
    passage(row) {
      const from = offsets[row] ?? 0
      const line = Buffer.allocUnsafe((offsets[row + 1] ?? 0) - from)
      for (let done = 0; done < line.length;) {
        const read = readSync(file, line, done, line.length - done, from + done)
        if (read === 0) throw new Error('passages.jsonl is shorter than it was when it was verified')
        done += read
      }
      // Hashed and signed by the build, which parsed every record: not parsed again.
      return JSON.parse(line.toString('utf8')) as PassageRecord
    },
    close: () => closeSync(file),
  }
}

function readFacets(folder: string, passages: number): FacetTable {
  const facets = facetsSchema.parse(JSON.parse(readFileSync(join(folder, 'facets.json'), 'utf8')))
  const bytes = ownBytes(join(folder, 'facets.bin'))
  const layout = facetsLayout(passages, facets)
  const words = bitsetWords(passages)
  return {
    facets,
    bitset: (value) => new Uint32Array(bytes, value * words * 4, words),
    inForceFrom: new Int32Array(bytes, layout.fromOffset, passages),
    inForceTo: new Int32Array(bytes, layout.toOffset, passages),
  }
}

/** A file in a buffer of its own, aligned for typed arrays. */
function ownBytes(path: string): ArrayBuffer {
  const read = readFileSync(path)
  const own = new ArrayBuffer(read.length)
  new Uint8Array(own).set(read)
  return own
}
