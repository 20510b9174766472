import { MetricKind, exactSearch } from 'usearch'
import { expect, test } from 'vitest'
import { inventedCorpus, type BenchPassage } from '../source.ts'

const rowsOf = (passages: number, dimensions: number, seed = 3): readonly BenchPassage[] => [
  ...inventedCorpus({ passages, seed }, dimensions).rows(),
]

test('a passage has the same vector in whatever order passages are drawn, and another with another seed', () => {
  const passages = rowsOf(300, 48)
  const inOrder = passages.map((passage) => passage.vector())
  const others = rowsOf(300, 48, 4)
  for (const passage of passages.toReversed()) {
    passage.question(passage.row)
    expect(passage.vector()).toEqual(inOrder[passage.row])
    expect(others[passage.row]?.vector()).not.toEqual(inOrder[passage.row])
  }
  expect(new Set(passages.map(({ row }) => row)).size).toBe(300)
})

test('vectors of 8 to 4,096 dimensions are finite, of unit length and different', () => {
  for (const dimensions of [8, 9, 384, 1_000, 4_096]) {
    const vectors = rowsOf(20, dimensions).flatMap((passage) => [passage.vector(), passage.question(0).vector])
    for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1, 4)
    expect(vectors[0]).not.toEqual(vectors[2])
  }
})

test('a question has a cosine of about 0.77 with all passages, and its nearest is well apart', () => {
  const [passages, dimensions, questions] = [5_000, 384, 200]
  const [rows, asked] = [new Float32Array(passages * dimensions), new Float32Array(questions * dimensions)]
  for (const passage of rowsOf(passages, dimensions)) {
    const { row } = passage
    rows.set(passage.vector(), row * dimensions)
    if (row % 25 === 0) asked.set(passage.question(row).vector, (row / 25) * dimensions)
  }
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
