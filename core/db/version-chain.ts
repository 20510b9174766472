import { z } from 'zod'
import { DATABASE_BOUNDS } from './bounds.ts'
import type { Queryable } from './pool.ts'
import { batches, changesOne, execute, oneRowOf, rowOf, rowsOf } from './rows.ts'

const linkSchema = z.object({
  sequence: z.int(),
  /** The signed text. */
  entry: z.string(),
  record: z.string(),
  signature: z.instanceof(Buffer),
})
export type ChainLink = z.infer<typeof linkSchema>

const COLUMNS = 'select sequence::float8 as sequence, entry, record, signature from version_chain'
const readLinks = rowsOf(linkSchema)<[knowledgeBaseId: string, after: number, limit: number]>`
  ${COLUMNS} where knowledge_base_id = $1 and sequence > $2 order by sequence limit $3`

export async function* readChain(database: Queryable, knowledgeBaseId: string): AsyncGenerator<ChainLink> {
  for await (const batch of batches(
    DATABASE_BOUNDS.chainBatchMax,
    ({ sequence }: ChainLink) => sequence,
    (after: number | null, limit) => readLinks(database, knowledgeBaseId, after ?? 0, limit),
  ))
    yield* batch
}

export const readLastLink = rowOf(linkSchema)<[knowledgeBaseId: string]>`
  ${COLUMNS} where knowledge_base_id = $1 order by sequence desc limit 1`

export const hasLink = changesOne<[knowledgeBaseId: string, sequence: number, entry: string]>`
  select from version_chain where knowledge_base_id = $1 and sequence = $2 and entry = $3`

export const newestLinks = rowsOf(linkSchema.pick({ entry: true, signature: true }))<[versionIds: readonly string[]]>`
  select distinct on (entry::jsonb ->> 'version_id') entry, signature from version_chain
  where entry::jsonb ->> 'version_id' = any ($1) order by entry::jsonb ->> 'version_id', sequence desc`

const tracedSchema = z.object({ id: z.uuid(), slug: z.string(), title: z.string(), sequence: z.int() })
/** A knowledge base whose activations extend the public trace, with the newest sequence of its chain. */
export type TracedBase = z.infer<typeof tracedSchema>

export const listTraced = rowsOf(tracedSchema)<[limit: number]>`
  select k.id, k.slug, k.title, max(c.sequence)::float8 as sequence
  from knowledge_bases k
  join version_chain c on c.knowledge_base_id = k.id
  where k.traced
  group by k.id, k.slug, k.title
  order by k.slug limit $1`

export const readPlace = oneRowOf(z.object({ sequence: z.int(), finished_at: z.date() }))<[activationId: string]>`
  select sequence::float8 as sequence, finished_at from activations where id = $1 and sequence is not null`

/** The guard of the table refuses an entry that does not continue the chain. */
export const insertLink = execute.named<ChainLink & { readonly knowledgeBaseId: string }>`
  insert into version_chain (knowledge_base_id, sequence, entry, record, signature)
  values (:knowledgeBaseId, :sequence, :entry, :record, :signature)`
