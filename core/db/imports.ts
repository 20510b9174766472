import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { DATABASE_BOUNDS } from './bounds.ts'
import type { Queryable } from './pool.ts'
import { execute, ids, rowOf, rowsOf, valueOf } from './rows.ts'

const snapshotSchema = z.object({
  id: z.uuid(),
  sourceName: z.string(),
  mediaType: z.string(),
  /** 64 hex digits. */
  sha256: z.string(),
  bytes: z.number(),
  /** ISO 8601 UTC, and the command; Postgres sets them. */
  capturedAt: z
    .date()
    .transform((at) => at.toISOString())
    .optional(),
  capturedBy: z.string().optional(),
})
/** The captured bytes of one source. The bytes themselves are in the artifact store under their SHA-256. */
export type SourceSnapshot = Readonly<z.infer<typeof snapshotSchema>>

/** The input of a build: the mapping, and the snapshots in the order of their capture. */
export type ImportRow = Awaited<ReturnType<typeof readImport>>

/**
 * The same bytes of the same source are one snapshot, with one id. Two imports at once may meet at either unique index,
 * so no index is named. The rows are inserted in one order, so that such imports wait for each other instead of
 * deadlocking.
 */
const insertAbsent = execute<[knowledgeBaseId: string, snapshots: readonly SourceSnapshot[]]>`
insert into source_snapshots (id, knowledge_base_id, source_name, media_type, sha256, bytes)
select s.id, $1, s."sourceName", s."mediaType", decode(s.sha256, 'hex'), s.bytes
from jsonb_to_recordset($2::jsonb) as s (id uuid, "sourceName" text, "mediaType" text, sha256 text, bytes bigint)
on conflict do nothing`

/** A statement of its own: it sees the rows that another import committed while the insert waited for it. */
const findSnapshots = ids<[knowledgeBaseId: string, snapshots: readonly SourceSnapshot[]]>`
select s.id
from rows from (jsonb_to_recordset($2::jsonb) as ("sourceName" text, sha256 text))
  with ordinality as wanted (source_name, sha256, ordinal)
join source_snapshots s on s.knowledge_base_id = $1 and s.source_name = wanted.source_name
  and s.sha256 = decode(wanted.sha256, 'hex')
order by wanted.ordinal`

/**
 * Inserts the snapshots that do not exist yet, in batches.
 * @returns the id of each, new or existing, in the given order.
 */
export async function insertSnapshots(
  database: Queryable,
  knowledgeBaseId: string,
  snapshots: readonly SourceSnapshot[],
  onProgress: (done: number) => void = () => undefined,
): Promise<readonly string[]> {
  const all: string[] = []
  for (const batch of slices(snapshots.toSorted(bySourceAndContent)))
    await insertAbsent(database, knowledgeBaseId, batch)
  for (const batch of slices(snapshots)) {
    const found = await findSnapshots(database, knowledgeBaseId, batch)
    if (found.length !== batch.length) throw new Error('a snapshot that was inserted is not found')
    all.push(...found)
    onProgress(all.length)
  }
  return all
}

function* slices<T>(all: readonly T[]): Generator<readonly T[]> {
  const { insertRowsMax } = DATABASE_BOUNDS
  for (let from = 0; from < all.length; from += insertRowsMax) yield all.slice(from, from + insertRowsMax)
}

function bySourceAndContent(a: SourceSnapshot, b: SourceSnapshot): number {
  if (a.sourceName !== b.sourceName) return a.sourceName < b.sourceName ? -1 : 1
  return a.sha256 < b.sha256 ? -1 : 1
}

export interface NewImport {
  readonly id: string
  readonly knowledgeBaseId: string
  readonly mapping: unknown
  readonly snapshotIds: readonly string[]
  readonly report: unknown
}

export const insertImport = execute.named<NewImport>`
  insert into imports (id, knowledge_base_id, mapping, snapshot_ids, report)
  values (:id, :knowledgeBaseId, :mapping::json, :snapshotIds, :report::jsonb)`

const importRowSchema = z.object({ knowledge_base_id: z.uuid(), mapping: z.unknown(), snapshots: z.int() })
const readImportRow = rowOf(importRowSchema)<[id: string]>`
select knowledge_base_id, mapping, cardinality(snapshot_ids) as snapshots from imports where id = $1`

/** Snapshots of an import from one ordinal of `snapshot_ids` to another, in their order. */
const readSnapshots = rowsOf(snapshotSchema)<[id: string, from: number, to: number]>`
select s.id, s.source_name as "sourceName", s.media_type as "mediaType", encode(s.sha256, 'hex') as sha256,
  s.bytes::float8 as bytes, s.captured_at as "capturedAt", s.captured_by as "capturedBy"
from imports i
cross join lateral unnest(i.snapshot_ids[$2:$3]) with ordinality as wanted (id, ordinal)
join source_snapshots s on s.id = wanted.id
where i.id = $1
order by wanted.ordinal`

/** @throws OperatorError when there is no such import. */
export async function readImport(database: Queryable, id: string) {
  const found = await readImportRow(database, id)
  if (found === undefined)
    throw new OperatorError(`There is no import ${id}: run "operator import" and build from the id it prints.`)
  const snapshots: SourceSnapshot[] = []
  for (let from = 1; from <= found.snapshots; from += DATABASE_BOUNDS.insertRowsMax)
    snapshots.push(...(await readSnapshots(database, id, from, from + DATABASE_BOUNDS.insertRowsMax - 1)))
  return { id, knowledgeBaseId: found.knowledge_base_id, mapping: found.mapping, snapshots }
}

const importedSchema = z.object({ mapping: z.unknown(), report: z.unknown() })
export type Imported = z.infer<typeof importedSchema>

/** @returns the import, and then that of which a version is built; a version of null has none. */
export const readImported = rowsOf(importedSchema)<[id: string, versionId: string | null]>`
  select i.mapping, i.report, 1 as candidate from imports i where i.id = $1
  union all
  select i.mapping, i.report, 0 from corpus_versions v join builds b on b.id = v.build_id join imports i on i.id = b.import_id
  where v.id = $2
  order by candidate desc`

/** The report of the import of which a version is built, as it is stored. */
export const readReportOfVersion = valueOf(z.unknown())<[versionId: string]>`
  select i.report from corpus_versions v join builds b on b.id = v.build_id join imports i on i.id = b.import_id
  where v.id = $1`
