import { addRow, bitsetWords } from '#core/index/bitset.ts'
import { OPEN_END_DAY, dayNumber, facetsLayout, type Facets } from './layout.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'

type Bitsets = Map<string, Uint32Array>

/** Collects the facets of rows as they are added and returns the content of the two files; see `layout.ts`. */
export function createFacetsWriter(rows: number) {
  const words = bitsetWords(rows)
  const languages: Bitsets = new Map()
  const jurisdictions: Bitsets = new Map()
  const subjects: Bitsets = new Map()
  const statuses: Bitsets = new Map()
  const from = new Int32Array(rows)
  const to = new Int32Array(rows)

  function mark(bitsets: Bitsets, value: string, row: number): void {
    let bitset = bitsets.get(value)
    if (bitset === undefined) bitsets.set(value, (bitset = new Uint32Array(words)))
    addRow(bitset, row)
  }
  return {
    add(row: number, record: PassageRecord) {
      mark(languages, record.metadata.language, row)
      mark(jurisdictions, record.metadata.jurisdiction, row)
      for (const subject of record.subjects) mark(subjects, subject, row)
      mark(statuses, record.metadata.verification_status, row)
      from[row] = dayNumber(record.in_force_from)
      to[row] = record.in_force_to === null ? OPEN_END_DAY : dayNumber(record.in_force_to)
    },
    finish() {
      const families = [languages, jurisdictions, subjects, statuses].map((family) =>
        [...family.entries()].sort(([a], [b]) => (a < b ? -1 : 1)),
      )
      const [l = [], j = [], s = [], v = []] = families.map((family) => family.map(([value]) => value))
      const facets: Facets = { languages: l, jurisdictions: j, subjects: s, statuses: v }
      const layout = facetsLayout(rows, facets)
      const bytes = Buffer.alloc(layout.bytes)
      let at = 0
      for (const [, bitset] of families.flat()) {
        bytes.set(new Uint8Array(bitset.buffer), at)
        at += bitset.byteLength
      }
      bytes.set(new Uint8Array(from.buffer), layout.fromOffset)
      bytes.set(new Uint8Array(to.buffer), layout.toOffset)
      return { facets, bytes }
    },
  }
}
