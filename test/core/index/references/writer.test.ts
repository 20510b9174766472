import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { beforeEach, expect, test } from 'vitest'
import { canonicalJson } from '#core/platform/digest.ts'
import { openReferencesReader, type ReferencesReader } from '#core/index/references/reader.ts'
import { referencesLayout, type ActEntry } from '#core/index/references/layout.ts'
import { createReferencesWriter } from '#core/index/references/writer.ts'
import { folderOfFile } from '#test/support/folder.ts'

const root = folderOfFile()
let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(root, 'each-'))
})

function written(rows: readonly (readonly string[])[], acts: readonly ActEntry[] = []) {
  const writer = createReferencesWriter(rows.length)
  for (const [row, references] of rows.entries()) writer.add(row, { references: [...references] })
  const { references, bytes } = writer.finish(acts)
  expect(bytes).toHaveLength(referencesLayout(references).bytes)
  return { json: canonicalJson(references), bytes }
}

function opened(rows: readonly (readonly string[])[], acts: readonly ActEntry[] = []): ReferencesReader {
  const { json, bytes } = written(rows, acts)
  writeFileSync(join(folder, 'references.json'), json)
  writeFileSync(join(folder, 'references.bin'), bytes)
  return openReferencesReader(folder)
}

const sorted = (rows: Iterable<number>): number[] => [...new Set(rows)].sort((a, b) => a - b)

test('a version without references holds none, and says so', () => {
  const index = opened([[], []])
  expect([...index.rowsOf('de:bgb#433'), ...index.rowsOfParts('de:bgb'), ...index.rowsOf('')]).toEqual([])
  index.close()
})

const part = fc.constantFrom('1', '2', '10', 'a', 'ä', '𝔞', 'L121-1', '.', '0')
const anyReference = fc
  .tuple(fc.constantFrom('x:a', 'x:a/b', 'x:ä', '*'), fc.array(part, { maxLength: 4 }))
  .map(([act, path]) => (path.length === 0 ? (act === '*' ? 'x:a' : act) : `${act}#${path.join('/')}`))

test('whatever the references, look-ups agree with a scan of all rows', () => {
  fc.assert(
    fc.property(fc.array(fc.array(anyReference, { maxLength: 3 }), { maxLength: 40 }), anyReference, (rows, wanted) => {
      const index = opened(rows)
      const termsOf = (each: string): string[] =>
        each.startsWith('*') || !each.includes('#') ? [each] : [each, `*${each.slice(each.indexOf('#'))}`]
      const matching = (holds: (term: string) => boolean): number[] =>
        rows.flatMap((own, row) => (own.flatMap(termsOf).some(holds) ? [row] : []))
      expect([...index.rowsOf(wanted)]).toEqual(matching((term) => term === wanted))
      const mark = wanted.includes('#') ? '/' : '#'
      expect(index.holds(wanted)).toBe(matching((term) => term.startsWith(wanted)).length > 0)
      expect(sorted(index.rowsOfParts(wanted))).toEqual(matching((term) => term.startsWith(wanted + mark)))
      index.close()
    }),
    { numRuns: 150 },
  )
})

test('the same references and acts give the same bytes, in whatever order the acts come', () => {
  const rows = [['x:b#2'], ['x:a#1', 'x:b#2'], []]
  const [first, second] = [
    written(rows, [
      { id: 'x:b', aliases: ['Bees', 'B'] },
      { id: 'x:a', aliases: [] },
    ]),
    written(rows, [
      { id: 'x:a', aliases: [] },
      { id: 'x:b', aliases: ['B', 'Bees', 'B'] },
    ]),
  ]
  expect(second.json).toBe(first.json)
  expect(second.bytes.equals(first.bytes)).toBe(true)
  expect(JSON.parse(first.json)).toMatchObject({
    acts: [{ id: 'x:a' }, { id: 'x:b', aliases: ['B', 'Bees'] }],
    terms: 4,
    postings: 6,
  })
})

test('every name of an act leads to its id', () => {
  const index = opened([['rulebook:bee#1']], [{ id: 'rulebook:bee', aliases: ['BEE'] }])
  expect(index.actNames).toEqual([
    ['rulebook:bee', 'rulebook:bee'],
    ['BEE', 'rulebook:bee'],
  ])
  index.close()
})

test('more rows than announced are refused', () => {
  expect(() => createReferencesWriter(1).add(1, { references: [] })).toThrow(/more came/)
})
