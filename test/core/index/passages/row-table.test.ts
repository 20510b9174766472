import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { createRowTableWriter, readRowTable, rowTableBytes, type RowTable } from '#core/index/passages/row-table.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'
import { testPassage } from '#test/support/passages.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()

/** The table that a file of these bytes holds. */
function readBack(bytes: Uint8Array, rows: number): RowTable {
  writeFileSync(join(folder, 'rows.bin'), bytes)
  return readRowTable(folder, rows, createResidentParts())
}

interface Placed {
  readonly document: string
  readonly revision: string
  readonly provision: string
  readonly chunk: string
}

function recordOf({ document, revision, provision, chunk }: Placed): PassageRecord {
  const record = testPassage(0)
  return {
    ...record,
    chunk_id: chunk,
    provision,
    document: { ...record.document, id: document, revision_id: revision },
  }
}

function tableOf(rows: readonly Placed[]): RowTable & { readonly returned: readonly boolean[] } {
  const writer = createRowTableWriter(rows.length)
  const returned = rows.map((row, at) => writer.add(at, recordOf(row)))
  const bytes = writer.finish()
  expect(bytes).toHaveLength(rowTableBytes(rows.length))
  return { ...readBack(bytes, rows.length), returned }
}

describe('the table of rows', () => {
  test('says of any rows what comparing them says', () => {
    const letter = fc.constantFrom('a', 'b', 'c')
    const anyRows = fc.uniqueArray(
      fc.record({ document: letter, revision: letter, provision: letter, chunk: fc.string() }),
      { selector: ({ chunk }) => chunk, maxLength: 20 },
    )
    fc.assert(
      fc.property(anyRows, (rows) => {
        const { documents, provisions, chunkRanks, sameRevisionAsPrevious, returned } = tableOf(rows)
        for (const [a, one] of rows.entries()) {
          expect(sameRevisionAsPrevious[a] === 1).toBe(a > 0 && rows[a - 1]?.revision === one.revision)
          expect(returned[a]).toBe(sameRevisionAsPrevious[a] === 1)
          for (const [b, other] of rows.entries()) {
            expect(documents[a] === documents[b]).toBe(one.document === other.document)
            expect(provisions[a] === provisions[b]).toBe(one.provision === other.provision)
            expect((chunkRanks[a] ?? 0) < (chunkRanks[b] ?? 0)).toBe(one.chunk < other.chunk)
          }
        }
      }),
    )
  })
})
