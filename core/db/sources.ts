import { z } from 'zod'
import { embeddingSpaceSchema } from '#core/index/format/manifest.ts'
import type { Queryable } from './pool.ts'
import { readRow, readRows, affectsRow } from './rows.ts'

export const CAPTURE_OUTCOMES = ['changed', 'unchanged', 'failed'] as const
export type CaptureOutcome = (typeof CAPTURE_OUTCOMES)[number]

const sourceSchema = z.object({
  id: z.uuid(),
  knowledge_base_id: z.uuid(),
  /** Slug. */
  knowledge_base: z.string(),
  name: z.string(),
  /** Path of a file or folder, or an address. */
  location: z.string(),
  /** Null: as the `source.yaml` of the folder says at each capture. */
  mapping: z.unknown(),
  /** Hosts that may answer beside the one of the address. */
  hosts: z.array(z.string()),
  /** Whether an address of a private network may answer. */
  private: z.boolean(),
  every_minutes: z.int().nullable(),
  created_at: z.date(),
  /** Null: nothing is captured yet. */
  last_outcome: z.enum(CAPTURE_OUTCOMES).nullable(),
  last_captured_at: z.date().nullable(),
})
/** Where files of law are captured from, again and again. */
export type SourceRow = z.infer<typeof sourceSchema>

/** A file as a capture found it; its bytes are in the artifact store. */
const capturedFileSchema = z.object({
  sourceName: z.string(),
  mediaType: z.string(),
  /** Names a file of the store. */
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.int().nonnegative(),
  /** Of an address: where the last redirect led, and the headers by which a change is asked for. */
  finalUrl: z.string().optional(),
  headers: z.record(z.string(), z.string()).optional(),
})
export type CapturedFile = z.infer<typeof capturedFileSchema>

const captureSchema = z.object({
  source_id: z.uuid(),
  outcome: z.enum(CAPTURE_OUTCOMES),
  /** Why it failed. */
  message: z.string().nullable(),
  files: z.array(capturedFileSchema).nullable(),
  captured_at: z.date(),
})
export type CaptureRow = z.infer<typeof captureSchema>

export interface NewSource extends Pick<
  SourceRow,
  'id' | 'knowledge_base_id' | 'name' | 'location' | 'hosts' | 'private' | 'every_minutes'
> {
  readonly mapping: unknown
}

const INSERT_SOURCE = `
insert into sources (id, knowledge_base_id, name, location, mapping, hosts, private, every_minutes)
values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing`

/** @returns false where the knowledge base has a source of the name. */
export function insertSource(database: Queryable, source: NewSource): Promise<boolean> {
  const { id, knowledge_base_id, name, location, mapping, hosts } = source
  return affectsRow(database, INSERT_SOURCE, [
    id,
    knowledge_base_id,
    name,
    location,
    mapping === null ? null : JSON.stringify(mapping),
    hosts,
    source.private,
    source.every_minutes,
  ])
}

const LIST_SOURCES = `
select s.id, s.knowledge_base_id, k.slug as knowledge_base, s.name, s.location, s.mapping, s.hosts, s.private,
  s.every_minutes, s.created_at, c.outcome as last_outcome, c.captured_at as last_captured_at
from sources s join knowledge_bases k on k.id = s.knowledge_base_id
left join lateral (select outcome, captured_at from captures where source_id = s.id order by id desc limit 1) c on true
where s.removed_at is null and ($1::uuid is null or s.knowledge_base_id = $1)
order by k.slug, s.name limit $2`

/** @param knowledgeBaseId null: those of all. */
export function listSources(database: Queryable, knowledgeBaseId: string | null, limit: number) {
  return readRows(database, sourceSchema, LIST_SOURCES, [knowledgeBaseId, limit])
}

const REMOVE_SOURCE = 'update sources set removed_at = now() where id = $1 and removed_at is null'

export function removeSource(database: Queryable, id: string): Promise<boolean> {
  return affectsRow(database, REMOVE_SOURCE, [id])
}

const INSERT_CAPTURE = 'insert into captures (source_id, outcome, message, files) values ($1, $2, $3, $4)'

export async function insertCapture(
  database: Queryable,
  { source_id, outcome, message, files }: Omit<CaptureRow, 'captured_at'>,
): Promise<void> {
  await database.query(INSERT_CAPTURE, [source_id, outcome, message, files === null ? null : JSON.stringify(files)])
}

const COLUMNS = 'source_id, outcome, message, files, captured_at'
const LAST_CAPTURES = `select ${COLUMNS} from captures where source_id = $1 order by id desc limit $2`

/** Newest first. */
export function lastCaptures(database: Queryable, sourceId: string, limit: number): Promise<readonly CaptureRow[]> {
  return readRows(database, captureSchema, LAST_CAPTURES, [sourceId, limit])
}

const LAST_GOOD = `
select ${COLUMNS} from captures where source_id = $1 and outcome <> 'failed' order by id desc limit 1`

/** The capture that is in force: a failed one changes nothing. */
export function lastGoodCapture(database: Queryable, sourceId: string): Promise<CaptureRow | undefined> {
  return readRow(database, captureSchema, LAST_GOOD, [sourceId])
}

/** Neither a change, nor the last capture of its source, nor the one that is in force. */
const FORGET_CAPTURES = `
delete from captures where id in (
  select c.id from captures c
  where c.outcome <> 'changed' and c.captured_at < now() - make_interval(days => $1)
    and c.id < (select l.id from captures l where l.source_id = c.source_id order by l.id desc limit 1)
    and c.id is distinct from (
      select g.id from captures g where g.source_id = c.source_id and g.outcome <> 'failed' order by g.id desc limit 1)
    and (c.outcome = 'unchanged' or c.files is null)
  order by c.id limit $2)`

/**
 * Forgets captures that found nothing new. Those with bytes of their own stay, so that these are known and can go.
 * @returns how many were forgotten.
 */
export async function forgetCaptures(database: Queryable, days: number, limit: number): Promise<number> {
  return (await database.query(FORGET_CAPTURES, [days, limit])).rowCount ?? 0
}

/** The newest import of a knowledge base, by the files that it read. */
const NEWEST_IMPORT = `
select i.id, i.mapping,
  (select jsonb_agg(jsonb_build_array(s.source_name, encode(s.sha256, 'hex')))
   from source_snapshots s where s.id = any(i.snapshot_ids)) as files
from imports i where i.knowledge_base_id = $1 order by i.created_at desc, i.id limit 1`
const newestImportSchema = z.object({
  id: z.uuid(),
  mapping: z.unknown(),
  files: z.array(z.tuple([z.string(), z.string()])),
})

export function newestImport(database: Queryable, knowledgeBaseId: string) {
  return readRow(database, newestImportSchema, NEWEST_IMPORT, [knowledgeBaseId])
}

/**
 * The build of another import of the same files with the same mapping, which was imported since `$2` was the newest. An
 * operator may import and build while a schedule imports the same.
 */
const BUILT_MEANWHILE = `
select b.id from builds b join imports i on i.id = b.import_id join imports own on own.id = $1
where i.id <> own.id and i.knowledge_base_id = own.knowledge_base_id and i.mapping::jsonb = own.mapping::jsonb
  and i.snapshot_ids @> own.snapshot_ids and i.snapshot_ids <@ own.snapshot_ids
  and i.created_at > coalesce((select created_at from imports where id = $2), '-infinity')
limit 1`

/** @param before the import that was the newest one before. */
export function builtMeanwhile(database: Queryable, importId: string, before: string | undefined): Promise<boolean> {
  return affectsRow(database, BUILT_MEANWHILE, [importId, before ?? null])
}

const NEWEST_BUILD = `
select b.parameters, v.embedding from builds b left join corpus_versions v on v.build_id = b.id
where b.knowledge_base_id = $1 order by b.created_at desc limit 1`

const newestBuildSchema = z.object({
  parameters: z.unknown(),
  /** Of its version; null where that has no vectors, or there is none. */
  embedding: embeddingSpaceSchema.nullable(),
})

/** With what the newest build of a knowledge base was asked for; undefined where there is none. */
export function newestBuild(database: Queryable, knowledgeBaseId: string) {
  return readRow(database, newestBuildSchema, NEWEST_BUILD, [knowledgeBaseId])
}

/** Sources by the outcome of their last capture; the index on captures gives it. */
const BY_LAST_CAPTURE = `
select k.slug as knowledge_base, coalesce(c.outcome, 'none') as outcome, count(*)::int as count
from sources s join knowledge_bases k on k.id = s.knowledge_base_id
left join lateral (select outcome from captures where source_id = s.id order by id desc limit 1) c on true
where s.removed_at is null
group by k.slug, c.outcome order by k.slug, c.outcome limit $1`
const lastCaptureSchema = z.object({
  knowledge_base: z.string(),
  outcome: z.enum([...CAPTURE_OUTCOMES, 'none']),
  count: z.int(),
})

/** @returns how many sources had which outcome last, for each knowledge base; `none`: not captured yet. */
export function sourcesByLastCapture(database: Queryable, limit: number) {
  return readRows(database, lastCaptureSchema, BY_LAST_CAPTURE, [limit])
}
