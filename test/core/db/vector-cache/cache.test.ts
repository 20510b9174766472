import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openVectorCache, shrinkVectorCache } from '#core/db/vector-cache/cache.ts'
import type { VectorCache, VectorCacheOptions, VectorEntry } from '#core/db/vector-cache/cache.ts'
import { ENTRY_DIMENSIONS, ENTRY_SPACE, vectorEntries, vectorEntry } from './entries.ts'
import { until } from '#test/support/until.ts'
import { folderOfFile } from '#test/support/folder.ts'

const UNBOUNDED = 2 ** 40

const root = folderOfFile()
let folder: string
let path: string
let faults: unknown[]
const opened: VectorCache[] = []

beforeEach(() => {
  folder = mkdtempSync(join(root, 'each-'))
  path = join(folder, 'vectors', 'cache.sqlite')
  faults = []
})
afterEach(() => {
  for (const cache of opened.splice(0)) cache.close()
})

function open(options: Partial<VectorCacheOptions> = {}): VectorCache {
  const onFault = (error: unknown): void => void faults.push(error)
  const cache = openVectorCache(path, {
    space: ENTRY_SPACE,
    dimensions: ENTRY_DIMENSIONS,
    bytesMax: UNBOUNDED,
    onFault,
    ...options,
  })
  opened.push(cache)
  return cache
}

function held(cache: VectorCache, wanted: readonly VectorEntry[]): readonly boolean[] {
  const found = cache.read(wanted.map(({ digest }) => digest))
  return wanted.map(({ digest, vector, overlong }) => {
    const one = found.get(digest.toString('hex'))
    if (one === undefined) return false
    expect(one).toEqual({ vector, overlong })
    return true
  })
}
const heldCount = (cache: VectorCache, wanted: readonly VectorEntry[]): number =>
  held(cache, wanted).filter(Boolean).length

describe('a vector', () => {
  test('that was written is read by a later process, and one that was not is missing', () => {
    open().write(vectorEntries(0, 50))
    opened[0]?.close()
    expect(heldCount(open(), vectorEntries(0, 60))).toBe(50)
    expect(faults).toEqual([])
  })

  test('of another embedding space is missing', () => {
    open().write([vectorEntry(1)])
    expect(held(open({ space: `${ENTRY_SPACE} ` }), [vectorEntry(1)])).toEqual([false])
    expect(held(open(), [vectorEntry(1)])).toEqual([true])
  })

  test('that is written again replaces the first one', () => {
    const cache = open()
    cache.write([{ ...vectorEntry(2), digest: vectorEntry(1).digest }])
    cache.write([vectorEntry(1)])
    expect(held(cache, [vectorEntry(1)])).toEqual([true])
  })

  test('is missing after its space was cleared, and vectors of other spaces stay', () => {
    const [cache, other] = [open(), open({ space: 'another' })]
    cache.write(vectorEntries(0, 5))
    other.write(vectorEntries(0, 5))
    cache.clear()
    expect(heldCount(cache, vectorEntries(0, 5))).toBe(0)
    expect(heldCount(other, vectorEntries(0, 5))).toBe(5)
  })

  test.each([
    ['has other dimensions than its space', vectorEntry(1, ENTRY_DIMENSIONS / 2).vector],
    ['is not of unit length', vectorEntry(1).vector.map((value) => value * 2)],
    ['is not finite', vectorEntry(1).vector.fill(Number.NaN)],
  ])('that %s is missing', (_, vector) => {
    const cache = open()
    cache.write([{ ...vectorEntry(1), vector: new Float32Array(vector) }])
    expect(held(cache, [vectorEntry(1)])).toEqual([false])
  })
})

describe('a damaged file', () => {
  const change = (sql: string): void => {
    const connection = new DatabaseSync(path)
    connection.exec(sql)
    connection.close()
  }

  test.each([
    ['a changed value', 'update vector set value = zeroblob(1024) where id = 1'],
    [
      'a vector under the digest of another text',
      'update vector set id = -1 where id = 1; update vector set id = 1 where id = 2',
    ],
    ['the entries of another space', "update entry set space = 2; insert into space (key) values ('other')"],
  ])('with %s gives no wrong vector', (_, sql) => {
    open().write(vectorEntries(1, 3))
    opened[0]?.close()
    change(sql)
    expect(held(open(), [vectorEntry(1)])).toEqual([false])
    expect(held(open({ space: 'other' }), [vectorEntry(1), vectorEntry(2)])).toEqual([false, false])
  })

  test('of random bytes anywhere never gives a wrong vector, before or after new ones are written', () => {
    let missed = 0
    for (let at = 0; at < 12; at++) {
      const cache = open()
      cache.write(vectorEntries(0, 200))
      cache.close()
      const bytes = readFileSync(path)
      const from = Math.floor((bytes.length / 12) * at)
      bytes.fill(0xa5, from, from + 3_000)
      writeFileSync(path, bytes)
      const damaged = open()
      // `held` compares each vector that is found.
      missed += 200 - heldCount(damaged, vectorEntries(0, 200))
      damaged.write(vectorEntries(0, 200))
      heldCount(damaged, vectorEntries(0, 200))
      damaged.close()
      rmSync(path)
    }
    expect(missed).toBeGreaterThan(0)
  })

  test.each([
    ['of text', (): void => writeFileSync(path, 'no database\n'.repeat(2_000))],
    ['that is cut off', (): void => writeFileSync(path, readFileSync(path).subarray(0, 20_000))],
    ['of another program', (): void => change('pragma application_id = 7')],
    ['of another layout', (): void => change('pragma user_version = 99')],
  ])('or one %s is replaced by an empty one', (_, damage) => {
    open().write(vectorEntries(0, 200))
    opened[0]?.close()
    damage()
    const cache = open()
    expect(heldCount(cache, vectorEntries(0, 200))).toBe(0)
    cache.write(vectorEntries(0, 200))
    cache.write(vectorEntries(0, 200))
    expect(heldCount(cache, vectorEntries(0, 200))).toBe(200)
  })

  test('where there can be none is a miss that is reported a bounded number of times', () => {
    writeFileSync(join(folder, 'vectors'), 'a file where the folder would be')
    const cache = open()
    for (let n = 0; n < 50; n++) {
      expect(held(cache, [vectorEntry(1)])).toEqual([false])
      cache.write([vectorEntry(1)])
    }
    expect(faults.length).toBeGreaterThan(0)
    expect(faults.length).toBeLessThan(10)
  })
})

describe('the bound', () => {
  const BYTES_MAX = 8 * 1024 ** 2

  test('holds while vectors are written, and those used longest ago leave first', () => {
    const clock = { seconds: 1_000_000 }
    const cache = open({ bytesMax: BYTES_MAX, nowMs: () => clock.seconds * 1_000 })
    cache.write(vectorEntries(0, 500))
    for (let from = 500; from < 16_000; from += 500) {
      clock.seconds += 10_000
      expect(heldCount(cache, vectorEntries(0, 500))).toBe(500)
      cache.write(vectorEntries(from, from + 500))
      expect(statSync(path).size).toBeLessThan(BYTES_MAX * 1.2)
    }
    expect(heldCount(cache, vectorEntries(0, 500))).toBe(500)
    expect(heldCount(cache, vectorEntries(15_500, 16_000))).toBe(500)
    expect(heldCount(cache, vectorEntries(500, 2_500))).toBe(0)
  })

  test('that was lowered shrinks the file to it, and 0 removes the file', async () => {
    const cache = open()
    for (let from = 0; from < 12_000; from += 2_000) cache.write(vectorEntries(from, from + 2_000))
    cache.close()
    expect(statSync(path).size).toBeGreaterThan(BYTES_MAX)
    expect(await shrinkVectorCache(path, BYTES_MAX)).toBeGreaterThan(0)
    expect(statSync(path).size).toBeLessThanOrEqual(BYTES_MAX)
    expect(await shrinkVectorCache(path, BYTES_MAX)).toBe(0)
    expect(heldCount(open(), vectorEntries(11_900, 12_000))).toBe(100)
    opened.at(-1)?.close()
    await shrinkVectorCache(path, 0)
    expect(statSync(path, { throwIfNoEntry: false })).toBeUndefined()
  })
})

test('processes that write at the same time lose nothing, and one that is killed leaves a whole file', async () => {
  const writer = fileURLToPath(new URL('./writer.ts', import.meta.url))
  const children = [0, 1, 2].map((number) => fork(writer, [path, String(number * 100_000)], { execArgv: [] }))
  const written = [0, 0, 0]
  for (const [number, child] of children.entries()) child.on('message', (count) => (written[number] = Number(count)))
  await until('640 vectors of each process', (seen) => {
    seen([...written])
    return written.every((count) => count >= 640)
  })
  await Promise.all(
    children.map(async (child) => {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }),
  )
  const cache = open()
  for (const [number, count] of written.entries())
    expect(heldCount(cache, vectorEntries(number * 100_000, number * 100_000 + count))).toBe(count)
  expect(faults).toEqual([])
})
