import { z } from 'zod'
import { locationSchema, rowsOf } from './staging.ts'
import type { StagedLocation, Staging } from './staging.ts'

/** A kept record whose identity an earlier kept record has. */
export interface Renumbered {
  readonly record: StagedLocation
  readonly first: StagedLocation
  /** From 2; the import writes it behind the publisher's id. */
  readonly number: number
  /** Kept records of the identity so far. */
  readonly records: number
}

const REPEATED_IDS = `
select r.seq, r.source, r.line, r.id, r.identity, d.key as document_key, r.written, r.effective_at
from record r join document d on d.id = r.document
where r.kept = 1 and r.identity in (
  select identity from record where kept = 1 group by identity having count(*) > 1)
order by r.identity, r.seq`
const recordSchema = locationSchema.extend({
  seq: z.int(),
  identity: z.instanceof(Uint8Array),
  document_key: z.string(),
  written: z.string(),
  effective_at: z.int(),
})
export type NumberedRecord = z.infer<typeof recordSchema>

const IN_USE = 'select seq from record where identity = ? limit 1'
const INSERT_NUMBER = 'insert into numbered (seq, number) values (?, ?)'

/**
 * Numbers the kept records of one identity, after the first, in the order of the sources. An id that the publisher uses
 * is passed over, and no number of an id is tried twice, so the cost is linear. Yields each numbered record; all are
 * numbered once the last is taken.
 * @param identityOf returns the identity of the id that a record would get by a number; fails for an id that is too
 * long.
 */
export function* numberIds(
  staging: Staging,
  identityOf: (record: NumberedRecord, number: number) => Uint8Array,
): Generator<Renumbered> {
  const { connection } = staging
  const inUse = connection.prepare(IN_USE)
  const insert = connection.prepare(INSERT_NUMBER)
  let first: NumberedRecord | undefined
  let [next, records] = [2, 1]
  connection.exec('begin')
  for (const record of rowsOf(staging, REPEATED_IDS, recordSchema)) {
    if (first === undefined || !Buffer.from(first.identity).equals(record.identity)) {
      ;[first, next, records] = [record, 2, 1]
      continue
    }
    records += 1
    while (inUse.get(identityOf(record, next)) !== undefined) next += 1
    insert.run(record.seq, next)
    yield { record, first, number: next, records }
    next += 1
  }
  connection.exec('commit')
}
