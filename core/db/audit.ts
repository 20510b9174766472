import { z } from 'zod'
import { withinLockTimeout } from './lock-timeout.ts'
import type { Queryable } from './pool.ts'
import { batches, execute, rowOf, rowsOf } from './rows.ts'
import { sha256 } from '#core/platform/digest.ts'
import { DATABASE_BOUNDS } from './bounds.ts'

/** A recorded action. Jobs and operator append, the operator reads; nobody changes or deletes. */
export interface AuditEntry {
  readonly actor: string
  /** `noun.verb`, e.g. `key.revoke`. */
  readonly action: string
  /** `noun:uuid` of the object of the action. */
  readonly subject: string
  readonly detail?: Readonly<Record<string, unknown>>
}

const auditRow = z.object({
  /** Number in the chain: dense, from 1. */
  seq: z.int(),
  at: z.date(),
  /** Name that the operator states. */
  actor: z.string(),
  /** Login role of the session, as Postgres knows it. */
  login: z.string(),
  action: z.string(),
  subject: z.string(),
  detail: z.record(z.string(), z.unknown()),
})

export interface AuditFilter {
  readonly actor?: string | undefined
  /** Matches the action itself or, with a noun alone, every action of that noun. */
  readonly action?: string | undefined
  /** Part of the subject or the detail, e.g. a name or a UUID. */
  readonly about?: string | undefined
  readonly from?: Date | undefined
  readonly to?: Date | undefined
  readonly limit: number
}

/** The end of the chain. Its hash covers every entry up to it, so a copy kept elsewhere proves them. */
export const auditHeadSchema = z.object({
  seq: z.int().nonnegative(),
  /** 64 hex digits. */
  hash: z.string().regex(/^[0-9a-f]{64}$/),
})
export type AuditHead = z.infer<typeof auditHeadSchema>

/** The head before the first entry. */
export const EMPTY_AUDIT_HEAD: AuditHead = { seq: 0, hash: '0'.repeat(64) }

const readNewest = rowOf(auditHeadSchema)`
  select seq::float8 as seq, encode(hash, 'hex') as hash from audit order by audit.seq desc limit 1`

export async function readAuditHead(database: Queryable): Promise<AuditHead> {
  return (await readNewest(database)) ?? EMPTY_AUDIT_HEAD
}

/**
 * Runs inside the transaction of the change it records, so neither exists without the other. A trigger sets place,
 * time, login and hash under the lock of the chain, and the transaction holds that lock to its end. The entry is
 * therefore the last statement of the transaction: whoever waits for the chain holds nothing that its holder needs.
 */
const append = execute.named<AuditEntry>`
  insert into audit (actor, action, subject, detail) values (:actor, :action, :subject, :detail)`

/** @throws OperatorError when another session holds the chain for too long. */
export async function appendAudit(database: Queryable, entry: AuditEntry): Promise<void> {
  await withinLockTimeout('The audit trail', append(database, { detail: {}, ...entry }))
}

/** `strpos` instead of `like` takes the operator's input literally. */
const readAudit = rowsOf(auditRow).named<Required<AuditFilter>>`
  select seq::float8 as seq, at, actor, login, action, subject, detail
  from audit
  where (:actor::text is null or actor = :actor)
    and (:action::text is null or action = :action or split_part(action, '.', 1) = :action)
    and (:about::text is null or strpos(subject, :about) > 0 or strpos(detail::text, :about) > 0)
    and (:from::timestamptz is null or at >= :from)
    and (:to::timestamptz is null or at < :to)
  order by audit.seq desc
  limit :limit`

/** Newest first. */
export function listAudit(database: Queryable, { actor, action, about, from, to, limit }: AuditFilter) {
  return readAudit(database, { actor, action, about, from, to, limit })
}

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
const readBatch = rowsOf(chainedEntry)<[after: number | null, limit: number]>`
select seq::float8 as seq, (extract(epoch from at) * 1000000)::bigint::text as at_us, at, login, actor,
  action, subject, detail::text as detail, encode(previous_hash, 'hex') as previous_hash, encode(hash, 'hex') as hash
from audit where $1::bigint is null or seq > $1 order by audit.seq limit $2`

export function readAuditChain(database: Queryable): AsyncGenerator<readonly ChainedEntry[]> {
  const keyOf = ({ seq }: ChainedEntry): number => seq
  return batches(DATABASE_BOUNDS.auditBatchMax, keyOf, (after, max) => readBatch(database, after, max))
}

const readHashes = rowsOf(auditHeadSchema)<[seqs: readonly number[]]>`
  select seq::float8 as seq, encode(hash, 'hex') as hash from audit where seq = any ($1::bigint[])`

/** @returns the recorded hash of each of these entries that exists, by number. */
export async function readAuditHashes(database: Queryable, seqs: readonly number[]) {
  return new Map((await readHashes(database, seqs)).map(({ seq, hash }) => [seq, hash]))
}
