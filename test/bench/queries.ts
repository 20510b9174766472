import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { BenchArtifact } from './artifact.ts'
import { corpusSpace, inventedPassages } from './corpus.ts'
import type { CorpusShape, InventedPassage } from './corpus.ts'
import { streamAt } from './stream.ts'
import { inventedQuestion } from './text.ts'
import type { Place } from './vectors/space.ts'

/** A question and its vector, which the provider returns for its text. */
export interface Query {
  /** Eight to twelve words of a passage. */
  readonly text: string
  /** As an encoder makes it of a question on the passage: see `Space`. Of unit length, in a buffer of its own. */
  readonly vector: Float32Array<ArrayBuffer>
}

/** Of one set. */
const QUERIES_MAX = 100_000

/** Reads rows of an artifact one by one. */
export interface Rows {
  vector(row: number): Float32Array<ArrayBuffer>
  record(row: number): PassageRecord
  close(): void
}

export function openRows({ folder, manifest }: Pick<BenchArtifact, 'folder' | 'manifest'>): Rows {
  const files = ['vectors.f32', 'passages.offsets', 'passages.jsonl'].map((name) => openSync(join(folder, name), 'r'))
  const [vectors = 0, offsets = 0, lines = 0] = files
  const { dimensions } = manifest.embedding
  return {
    vector(row) {
      const values = new Float32Array(dimensions)
      readSync(vectors, values, 0, values.byteLength, row * values.byteLength)
      return values
    },
    record(row) {
      const ends = new Float64Array(2)
      readSync(offsets, ends, 0, 16, row * 8)
      const [from = 0, to = 0] = ends
      const line = Buffer.alloc(to - from)
      readSync(lines, line, 0, line.length, from)
      // Read as the search reads it; the manifest's digest covers the line.
      return JSON.parse(line.toString('utf8')) as PassageRecord
    },
    close: () => files.forEach((file) => closeSync(file)),
  }
}

/** A set of questions: as many as asked for, on passages at the places that are wanted. */
export interface QuerySet {
  readonly count: number
  /** Another number gives other questions. */
  readonly set: number
  readonly wanted?: (place: Place) => boolean
}

/** @returns the questions of each set; fewer where the corpus has fewer passages for it. */
export function inventQueries(
  shape: CorpusShape,
  artifact: BenchArtifact,
  sets: readonly QuerySet[],
): readonly (readonly Query[])[] {
  const samples = sampledPassages(shape, sets)
  const space = corpusSpace(shape, artifact.manifest.embedding.dimensions)
  const rows = openRows(artifact)
  try {
    return sets.map(({ set }, at) =>
      (samples[at] ?? []).map(({ row, place }, number) => {
        const random = streamAt(shape.seed, 'queries', set, number)
        const { text, metadata } = rows.record(row)
        return {
          text: inventedQuestion(metadata.language, text, random),
          vector: space.question(place, set * QUERIES_MAX + number),
        }
      }),
    )
  } finally {
    rows.close()
  }
}

/** Passages drawn at random for each set, in one pass over the corpus (Vitter's algorithm R). */
function sampledPassages(
  shape: CorpusShape,
  sets: readonly QuerySet[],
): readonly (readonly Pick<InventedPassage, 'row' | 'place'>[])[] {
  const reservoirs = sets.map(({ count, set, wanted = () => true }) => ({
    count,
    wanted,
    random: streamAt(shape.seed, 'queries', set, QUERIES_MAX),
    seen: 0,
    kept: new Array<Pick<InventedPassage, 'row' | 'place'>>(),
  }))
  for (const { row, place } of inventedPassages(shape)) {
    for (const reservoir of reservoirs) {
      if (!reservoir.wanted(place)) continue
      const at =
        reservoir.seen < reservoir.count ? reservoir.seen : Math.floor(reservoir.random() * (reservoir.seen + 1))
      if (at < reservoir.count) reservoir.kept[at] = { row, place }
      reservoir.seen++
    }
  }
  return reservoirs.map(({ kept }) => kept)
}

export function unit(vector: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return vector.map((value) => value / length)
}
