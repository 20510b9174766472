import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ngramHashes } from '#core/index/analysis/ngrams.ts'
import { ngramWords, openNgrams, textOf } from '#core/index/ngrams/reader.ts'
import { rowOrder } from '#core/index/format/row-checks.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { parsedJson } from '#core/platform/json.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { testPassage } from '#test/support/passages.ts'

test('a row has the n-grams of its passage, of an artifact of an earlier release too', async () => {
  const store = mkdtempSync(join(tmpdir(), 'ngrams-'))
  using ending = new DisposableStack()
  ending.defer(() => rmSync(store, { recursive: true, force: true }))
  const texts = ['Kündigungsfrist, § 622a BGB', '奴隷制度 über Straße', '—']
  const vector = Float32Array.of(1, 0, 0, 0, 0, 0, 0, 0)
  const rows = texts
    .map((text, n) => ({ record: testPassage(n, { text, heading: '' }), vector }))
    .sort((a, b) => rowOrder(a.record, b.record))
  const { folder } = await buildTestArtifact({ rows, store, embedding: null })
  const opened = () =>
    openNgrams(folder, rows.length, (row) => rows[row]?.record ?? testPassage(row), createResidentParts())
  const expected = rows.map(({ record }) => [...ngramHashes(ngramWords(textOf(record)))])
  const found = () => expected.map((_, row) => [...opened().ofRow(row)])
  expect(found()).toEqual(expected)
  expect(expected.map(({ length }) => length).toSorted((a, b) => a - b)[0]).toBe(0)
  const path = join(folder, 'grams.json')
  const { words_bytes: _, ...earlier } = Object(parsedJson(readFileSync(path, 'utf8')))
  writeFileSync(path, JSON.stringify(earlier))
  rmSync(join(folder, 'grams.words'))
  expect(found()).toEqual(expected)
})
