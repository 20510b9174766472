import { describe, expect, inject, test } from 'vitest'
import type { ArtifactRow } from '#core/index/format/writer.ts'
import type { SearchResult, Withdrawn } from '#core/domain/search.ts'
import type { SearchInput } from '#search-node/search/interfaces.ts'
import { queryNear, questionOn, seededRandom, wordedRows } from '#test/support/passages.ts'
import { RANKING } from '#test/support/search.ts'
import { openCorpus } from '#test/support/fixtures.ts'

const { seed } = inject('random')
const ROWS = 120
const CLUSTERS = 12

const rows = wordedRows({
  rows: ROWS,
  dimensions: 16,
  seed,
  clusters: CLUSTERS,
  // Every provision has a revision of 2024 and one of 2025; the rows of a record are two parts of it.
  traits: (n) => ({
    inForceFrom: n % 4 < 2 ? '2024-01-01' : '2025-01-01',
    inForceTo: n % 4 < 2 ? '2025-01-01' : null,
    provision: `provision ${Math.floor(n / 4)} part ${n % 2}`,
    sourceId: `record ${Math.floor(n / 2)}`,
  }),
})
const corpus = await openCorpus({ rows })

const ask = (change: Partial<SearchInput>): Promise<SearchResult> => corpus.ask(change)

function recordAt(row: number): ArtifactRow['record'] {
  const found = rows[row]
  if (found === undefined) throw new Error(`there is no row ${row}`)
  return found.record
}

const documentAt = (row: number): Withdrawn => ({ document: recordAt(row).document.id, provisions: [], chunkId: '' })
const passageAt = (row: number): Withdrawn => ({ ...documentAt(row), chunkId: recordAt(row).chunk_id })
const provisionAt = (row: number): Withdrawn => ({ ...documentAt(row), provisions: [recordAt(row).provision] })

function bitsOf(kept: (row: number) => boolean): Uint8Array {
  const bits = new Uint8Array(Math.ceil(ROWS / 32) * 4)
  for (let row = 0; row < ROWS; row++) if (kept(row)) bits[row >>> 3] = (bits[row >>> 3] ?? 0) | (1 << (row & 7))
  return bits
}

/** The rows that the definition of a withdrawal names. */
function isWithdrawn(row: number, withdrawn: readonly Withdrawn[]): boolean {
  const { document, chunk_id, source_id } = recordAt(row)
  return withdrawn.some((one) => {
    if (one.document !== document.id) return false
    if (one.chunkId !== '') return one.chunkId === chunk_id
    return (
      one.provisions.length === 0 ||
      rows.some(
        ({ record }) =>
          one.provisions.includes(record.provision) &&
          record.document.id === document.id &&
          record.source_id === source_id &&
          record.document.revision_id === recordAt(row).document.revision_id,
      )
    )
  })
}

describe('What is withdrawn', () => {
  test('leaves a search as a filter does: passages, scores and predictors are those of the rest alone', async () => {
    const random = seededRandom(seed)
    const draw = (): number => Math.floor(random() * ROWS)
    for (let run = 0; run < 12; run++) {
      const withdrawn = [passageAt(draw()), provisionAt(draw()), ...(run % 3 === 0 ? [documentAt(draw())] : [])]
      const question = { text: questionOn(run % CLUSTERS, random), vector: queryNear(rows, draw(), random), limit: 20 }
      const onlyRows = bitsOf((row) => !isWithdrawn(row, withdrawn))
      const expected = await ask({ ...question, onlyRows })
      expect(await ask({ ...question, withdrawn })).toEqual(expected)
      expect(await ask({ ...question, withdrawn: withdrawn.toReversed() })).toEqual(expected)
      expect(expected.passages.some(({ row }) => isWithdrawn(row, withdrawn))).toBe(false)
    }
  })

  test('of a provision is every part of it, in every revision that has the part', async () => {
    const { passages } = await ask({ vector: rows[40]?.vector, limit: ROWS, withdrawn: [provisionAt(41)] })
    const left = new Set(passages.map(({ row }) => row))
    expect(Array.from({ length: ROWS }, (_, row) => row).filter((row) => !left.has(row))).toEqual(
      Array.from({ length: ROWS }, (_, row) => row).filter((row) => isWithdrawn(row, [provisionAt(41)])),
    )
    expect(left.size).toBeLessThan(ROWS - 1)
  })

  test('is not replaced by the text that it had superseded', async () => {
    const day = { ...RANKING, collapseRevisionsOn: '2025-06-01' }
    const before = await ask({ vector: rows[7]?.vector, limit: ROWS, ranking: day })
    for (const [current] of before.passages.slice(0, 5).map(({ row }) => [row] as const)) {
      const after = await ask({ vector: rows[7]?.vector, limit: ROWS, ranking: day, withdrawn: [passageAt(current)] })
      expect(after.passages.map(({ row }) => row)).toEqual(
        before.passages.map(({ row }) => row).filter((row) => row !== current),
      )
    }
  })

  test('that the version does not hold changes nothing', async () => {
    const question = { vector: rows[3]?.vector, limit: 10 }
    const strange = { ...passageAt(3), chunkId: `chk_${'0'.repeat(40)}` }
    const elsewhere = { ...documentAt(3), document: '00000000-0000-4000-8000-000000000000' }
    expect(await ask({ ...question, withdrawn: [strange, elsewhere] })).toEqual(await ask(question))
  })
})
