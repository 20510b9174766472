import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { spaceOfVectors } from '#test/support/artifact.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { BenchCorpus, BenchPassage, Query, QuerySet } from './source.ts'
import { streamAt } from './stream.ts'

/** The questions of a set, and the mean vector of the passages that they were drawn from. */
export interface AskedSet {
  readonly queries: readonly Query[]
  readonly centre: Float32Array
}

/** Reads rows of an artifact one by one. */
export interface Rows {
  vector(row: number): Float32Array<ArrayBuffer>
  record(row: number): PassageRecord
  close(): void
}

export function openRows({ folder, manifest }: { readonly folder: string; readonly manifest: Manifest }): Rows {
  const files = ['vectors.f32', 'passages.offsets', 'passages.jsonl'].map((name) => openSync(join(folder, name), 'r'))
  const [vectors = 0, offsets = 0, lines = 0] = files
  const { dimensions } = spaceOfVectors(manifest)
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

/** @returns the questions of each set; none where the corpus has no passage for it. */
export function askSets(corpus: BenchCorpus, seed: number, sets: readonly QuerySet[]): readonly AskedSet[] {
  const samples = sampledPassages(corpus, seed, sets)
  return sets.map((set, at) => {
    const sample = samples[at] ?? []
    const vectors = sample.map((passage) => passage.vector())
    const centre = Float32Array.from(
      { length: corpus.dimensions },
      (_, d) => vectors.reduce((sum, vector) => sum + (vector[d] ?? 0), 0) / Math.max(1, vectors.length),
    )
    return { queries: corpus.questions(set, sample), centre }
  })
}

/** Passages drawn at random for each set, in one pass over the corpus (Vitter's algorithm R). */
function sampledPassages(
  corpus: BenchCorpus,
  seed: number,
  sets: readonly QuerySet[],
): readonly (readonly BenchPassage[])[] {
  const reservoirs = sets.map(({ count, set, wanted = () => true }) => ({
    count,
    wanted,
    random: streamAt(seed, 'queries', set),
    seen: 0,
    kept: new Array<BenchPassage>(),
  }))
  for (const passage of corpus.rows()) {
    for (const reservoir of reservoirs) {
      if (!reservoir.wanted(passage.position)) continue
      const at =
        reservoir.seen < reservoir.count ? reservoir.seen : Math.floor(reservoir.random() * (reservoir.seen + 1))
      if (at < reservoir.count) reservoir.kept[at] = passage
      reservoir.seen++
    }
  }
  return reservoirs.map(({ kept }) => kept)
}

export function unit(vector: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return vector.map((value) => value / length)
}
