import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, inject, test } from 'vitest'
import {
  createEncoder,
  createQueryQuantizer,
  decodeHeader,
  encodeHeader,
  sq4Score,
} from '#core/index/vectors/quantizer.ts'
import { sq4Pieces, quantizerOf } from '#core/index/vectors/writer.ts'
import { openSq4, type Sq4Reader } from '#core/index/vectors/sq4-reader.ts'
import { innerProductAt } from '#core/index/vectors/inner-product.ts'
import { createKernel, NO_THRESHOLD } from '#core/index/vectors/kernel.ts'
import { sq4Layout, rowsLayout } from '#core/index/vectors/layout.ts'
import { sha256 } from '#core/platform/digest.ts'
import { writeHashed } from '#core/platform/hashed-file.ts'
import { createSharedMemory } from '#core/index/storage/resident-parts.ts'
import { seededRandom, unit } from '#test/support/passages.ts'
import { folderOfFile } from '#test/support/folder.ts'

const { seed } = inject('random')
const noPause = (): Promise<void> => Promise.resolve()

const folder = folderOfFile()

/** Unit vectors with a large common part, as embedding models give them. */
function vectorsWithMean(rows: number, dimensions: number): Float32Array<ArrayBuffer> {
  const random = seededRandom(seed)
  const common = Float32Array.from({ length: dimensions }, () => random() - 0.5)
  const vectors = new Float32Array(rows * dimensions)
  for (let row = 0; row < rows; row++)
    vectors.set(unit(common.map((value) => value + (random() - 0.5) * 0.7)), row * dimensions)
  return vectors
}

async function quantized(vectors: Float32Array<ArrayBuffer>, dimensions: number) {
  const rows = vectors.length / dimensions
  const source = { path: join(folder, `${rows}-${dimensions}.f32`), rows, dimensions }
  writeFileSync(source.path, new Uint8Array(vectors.buffer))
  const path = join(mkdtempSync(join(folder, 'sq4-')), 'vectors.sq4')
  const digest = await writeHashed(
    path,
    sq4Pieces(
      source,
      await quantizerOf(source, noPause),
      Uint32Array.from({ length: rows }, (_, row) => row),
      noPause,
    ),
  )
  const bytes = readFileSync(path)
  expect(digest).toEqual({ bytes: bytes.length, sha256: sha256(bytes).toString('hex') })
  expect(bytes.length).toBe(sq4Layout(rows, dimensions).bytes)
  return { bytes, path, space: decodeHeader(bytes, dimensions), rows }
}

test.each([1, 7, 31, 32, 33, 384, 768])(
  'SQ4 vectors of %i dimensions give cosines with the stated error',
  async (dimensions) => {
    const rows = 300
    const vectors = vectorsWithMean(rows, dimensions)
    const { bytes, space } = await quantized(vectors, dimensions)
    const layout = sq4Layout(rows, dimensions)
    let [squares, expected] = [0, 0]
    for (let row = 0; row < rows; row += 10) {
      const query = vectors.slice(row * dimensions, (row + 1) * dimensions)
      const asked = createQueryQuantizer(space)(query)
      const errors = Array.from(
        { length: rows },
        (_, other) =>
          sq4Score(asked, bytes, layout.offset + other * layout.rowBytes) / asked.scorePerCosine -
          innerProductAt(vectors, other * dimensions, query),
      )
      const mean = errors.reduce((sum, error) => sum + error, 0) / rows
      squares += errors.reduce((sum, error) => sum + (error - mean) ** 2, 0) / rows
      expected += (asked.error / asked.scorePerCosine) ** 2
    }
    expect(Math.sqrt(squares)).toBeLessThan(1.5 * Math.sqrt(expected) + 1e-6)
  },
)

/** A page of WebAssembly memory; SQ4 vectors that end with it would be read past the end only by an error. */
const PAGE_BYTES = 65_536

const sq4Rows = fc.integer({ min: 1, max: 200 }).chain((dimensions) => {
  const layout = rowsLayout(64, dimensions, PAGE_BYTES - rowsLayout(64, dimensions).bytes)
  const components = (layout.rowBytes - 2) * 2
  return fc.record({
    layout: fc.constant(layout),
    sq4: fc.uint8Array({ minLength: layout.bytes, maxLength: layout.bytes }),
    bytes: fc.int8Array({ minLength: components + 1, maxLength: components + 1, min: -127 }),
  })
})

test('the kernel gives the score that defines an SQ4 vector for every row asked for and no other', () => {
  fc.assert(
    fc.property(
      sq4Rows,
      fc.tuple(fc.nat(0xffff_ffff), fc.nat(0xffff_ffff)),
      fc.integer({ min: -1_000_000, max: 1_000_000 }),
      ({ layout, sq4, ...query }, words, threshold) => {
        const memory = createSharedMemory(layout.bytes)
        const kernel = createKernel(layout, memory)
        kernel.setQuery(query)
        new Uint8Array(memory.buffer).set(sq4)
        kernel.bits.set(words)
        const hitsAbove = (least: number): number[] => [
          ...kernel.hits.subarray(0, kernel.scan(layout.offset, words.length, least) * 2),
        ]
        const scored = Array.from({ length: 64 }, (_, row) => [
          row,
          sq4Score(query, sq4, layout.offset + row * layout.rowBytes),
        ]).filter(([row = 0]) => (((words[row >>> 5] ?? 0) >>> (row & 31)) & 1) === 1)
        expect(hitsAbove(threshold)).toEqual(scored.filter(([, score = 0]) => score > threshold).flat())
        expect(hitsAbove(NO_THRESHOLD)).toEqual(scored.flat())
      },
    ),
    { seed },
  )
})

test('the module that is committed is made from its source', async () => {
  const name = 'kernel'
  const { default: wabt } = await import('wabt')
  const folderOfModules = new URL('../../../../core/index/vectors/', import.meta.url)
  const source = readFileSync(new URL(`${name}.wat`, folderOfModules), 'utf8')
  const features = { simd: true, relaxed_simd: true, multi_memory: true, threads: true }
  const module = (await wabt()).parseWat(`${name}.wat`, source, features)
  const committed = readFileSync(new URL(`${name}.wasm`, folderOfModules))
  expect(Buffer.from(module.toBinary({}).buffer).toString('base64')).toBe(committed.toString('base64'))
})

function nearestOf(reader: Sq4Reader, query: Float32Array, bits: Uint32Array, rows: number): Uint32Array {
  const scan = reader.scan(query, { candidates: 10, threshold: 10 })
  scan.add(bits, 0, rows)
  return scan.rows()
}

test('a scan finds the nearest of any set of rows, from its file and from memory', async () => {
  const [rows, dimensions] = [9_000, 40]
  const vectors = vectorsWithMean(rows, dimensions)
  const { path, bytes } = await quantized(vectors, dimensions)
  const memory = createSharedMemory(bytes.length)
  new Uint8Array(memory.buffer).set(bytes)
  const random = seededRandom(seed + 1)
  for (const source of [{ path }, { memory }]) {
    const reader = openSq4(source, rows, dimensions)
    let [found, wanted] = [0, 0]
    for (const share of [1, 0.5, 0.05, 0.001, 0]) {
      const bits = new Uint32Array(Math.ceil(rows / 32))
      const allowed = Array.from({ length: rows }, (_, row) => row).filter(() => random() < share)
      for (const row of allowed) bits[row >>> 5] = (bits[row >>> 5] ?? 0) | (1 << (row & 31))
      const query = unit(Float32Array.from({ length: dimensions }, () => random() - 0.5))
      const nearest = [...nearestOf(reader, query, bits, rows)]
      expect(nearest).toEqual(nearest.toSorted((a, b) => a - b))
      expect(nearest.filter((row) => !allowed.includes(row))).toEqual([])
      const truth = allowed
        .toSorted(
          (a, b) => innerProductAt(vectors, b * dimensions, query) - innerProductAt(vectors, a * dimensions, query),
        )
        .slice(0, 10)
      found += truth.filter((row) => nearest.includes(row)).length
      wanted += truth.length
    }
    expect(found / wanted).toBeGreaterThanOrEqual(0.97)
    reader.close()
  }
})

test('ranges of rows give together what one scan gives, and the spread of all rows between', async () => {
  const [rows, dimensions] = [9_000, 40]
  const vectors = vectorsWithMean(rows, dimensions)
  const { path, space } = await quantized(vectors, dimensions)
  const reader = openSq4({ path }, rows, dimensions)
  const random = seededRandom(seed + 2)
  const bits = Uint32Array.from({ length: Math.ceil(rows / 32) }, () => random() * 2 ** 32)
  bits[bits.length - 1] = 0xff
  const query = unit(Float32Array.from({ length: dimensions }, () => random() - 0.5))
  const whole = nearestOf(reader, query, bits, rows)
  const scan = reader.scan(query, { candidates: 10, threshold: 10 })
  const ends = Uint32Array.from({ length: 40 }, () => random() * rows).sort()
  const ranges = [0, ...ends].map((from, at): [number, number] => [from, ends[at] ?? rows])
  const cosineOf = (row: number): number => innerProductAt(vectors, row * dimensions, query)
  for (const [at, [from, to]] of ranges.toReversed().entries()) {
    if (at % 2 === 0) {
      scan.add(bits, from, to)
      continue
    }
    const squares = scan.addAndMeasure(bits, from, to)
    const cosines = Array.from({ length: to - from }, (_, row) => cosineOf(from + row))
    const mean = cosines.reduce((sum, cosine) => sum + cosine, 0) / Math.max(1, to - from)
    const error = 4 * space.error * Math.sqrt(to - from) + 1e-9
    const expected = Math.sqrt(cosines.reduce((sum, cosine) => sum + (cosine - mean) ** 2, 0))
    expect(Math.abs(Math.sqrt(squares) - expected)).toBeLessThan(error)
  }
  expect([...scan.rows()]).toEqual([...whole])
  const tenth = [...whole].map(cosineOf).sort((a, b) => b - a)[9] ?? 0
  const ofMean = space.mean.reduce((sum, value, d) => sum + value * (query[d] ?? 0), 0)
  expect(Math.abs(scan.threshold() - (tenth - ofMean))).toBeLessThan(4 * space.error)
  reader.close()
})

test('rows that are all the same are quantized and found without fault', async () => {
  const { path, rows } = await quantized(new Float32Array(500 * 16).fill(0.25), 16)
  const reader = openSq4({ path }, rows, 16)
  const bits = new Uint32Array(Math.ceil(rows / 32)).fill(0xffff_ffff)
  bits[15] = 0x000f_ffff
  expect(nearestOf(reader, new Float32Array(16).fill(0.25), bits, rows)).toHaveLength(500)
  reader.close()
})

test('a header that no build writes is refused', () => {
  const space = { step: 0.1, alongBase: 0, alongStep: 0.01, error: 0.001, mean: Float64Array.of(0.5, 0.5) }
  expect(decodeHeader(encodeHeader(space), 2)).toEqual(space)
  for (const wrong of [{ step: 0 }, { step: Number.NaN }, { alongStep: -1 }, { mean: Float64Array.of(0.5, Infinity) }])
    expect(() => decodeHeader(encodeHeader({ ...space, ...wrong }), 2)).toThrow(/no build writes/)
})

test('a component outside the steps becomes the nearest step', () => {
  const space = { step: 0.1, alongBase: -1, alongStep: 0.01, error: 0, mean: Float64Array.of(0, 0, 0) }
  const encoded = createEncoder(space)(Float32Array.of(-9, 9, 0.05))
  expect([...encoded.subarray(0, 4)]).toEqual([0, 15, 8, 0])
})

test('the layout holds past 2^24 rows and past 2^32 bytes', () => {
  const rows = 2 ** 24 + 1
  const { offset, rowBytes, bytes } = sq4Layout(rows, 768)
  expect(rowBytes).toBe(386)
  expect(bytes).toBe(offset + 6_476_005_762)
  expect(sq4Layout(rows, 768).bytes - sq4Layout(rows - 1, 768).bytes).toBe(rowBytes)
})
