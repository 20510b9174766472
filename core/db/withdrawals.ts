import { z } from 'zod'
import type { Withdrawn } from '#core/domain/search.ts'
import type { Queryable } from './pool.ts'
import { changesOne, execute, rowOf, rowsOf } from './rows.ts'
import { signatureSchema } from './review-policies.ts'

const withdrawalRow = z.object({
  id: z.uuid(),
  knowledge_base_id: z.uuid(),
  /** Slug. */
  knowledge_base: z.string(),
  document_id: z.uuid(),
  /** Empty, and no passage: the whole document. */
  provisions: z.array(z.uuid()),
  /** '': no single passage. */
  chunk_id: z.string(),
  label: z.string(),
  reason: z.string(),
  statement: z.string(),
  signatures: z.array(signatureSchema).readonly(),
  created_at: z.date(),
  /** Null: in force. */
  restored_at: z.date().nullable(),
  restoration: z.string().nullable(),
  restoration_signatures: z.array(signatureSchema).readonly().nullable(),
})
/** What is withdrawn from service, with what its reviewers signed. */
export type WithdrawalRow = z.infer<typeof withdrawalRow>

const COLUMNS = `w.id, w.knowledge_base_id, k.slug as knowledge_base, w.document_id, w.provisions, w.chunk_id, w.label,
  w.reason, w.statement, w.signatures, w.created_at, w.restored_at, w.restoration, w.restoration_signatures
from withdrawals w join knowledge_bases k on k.id = w.knowledge_base_id`

/** Those in force first, the newest first. @param knowledgeBaseId null: of every knowledge base. */
export const listWithdrawals = rowsOf(withdrawalRow)<[knowledgeBaseId: string | null, limit: number]>`
  select ${COLUMNS} where ($1::uuid is null or w.knowledge_base_id = $1)
  order by w.restored_at is not null, w.created_at desc, w.id limit $2`

export const readWithdrawal = rowOf(withdrawalRow)<[id: string]>`select ${COLUMNS} where w.id = $1`

export const withdrawalInForceSchema = z.object({
  id: z.uuid(),
  document: z.uuid(),
  provisions: z.array(z.uuid()),
  chunk_id: z.string(),
  label: z.string().optional(),
})
/** A withdrawal in force; gateways read no label, and earlier builds kept none. */
export type WithdrawalInForce = z.infer<typeof withdrawalInForceSchema>

export const withdrawalsInForce = rowsOf(withdrawalInForceSchema)<[knowledgeBaseId: string]>`
  select id, document_id as document, provisions, chunk_id, label from withdrawals
  where knowledge_base_id = $1 and restored_at is null order by id`

const texts = z.array(z.string()).transform((all): ReadonlySet<string> => new Set(all))
const withdrawnLawSchema = withdrawalInForceSchema.extend({
  in_force: z.boolean(),
  is_other: z.boolean(),
  created_at: z.date(),
  /** Empty: known by ids alone. */
  marks: texts,
  beside: texts,
  active_then: z.uuid().nullable(),
})
/** A withdrawal, and by what its law is known under any id. */
export type WithdrawnLaw = z.infer<typeof withdrawnLawSchema>

/** Withdrawals in force, and other law that was stated after the oldest of them. */
export const readWithdrawnLaw = rowsOf(withdrawnLawSchema)<[knowledgeBaseId: string]>`
  select id, document_id as document, provisions, chunk_id, label, restored_at is null as in_force, created_at, is_other is true as is_other,
    coalesce(marks, '{}') as marks, coalesce(beside, '{}') as beside, (select version_id from activations a
      where a.knowledge_base_id = $1 and finished_at < w.created_at and state = 'done'
      order by finished_at desc limit 1) as active_then
  from withdrawals w left join withdrawn_law on withdrawal_id = id
  where knowledge_base_id = $1 and (restored_at is null or is_other is distinct from false) and created_at >= (
    select min(created_at) from withdrawals where knowledge_base_id = $1 and restored_at is null)
  order by id`

export const insertWithdrawnLaw = execute<[id: string, version: string, isOther: boolean, ...sets: string[][]]>`
  insert into withdrawn_law (withdrawal_id, version_id, is_other, marks, beside) values ($1, $2, $3, $4, $5)
  on conflict do nothing`

/** What a search leaves out for a withdrawal. */
export function withdrawnOf({ document, provisions, chunk_id: chunkId }: Omit<WithdrawalInForce, 'id'>): Withdrawn {
  return { document, provisions, chunkId }
}

const readInForceAt = rowsOf(withdrawalInForceSchema)<[versionId: string, at: Date]>`
select w.id, w.document_id as document, w.provisions, w.chunk_id
from withdrawals as w join corpus_versions as v on v.knowledge_base_id = w.knowledge_base_id
where v.id = $1 and w.created_at <= $2 and (w.restored_at is null or w.restored_at > $2)
  and not v.withdrawals_decided @> array[w.id]`

/** What was withdrawn of the version at an instant; gateways follow within 5 s. */
export async function readWithdrawnAt(database: Queryable, versionId: string, at: Date): Promise<readonly Withdrawn[]> {
  return (await readInForceAt(database, versionId, at)).map(withdrawnOf)
}

export type NewWithdrawal = Omit<
  WithdrawalRow,
  'knowledge_base' | 'created_at' | 'restored_at' | 'restoration' | 'restoration_signatures'
>

/** In force on every gateway within the life of its cache. */
export const insertWithdrawal = execute.named<NewWithdrawal>`
  insert into withdrawals
    (id, knowledge_base_id, document_id, provisions, chunk_id, label, reason, statement, signatures)
  values (:id, :knowledge_base_id, :document_id, :provisions, :chunk_id, :label, :reason, :statement,
    :signatures::jsonb)`

/** @returns false where it was restored before. */
export const restoreWithdrawal = changesOne<[id: string, restoration: string, signatures: WithdrawalRow['signatures']]>`
  update withdrawals set restored_at = now(), restoration = $2, restoration_signatures = $3::jsonb
  where id = $1 and restored_at is null`
