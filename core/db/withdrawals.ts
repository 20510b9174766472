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
})
/** A withdrawal in force, without what people read. */
export type WithdrawalInForce = z.infer<typeof withdrawalInForceSchema>

export const withdrawalsInForce = rowsOf(withdrawalInForceSchema)<[knowledgeBaseId: string]>`
  select id, document_id as document, provisions, chunk_id from withdrawals
  where knowledge_base_id = $1 and restored_at is null order by id`

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
