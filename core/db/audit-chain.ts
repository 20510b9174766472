import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import { DATABASE_BOUNDS } from './bounds.ts'
import type { AuditHead } from './audit.ts'
import type { Queryable } from './pool.ts'
import { readRows } from './rows.ts'

const chainedEntry = z.object({
  seq: z.int(),
  /** Microseconds since 1970, UTC. */
  at_us: z.string(),
  at: z.date(),
  login: z.string(),
  actor: z.string(),
  action: z.string(),
  subject: z.string(),
  /** Text of the jsonb. */
  detail: z.string(),
  previous_hash: z.string(),
  hash: z.string(),
})
/** An entry of the audit trail with every column that its hash covers. Hashes are hex. */
export type ChainedEntry = z.infer<typeof chainedEntry>

/** Computes what the function `audit_hash` of the database computes, from the stored columns alone. @returns hex. */
function auditHash(entry: ChainedEntry): string {
  const fields = [String(entry.seq), entry.at_us, entry.login, entry.actor, entry.action, entry.subject, entry.detail]
  return sha256(Buffer.concat([Buffer.from(entry.previous_hash, 'hex'), ...fields.map(fieldBytes)])).toString('hex')
}

/** UTF-8 after its length in 32 bits, big-endian. */
function fieldBytes(value: string): Buffer {
  const text = Buffer.from(value, 'utf8')
  const length = Buffer.alloc(4)
  length.writeInt32BE(text.length)
  return Buffer.concat([length, text])
}

/** @returns why this entry does not continue the chain that ends at `last`, or undefined if it does. */
export function chainFault(last: AuditHead, entry: ChainedEntry): string | undefined {
  if (entry.seq !== last.seq + 1)
    return entry.seq > last.seq
      ? `Entry ${last.seq + 1} is missing: entry ${entry.seq} comes after entry ${last.seq}.`
      : `Entry ${entry.seq} was inserted: entries are numbered from 1.`
  if (auditHash(entry) !== entry.hash) return `Entry ${entry.seq} was altered: its fields do not have its hash.`
  if (entry.previous_hash !== last.hash)
    return `Entry ${entry.seq} does not continue entry ${last.seq}: one of the two was inserted, moved or replaced.`
  return undefined
}

/** In order of the chain. A null start reads from the lowest number, whatever it is. */
const READ_CHAIN = `
select seq::float8 as seq, (extract(epoch from at) * 1000000)::bigint::text as at_us, at, login, actor,
  action, subject, detail::text as detail, encode(previous_hash, 'hex') as previous_hash, encode(hash, 'hex') as hash
from audit where $1::bigint is null or seq > $1 order by audit.seq limit $2`

/** Every entry in order, in batches, so that memory does not grow with the trail. */
export async function* readAuditChain(database: Queryable): AsyncGenerator<readonly ChainedEntry[]> {
  let after: number | null = null
  for (;;) {
    const page = [after, DATABASE_BOUNDS.auditBatchMax]
    const batch: readonly ChainedEntry[] = await readRows(database, chainedEntry, READ_CHAIN, page)
    yield batch
    if (batch.length < DATABASE_BOUNDS.auditBatchMax) return
    after = batch.at(-1)?.seq ?? null
  }
}

const READ_HASHES = "select seq::float8 as seq, encode(hash, 'hex') as hash from audit where seq = any ($1::bigint[])"

/** @returns the recorded hash of each of these entries that exists, by number. */
export async function readAuditHashes(
  database: Queryable,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const rows = await readRows(database, z.object({ seq: z.int(), hash: z.string() }), READ_HASHES, [seqs])
  return new Map(rows.map(({ seq, hash }) => [seq, hash]))
}
