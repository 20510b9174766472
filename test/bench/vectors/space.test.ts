import { MetricKind, exactSearch } from 'usearch'
import { expect, test } from 'vitest'
import { rowOrder } from '#core/index/format/row-order.ts'
import { inventedPassages } from '../corpus.ts'
import { JURISDICTIONS, LANGUAGES, topicCount } from '../documents.ts'
import { openSpace } from './space.ts'
import type { Space } from './space.ts'

const SEED = 3

function corpusSpace({ passages, seed }: { passages: number; seed: number }, dimensions: number): Space {
  const [languages, jurisdictions] = [Object.values(LANGUAGES), Object.values(JURISDICTIONS)]
  return openSpace({ dimensions, seed, topics: topicCount(passages), languages, jurisdictions })
}

function drawn(passages: number, dimensions: number, questions: number): { rows: Float32Array; asked: Float32Array } {
  const shape = { passages, seed: SEED }
  const space = corpusSpace(shape, dimensions)
  const rows = new Float32Array(passages * dimensions)
  const asked = new Float32Array(questions * dimensions)
  const step = Math.floor(passages / questions)
  for (const { row, position } of inventedPassages(shape)) {
    rows.set(space.passage(position), row * dimensions)
    if (row % step === 0 && row / step < questions) asked.set(space.question(position, row), (row / step) * dimensions)
  }
  return { rows, asked }
}

test('a passage has the same unit vector in whatever order passages are drawn, and another with another seed', () => {
  const passages = [...inventedPassages({ passages: 300, seed: SEED })]
  const space = corpusSpace({ passages: 300, seed: SEED }, 48)
  const inOrder = passages.map(({ position }) => space.passage(position))
  for (const { row, position } of passages.toReversed()) {
    space.question(position, row)
    expect(space.passage(position)).toEqual(inOrder[row])
  }
  const other = corpusSpace({ passages: 300, seed: SEED + 1 }, 48)
  for (const vector of inOrder) expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
  for (const { row, position } of passages) expect(other.passage(position)).not.toEqual(inOrder[row])
  expect(inOrder).toHaveLength(300)
})

test('vectors of 8 to 4,096 dimensions are finite, of unit length and different', () => {
  for (const dimensions of [8, 9, 384, 1_000, 4_096]) {
    const { rows, asked } = drawn(20, dimensions, 5)
    for (const values of [rows, asked])
      for (let at = 0; at < values.length; at += dimensions)
        expect(Math.hypot(...values.subarray(at, at + dimensions))).toBeCloseTo(1, 4)
    expect(rows.subarray(0, dimensions)).not.toEqual(rows.subarray(dimensions, 2 * dimensions))
  }
})

test('passages come in the order of rows, and documents and topics differ much in size', () => {
  const records = [...inventedPassages({ passages: 3_000, seed: SEED })].map((passage) => passage.record())
  expect(records.toSorted(rowOrder)).toEqual(records)
  const sizes = [...Map.groupBy(records, ({ document }) => document.id).values()].map(({ length }) => length)
  expect(Math.max(...sizes)).toBeGreaterThan(50)
  expect(sizes.filter((size) => size <= 5).length).toBeGreaterThan(5)
  const topics = [
    ...Map.groupBy(inventedPassages({ passages: 3_000, seed: SEED }), ({ position }) => position.topic).values(),
  ]
  expect(Math.max(...topics.map(({ length }) => length))).toBeGreaterThan(3_000 / topics.length)
})

/** The cosines of the real vectors that the model was fitted to, for a tenth of their passages. */
test('a question has a cosine of about 0.77 with all passages, and its nearest is well apart', () => {
  const [passages, dimensions, questions] = [5_000, 384, 200]
  const { rows, asked } = drawn(passages, dimensions, questions)
  const { distances } = exactSearch(rows, asked, dimensions, passages, MetricKind.IP, 1)
  const cosines = distances.map((distance) => 1 - distance)
  const mean = cosines.reduce((sum, value) => sum + value, 0) / cosines.length
  expect(mean).toBeGreaterThan(0.75)
  expect(mean).toBeLessThan(0.79)
  const nearest = Array.from({ length: questions }, (_, at) => cosines[at * passages] ?? 0).sort((a, b) => a - b)
  const [low = 0, middle = 0, high = 0] = [0.05, 0.5, 0.95].map((share) => nearest[Math.floor(share * questions)])
  expect(low).toBeGreaterThan(0.79)
  expect(middle).toBeGreaterThan(0.83)
  expect(middle).toBeLessThan(0.89)
  expect(high).toBeLessThan(0.95)
})
