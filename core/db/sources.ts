import { z } from 'zod'
import { embeddingSpaceSchema } from '#core/index/format/manifest.ts'
import { changes, changesOne, execute, rowOf, rowsOf, valueOf, valuesOf } from './rows.ts'

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
  /** Of a clone, on its first file: captured commits that its history lacks, each with the day since. */
  gone: z.record(z.string(), z.string()).optional(),
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

export interface NewSource extends Pick<
  SourceRow,
  'id' | 'knowledge_base_id' | 'name' | 'location' | 'hosts' | 'private' | 'every_minutes'
> {
  readonly mapping: unknown
}

/** @returns false where the knowledge base has a source of the name. */
export const insertSource = changesOne.named<NewSource>`
  insert into sources (id, knowledge_base_id, name, location, mapping, hosts, private, every_minutes)
  values (:id, :knowledge_base_id, :name, :location, :mapping::json, :hosts, :private, :every_minutes)
  on conflict do nothing`

/** @param knowledgeBaseId null: those of all. */
export const listSources = rowsOf(sourceSchema)<[knowledgeBaseId: string | null, limit: number]>`
  select s.id, s.knowledge_base_id, k.slug as knowledge_base, s.name, s.location, s.mapping, s.hosts, s.private,
    s.every_minutes, s.created_at, c.outcome as last_outcome, c.captured_at as last_captured_at
  from sources s join knowledge_bases k on k.id = s.knowledge_base_id
  left join lateral (select outcome, captured_at from captures where source_id = s.id order by id desc limit 1) c on true
  where s.removed_at is null and ($1::uuid is null or s.knowledge_base_id = $1)
  order by k.slug, s.name limit $2`

export const removeSource = changesOne<[id: string]>`
  update sources set removed_at = now() where id = $1 and removed_at is null`

export const insertCapture = execute.named<Omit<z.infer<typeof captureSchema>, 'captured_at'>>`
  insert into captures (source_id, outcome, message, files) values (:source_id, :outcome, :message, :files::jsonb)`

const COLUMNS = 'source_id, outcome, message, files, captured_at'
/** Newest first. */
export const lastCaptures = rowsOf(captureSchema)<[sourceId: string, limit: number]>`
  select ${COLUMNS} from captures where source_id = $1 order by id desc limit $2`

/** The capture that is in force: a failed one changes nothing. */
export const lastGoodCapture = rowOf(captureSchema)<[sourceId: string]>`
  select ${COLUMNS} from captures where source_id = $1 and outcome <> 'failed' order by id desc limit 1`

/**
 * Forgets captures that found nothing new: neither a change, nor the last capture of its source, nor the one that is in
 * force. Those with bytes of their own stay, so that these are known and can go. @returns how many were forgotten.
 */
export const forgetCaptures = changes<[days: number, limit: number]>`
delete from captures where id in (
  select c.id from captures c
  where c.outcome <> 'changed' and c.captured_at < now() - make_interval(days => $1)
    and c.id < (select l.id from captures l where l.source_id = c.source_id order by l.id desc limit 1)
    and c.id is distinct from (
      select g.id from captures g where g.source_id = c.source_id and g.outcome <> 'failed' order by g.id desc limit 1)
    and (c.outcome = 'unchanged' or c.files is null)
  order by c.id limit $2)`

const newestImportSchema = z.object({
  id: z.uuid(),
  mapping: z.unknown(),
  files: z.array(z.tuple([z.string(), z.string()])),
})

/** The newest import of a knowledge base, by the files that it read. */
export const newestImport = rowOf(newestImportSchema)<[knowledgeBaseId: string]>`
  select i.id, i.mapping,
    (select jsonb_agg(jsonb_build_array(s.source_name, encode(s.sha256, 'hex')))
     from source_snapshots s where s.id = any(i.snapshot_ids)) as files
  from imports i where i.knowledge_base_id = $1 order by i.created_at desc, i.id limit 1`

/**
 * The build of another import of the same files with the same mapping, which was imported since `$2` was the newest. An
 * operator may import and build while a schedule imports the same.
 */
export const builtMeanwhile = changesOne<[importId: string, before: string | undefined]>`
select b.id from builds b join imports i on i.id = b.import_id join imports own on own.id = $1
where i.id <> own.id and i.knowledge_base_id = own.knowledge_base_id and i.mapping::jsonb = own.mapping::jsonb
  and i.snapshot_ids @> own.snapshot_ids and i.snapshot_ids <@ own.snapshot_ids
  and i.created_at > coalesce((select created_at from imports where id = $2), '-infinity')
limit 1`

/** Names of the versions of files that were imported from repositories. */
export const importedVersions = valuesOf(z.string())<[knowledgeBaseId: string]>`
  select source_name from source_snapshots where knowledge_base_id = $1 and source_name like '%?commit=%'`

/** One of some commits by which the active version holds a text. */
export const commitOfActive = valueOf(z.string().optional())<[knowledgeBaseId: string, commits: readonly string[]]>`
  select c from active_versions a join corpus_versions v on v.id = a.version_id join builds b on b.id = v.build_id
  join imports i on i.id = b.import_id join source_snapshots s on s.id = any(i.snapshot_ids),
  substring(s.source_name from '[?]commit=([0-9a-f]+)&') as c
  where a.knowledge_base_id = $1 and c = any($2) limit 1`

const newestBuildSchema = z.object({
  parameters: z.unknown(),
  /** Of its version; null where that has no vectors, or there is none. */
  embedding: embeddingSpaceSchema.nullable(),
})

/** With what the newest build of a knowledge base was asked for; undefined where there is none. */
export const newestBuild = rowOf(newestBuildSchema)<[knowledgeBaseId: string]>`
  select b.parameters, v.embedding from builds b left join corpus_versions v on v.build_id = b.id
  where b.knowledge_base_id = $1 order by b.created_at desc limit 1`

const lastCaptureSchema = z.object({
  knowledge_base: z.string(),
  outcome: z.enum([...CAPTURE_OUTCOMES, 'none']),
  count: z.int(),
})

/**
 * Sources by the outcome of their last capture; the index on captures gives it.
 * @returns how many sources had which outcome last, for each knowledge base; `none`: not captured yet.
 */
export const sourcesByLastCapture = rowsOf(lastCaptureSchema)<[limit: number]>`
  select k.slug as knowledge_base, coalesce(c.outcome, 'none') as outcome, count(*)::int as count
  from sources s join knowledge_bases k on k.id = s.knowledge_base_id
  left join lateral (select outcome from captures where source_id = s.id order by id desc limit 1) c on true
  where s.removed_at is null
  group by k.slug, c.outcome order by k.slug, c.outcome limit $1`
