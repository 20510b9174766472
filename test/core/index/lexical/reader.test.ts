import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TERMS_PER_BLOCK } from '#core/index/lexical/layout.ts'
import { openLexicalReader } from '#core/index/lexical/reader.ts'
import { createLexicalWriter } from '#core/index/lexical/writer.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { writeIndex } from '#test/support/lexical-index.ts'

/** Terms that begin alike, of one and more bytes a letter. */
const term = fc
  .array(fc.constantFrom('a', 'b', 'z', 'é', 'ж', '語', '🜨'), { minLength: 1, maxLength: 6 })
  .map((letters) => letters.join(''))

test('every term of a dictionary of several blocks is found with its frequency, and no other', () => {
  fc.assert(
    fc.property(fc.uniqueArray(term, { minLength: 3 * TERMS_PER_BLOCK, maxLength: 200 }), (terms) => {
      const rows = terms.flatMap((one, at) => Array.from({ length: 1 + (at % 3) }, () => one))
      const writer = createLexicalWriter(rows.length)
      for (const [row, text] of rows.entries()) writer.add(row, { language: 'xx', heading: [], text: [text] })
      const folder = mkdtempSync(join(tmpdir(), 'lexical-reader-'))
      writeIndex(folder, writer.finish())
      const index = openLexicalReader(folder, rows.length, createResidentParts())
      using ending = new DisposableStack()
      ending.defer(() => rmSync(folder, { recursive: true }))
      ending.defer(() => index.close())
      for (const [at, one] of terms.entries()) expect(index.find('xx', one)?.frequency).toBe(1 + (at % 3))
      const longer = terms.map((one) => `${one}a`).filter((one) => !terms.includes(one))
      for (const one of longer) expect(index.find('xx', one)).toBeUndefined()
      for (const one of terms) expect(index.find('xy', one)).toBeUndefined()
      expect(index.find('xx', '')).toBeUndefined()
      expect(index.find('', '')).toBeUndefined()
    }),
    { numRuns: 30 },
  )
})
