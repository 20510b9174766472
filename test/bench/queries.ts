import { closeSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { BenchArtifact } from './artifact.ts'
import { inventedPassages } from './corpus.ts'
import type { CorpusShape } from './corpus.ts'
import { streamAt } from './stream.ts'
import { inventedQuestion } from './text.ts'
import { openSpace } from './vectors.ts'

/** A question and its vector, which the provider returns for its text. */
export interface Query {
  /** Eight to twelve words of a passage. */
  readonly text: string
  /** The passage's vector and half as much of another on its topic; of any length, in a buffer of its own. */
  readonly vector: Float32Array<ArrayBuffer>
  /** Of its passage. */
  readonly topic: number
}

const NOISE = 0.5

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

/**
 * Questions on passages drawn at random among those whose topic is wanted, as many as asked for.
 * @param set another number gives other questions.
 */
export function inventQueries(
  shape: CorpusShape,
  artifact: BenchArtifact,
  {
    count,
    set,
    wanted = () => true,
  }: { readonly count: number; readonly set: number; readonly wanted?: (topic: number) => boolean },
): readonly Query[] {
  const random = streamAt(shape.seed, 'queries', set)
  const topics = Uint16Array.from(inventedPassages(shape), ({ topic }) => topic)
  const candidates = Uint32Array.from(topics.keys()).filter((row) => wanted(topics[row] ?? 0))
  const space = openSpace(artifact.manifest.embedding.dimensions, streamAt(shape.seed, 'queries', 0))
  const rows = openRows(artifact)
  try {
    return Array.from({ length: candidates.length === 0 ? 0 : count }, () => {
      const row = candidates[Math.floor(random() * candidates.length)] ?? 0
      const topic = topics[row] ?? 0
      const { text, metadata } = rows.record(row)
      const near = unit(space.draw(topic, random))
      const vector = unit(rows.vector(row)).map((value, at) => value + NOISE * (near[at] ?? 0))
      return { text: inventedQuestion(metadata.language, text, random), vector, topic }
    })
  } finally {
    rows.close()
  }
}

export function unit(vector: Float32Array<ArrayBuffer>): Float32Array<ArrayBuffer> {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
  return vector.map((value) => value / length)
}
