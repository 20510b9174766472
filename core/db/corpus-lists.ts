import { z } from 'zod'
import { changesSchema } from '#core/domain/changes.ts'
import { embeddingCountsSchema } from '#core/domain/embedding-counts.ts'
import { embeddingSpaceSchema } from '#core/index/format/manifest.ts'
import { BUILD_STATES } from './builds.ts'
import { VERDICTS } from '#core/domain/review-statements.ts'
import { VERSION_STATES } from './versions.ts'
import { rowOf, rowsOf } from './rows.ts'

/** Lists of imports, builds and versions for the operator; nothing in the request path uses them. */

const importListRow = z.object({
  id: z.uuid(),
  knowledge_base: z.string(),
  sources: z.int(),
  passages: z.int().nullable(),
  skipped: z.int().nullable(),
  created_at: z.date(),
})

const importRow = z.object({
  id: z.uuid(),
  knowledge_base: z.string(),
  report: z.record(z.string(), z.unknown()),
  created_at: z.date(),
})
const buildListRow = z.object({
  id: z.uuid(),
  knowledge_base: z.string(),
  import_id: z.uuid(),
  state: z.enum(BUILD_STATES),
  stage: z.string().nullable(),
  done: z.number(),
  total: z.number(),
  attempt: z.int(),
  /** What the embed stage has done; null before it. */
  embedding: embeddingCountsSchema.nullable(),
  error: z.string().nullable(),
  parameters: z.record(z.string(), z.unknown()),
  /** When the next attempt begins, in the state `retrying`. */
  next_attempt_at: z.date().nullable(),
  /** Since the last heartbeat of a run, in the state `running`. */
  seconds_since_heartbeat: z.number().nullable(),
  version_id: z.uuid().nullable(),
  passed: z.boolean().nullable(),
  /** What its version changes; null: it has none, or no version was active. */
  changes: changesSchema.nullable(),
  created_at: z.date(),
  updated_at: z.date(),
})
export type BuildListRow = z.infer<typeof buildListRow>

const BUILDS = `
  select b.id, k.slug as knowledge_base, b.import_id, b.state, b.stage, b.done::float8 as done,
    b.total::float8 as total, b.attempt, b.embedding, b.error, b.next_attempt_at,
    case when b.state = 'running' then round(extract(epoch from clock_timestamp() - b.updated_at))::integer end
      as seconds_since_heartbeat,
    b.parameters, v.id as version_id, v.passed,
    v.evaluation -> 'comparison' -> 'changes' as changes,
    b.created_at, b.updated_at
  from builds b join knowledge_bases k on k.id = b.knowledge_base_id left join corpus_versions v on v.build_id = b.id`
const versionListRow = z.object({
  id: z.uuid(),
  knowledge_base: z.string(),
  knowledge_base_id: z.uuid(),
  state: z.enum(VERSION_STATES),
  passed: z.boolean(),
  verdict: z.enum(VERDICTS).nullable(),
  passages: z.int(),
  documents: z.int(),
  build_id: z.uuid(),
  profile_id: z.uuid(),
  threshold: z.number(),
  embedding: embeddingSpaceSchema.nullable(),
  manifest_digest: z.string(),
  facets: z.record(z.string(), z.array(z.string())),
  evaluation: z.record(z.string(), z.unknown()),
  created_at: z.date(),
})

const VERSIONS = `
  select v.id, k.slug as knowledge_base, v.knowledge_base_id, v.state, v.passed, v.passages, v.documents, v.build_id,
    v.facets, v.evaluation, v.created_at,
    v.embedding, encode(v.manifest_digest, 'hex') as manifest_digest, v.profile_id,
    (v.profile -> 'calibration' ->> 'threshold')::float8 as threshold,
    (select r.verdict from reviews r where r.version_id = v.id order by r.created_at desc, r.id limit 1) as verdict
  from corpus_versions v
  join knowledge_bases k on k.id = v.knowledge_base_id`
/** The version that requests are served from, and the one before it. */
const activeRow = z.object({ version_id: z.uuid(), previous_version_id: z.uuid().nullable() })
/** Two numbers of the report are enough to distinguish imports; the whole report may be long. */
export const listImports = rowsOf(importListRow)<[knowledgeBaseId: string | null, limit: number]>`
  select i.id, k.slug as knowledge_base, cardinality(i.snapshot_ids) as sources,
    (i.report ->> 'passages')::int as passages, (i.report ->> 'skipped')::int as skipped, i.created_at
  from imports i join knowledge_bases k on k.id = i.knowledge_base_id
  where $1::uuid is null or i.knowledge_base_id = $1
  order by i.created_at desc
  limit $2`

export const showImport = rowOf(importRow)<[id: string]>`
  select i.id, k.slug as knowledge_base, i.report, i.created_at from imports i join knowledge_bases k on k.id =
  i.knowledge_base_id where i.id = $1`

export const listBuilds = rowsOf(buildListRow)<[knowledgeBaseId: string | null, limit: number]>`
  ${BUILDS} where $1::uuid is null or b.knowledge_base_id = $1 order by b.created_at desc limit $2`

export const showBuild = rowOf(buildListRow)<[id: string]>`${BUILDS} where b.id = $1`

export const listVersions = rowsOf(versionListRow)<[knowledgeBaseId: string | null, limit: number]>`
  ${VERSIONS} where $1::uuid is null or v.knowledge_base_id = $1
    order by v.created_at desc limit $2`

export const showVersion = rowOf(versionListRow)<[id: string]>`${VERSIONS} where v.id = $1`

export const activePointer = rowOf(activeRow)<[knowledgeBaseId: string]>`
  select version_id, previous_version_id from active_versions where knowledge_base_id = $1`
