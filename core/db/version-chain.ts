import { z } from 'zod'
import { DATABASE_BOUNDS } from './bounds.ts'
import type { Queryable } from './pool.ts'
import { affectsRow, readRow, readRows } from './rows.ts'

const linkSchema = z.object({
  sequence: z.int(),
  /** The signed text. */
  entry: z.string(),
  record: z.string(),
  signature: z.instanceof(Buffer),
})
/** An entry of the version chain as it is stored. */
export type ChainLink = z.infer<typeof linkSchema>

const COLUMNS = 'select sequence::float8 as sequence, entry, record, signature from version_chain'
const READ = `${COLUMNS} where knowledge_base_id = $1 and sequence > $2 order by sequence limit $3`

/** The whole chain of a knowledge base in order, in batches. */
export async function* readChain(database: Queryable, knowledgeBaseId: string): AsyncGenerator<ChainLink> {
  for (let after = 0; ;) {
    const batch = await readRows(database, linkSchema, READ, [knowledgeBaseId, after, DATABASE_BOUNDS.chainBatchMax])
    yield* batch
    if (batch.length < DATABASE_BOUNDS.chainBatchMax) return
    after = batch.at(-1)?.sequence ?? after
  }
}

const LAST = `${COLUMNS} where knowledge_base_id = $1 order by sequence desc limit 1`

export function readLastLink(database: Queryable, knowledgeBaseId: string): Promise<ChainLink | undefined> {
  return readRow(database, linkSchema, LAST, [knowledgeBaseId])
}

const HAS = 'select from version_chain where knowledge_base_id = $1 and sequence = $2 and entry = $3'

export function hasLink(
  database: Queryable,
  knowledgeBaseId: string,
  { sequence, entry }: Pick<ChainLink, 'sequence' | 'entry'>,
): Promise<boolean> {
  return affectsRow(database, HAS, [knowledgeBaseId, sequence, entry])
}

/** The newest entry of each version. */
const NEWEST = `
select distinct on (entry::jsonb ->> 'version_id') entry, signature from version_chain
where entry::jsonb ->> 'version_id' = any ($1) order by entry::jsonb ->> 'version_id', sequence desc`

export function newestLinks(
  database: Queryable,
  versionIds: readonly string[],
): Promise<readonly Pick<ChainLink, 'entry' | 'signature'>[]> {
  return readRows(database, linkSchema.pick({ entry: true, signature: true }), NEWEST, [versionIds])
}

const tracedSchema = z.object({ id: z.uuid(), slug: z.string(), title: z.string(), sequence: z.int() })
/** A knowledge base whose activations extend the public trace, with the newest sequence of its chain. */
export type TracedBase = z.infer<typeof tracedSchema>

const TRACED = `
select k.id, k.slug, k.title, max(c.sequence)::float8 as sequence
from knowledge_bases k
join version_chain c on c.knowledge_base_id = k.id
where k.traced
group by k.id, k.slug, k.title
order by k.slug limit $1`

export async function listTraced(database: Queryable, limit: number): Promise<readonly TracedBase[]> {
  return readRows(database, tracedSchema, TRACED, [limit])
}

/** The place of a done activation in the history. */
const PLACE = 'select sequence::float8 as sequence, finished_at from activations where id = $1 and sequence is not null'
const placeSchema = z.object({ sequence: z.int(), finished_at: z.date() })

export async function readPlace(database: Queryable, activationId: string): Promise<z.infer<typeof placeSchema>> {
  return placeSchema.parse((await database.query(PLACE, [activationId])).rows[0])
}

const INSERT =
  'insert into version_chain (knowledge_base_id, sequence, entry, record, signature) values ($1, $2, $3, $4, $5)'

/** The guard of the table refuses an entry that does not continue the chain. */
export async function insertLink(database: Queryable, knowledgeBaseId: string, link: ChainLink): Promise<void> {
  const { sequence, entry, record, signature } = link
  await database.query(INSERT, [knowledgeBaseId, sequence, entry, record, signature])
}
