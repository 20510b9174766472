import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import type { Queryable } from './pool.ts'

/** The captured bytes of one source. The bytes themselves are in the artifact store under their SHA-256. */
export interface SourceSnapshot {
  readonly id: string
  readonly sourceName: string
  readonly mediaType: string
  /** 64 hex digits. */
  readonly sha256: string
  readonly bytes: number
}

/** The input of a build: the mapping, and the snapshots in the order of their capture. */
export interface ImportRow {
  readonly id: string
  readonly knowledgeBaseId: string
  readonly mapping: unknown
  readonly snapshots: readonly SourceSnapshot[]
}

/** The same bytes of the same source are one snapshot. A repeated capture returns the id of the first. */
const INSERT_SNAPSHOT = `
with inserted as (
  insert into source_snapshots (id, knowledge_base_id, source_name, media_type, sha256, bytes)
  values ($1, $2, $3, $4, decode($5, 'hex'), $6)
  on conflict (knowledge_base_id, source_name, sha256) do nothing
  returning id
)
select id from inserted
union all
select id from source_snapshots where knowledge_base_id = $2 and source_name = $3 and sha256 = decode($5, 'hex')
limit 1`

/** @returns the id of the new or existing snapshot. */
export async function insertSnapshot(
  database: Queryable,
  knowledgeBaseId: string,
  snapshot: SourceSnapshot,
): Promise<string> {
  const { rows } = await database.query(INSERT_SNAPSHOT, [
    snapshot.id,
    knowledgeBaseId,
    snapshot.sourceName,
    snapshot.mediaType,
    snapshot.sha256,
    snapshot.bytes,
  ])
  return z.object({ id: z.uuid() }).parse(rows[0]).id
}

const INSERT_IMPORT =
  'insert into imports (id, knowledge_base_id, mapping, snapshot_ids, report) values ($1, $2, $3, $4, $5)'

export interface NewImport {
  readonly id: string
  readonly knowledgeBaseId: string
  readonly mapping: unknown
  readonly snapshotIds: readonly string[]
  readonly report: unknown
}

export async function insertImport(database: Queryable, row: NewImport): Promise<void> {
  await database.query(INSERT_IMPORT, [
    row.id,
    row.knowledgeBaseId,
    JSON.stringify(row.mapping),
    row.snapshotIds,
    JSON.stringify(row.report),
  ])
}

/** One row per snapshot, in the order of `snapshot_ids`. */
const READ_IMPORT = `
select i.knowledge_base_id, i.mapping, s.id as snapshot_id, s.source_name, s.media_type, encode(s.sha256,
  'hex') as sha256, s.bytes::float8 as bytes
from imports i
cross join lateral unnest(i.snapshot_ids) with ordinality as wanted (id, place)
join source_snapshots s on s.id = wanted.id
where i.id = $1
order by wanted.place`

const importRowSchema = z.object({
  knowledge_base_id: z.uuid(),
  mapping: z.unknown(),
  snapshot_id: z.uuid(),
  source_name: z.string(),
  media_type: z.string(),
  sha256: z.string(),
  bytes: z.number(),
})

/** @throws OperatorError when there is no such import. */
export async function readImport(database: Queryable, id: string): Promise<ImportRow> {
  const { rows } = await database.query(READ_IMPORT, [id])
  const parsed = z.array(importRowSchema).parse(rows)
  const first = parsed[0]
  if (first === undefined)
    throw new OperatorError(`There is no import ${id}: run "operator import" and build from the id it prints.`)
  const snapshots = parsed.map((row) => ({
    id: row.snapshot_id,
    sourceName: row.source_name,
    mediaType: row.media_type,
    sha256: row.sha256,
    bytes: row.bytes,
  }))
  return { id, knowledgeBaseId: first.knowledge_base_id, mapping: first.mapping, snapshots }
}
