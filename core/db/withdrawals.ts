import { z } from 'zod'
import type { Withdrawn } from '#core/domain/search.ts'
import type { Queryable } from './pool.ts'
import { readRow, readRows, affectsRow } from './rows.ts'
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

const LIST = `select ${COLUMNS} where ($1::uuid is null or w.knowledge_base_id = $1)
order by w.restored_at is not null, w.created_at desc, w.id limit $2`

/** Those in force first, the newest first. @param knowledgeBaseId null: of every knowledge base. */
export function listWithdrawals(database: Queryable, knowledgeBaseId: string | null, limit: number) {
  return readRows(database, withdrawalRow, LIST, [knowledgeBaseId, limit])
}

const READ = `select ${COLUMNS} where w.id = $1`

export function readWithdrawal(database: Queryable, id: string): Promise<WithdrawalRow | undefined> {
  return readRow(database, withdrawalRow, READ, [id])
}

export const withdrawalInForceSchema = z.object({
  id: z.uuid(),
  document: z.uuid(),
  provisions: z.array(z.uuid()),
  chunk_id: z.string(),
})
/** A withdrawal in force, without what people read. */
export type WithdrawalInForce = z.infer<typeof withdrawalInForceSchema>

const IN_FORCE = `select id, document_id as document, provisions, chunk_id from withdrawals
where knowledge_base_id = $1 and restored_at is null order by id`

export function withdrawalsInForce(database: Queryable, knowledgeBaseId: string) {
  return readRows(database, withdrawalInForceSchema, IN_FORCE, [knowledgeBaseId])
}

/** What a search leaves out for a withdrawal. */
export function withdrawnOf({ document, provisions, chunk_id: chunkId }: Omit<WithdrawalInForce, 'id'>): Withdrawn {
  return { document, provisions, chunkId }
}

/** What was withdrawn of the version at an instant; gateways follow within 5 s. */
const WITHDRAWN_AT = `
select w.id, w.document_id as document, w.provisions, w.chunk_id
from withdrawals as w join corpus_versions as v on v.knowledge_base_id = w.knowledge_base_id
where v.id = $1 and w.created_at <= $2 and (w.restored_at is null or w.restored_at > $2)
  and not v.withdrawals_decided @> array[w.id]`

export async function readWithdrawnAt(database: Queryable, versionId: string, at: Date): Promise<readonly Withdrawn[]> {
  return (await readRows(database, withdrawalInForceSchema, WITHDRAWN_AT, [versionId, at])).map(withdrawnOf)
}

const INSERT = `insert into withdrawals
  (id, knowledge_base_id, document_id, provisions, chunk_id, label, reason, statement, signatures)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`

export type NewWithdrawal = Omit<
  WithdrawalRow,
  'knowledge_base' | 'created_at' | 'restored_at' | 'restoration' | 'restoration_signatures'
>

/** In force on every gateway within the life of its cache. */
export async function insertWithdrawal(client: Queryable, row: NewWithdrawal): Promise<void> {
  const { id, knowledge_base_id, document_id, provisions, chunk_id, label, reason, statement, signatures } = row
  const withdrawn = [id, knowledge_base_id, document_id, provisions, chunk_id]
  await client.query(INSERT, [...withdrawn, label, reason, statement, JSON.stringify(signatures)])
}

const RESTORE = `update withdrawals set restored_at = now(), restoration = $2, restoration_signatures = $3
where id = $1 and restored_at is null`

/** @returns false where it was restored before. */
export function restoreWithdrawal(
  client: Queryable,
  id: string,
  restoration: string,
  signatures: WithdrawalRow['signatures'],
): Promise<boolean> {
  return affectsRow(client, RESTORE, [id, restoration, JSON.stringify(signatures)])
}
