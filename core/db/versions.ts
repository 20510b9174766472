import { z } from 'zod'
import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { facetsSchema, type Facets } from '#core/index/facets/layout.ts'
import { embeddingSpaceSchema, type EmbeddingSpace } from '#core/index/format/manifest.ts'
import { changesSchema } from '#core/domain/changes.ts'
import {
  profileParametersSchema,
  rewriterSchema,
  storedParameters,
  type ProfileParameters,
} from '#core/domain/retrieval-profile.ts'
import { ROLLBACK_PATH } from './activation-history.ts'
import type { Queryable } from './pool.ts'
import { execute, ids, rowOf, rowsOf } from './rows.ts'

export const documentRowSchema = z.strictObject({ id: z.uuid(), key: z.string() })
export type DocumentRow = z.infer<typeof documentRowSchema>

export const revisionRowSchema = z.strictObject({
  id: z.uuid(),
  documentId: z.uuid(),
  snapshotId: z.uuid(),
  title: z.string(),
  /** ISO 8601 UTC. */
  publishedAt: z.string(),
  effectiveAt: z.string(),
  effectiveTo: z.string().nullable(),
  /** 64 hex digits. */
  contentSha256: z.string(),
  /** Which fields were derived, by which rule. */
  lineage: z.record(z.string(), z.string()),
})
export type RevisionRow = z.infer<typeof revisionRowSchema>

/** A document keeps its id in every version of its knowledge base, so it usually exists already. */
export const insertDocuments = execute<[knowledgeBaseId: string, documents: readonly DocumentRow[]]>`
insert into documents (id, knowledge_base_id, key)
select d.id, $1, d.key from jsonb_to_recordset($2::jsonb) as d (id uuid, key text)
on conflict do nothing`

/** A revision's id is derived from its content, so an unchanged revision exists already and stays as first recorded. */
export const insertRevisions = execute<[revisions: readonly RevisionRow[]]>`
insert into revisions (id, document_id, snapshot_id, title, published_at, effective_at, effective_to, content_sha256,
  lineage)
select r.id, r."documentId", r."snapshotId", r.title, r."publishedAt", r."effectiveAt", r."effectiveTo",
  decode(r."contentSha256", 'hex'), r.lineage
from jsonb_to_recordset($1::jsonb) as r (id uuid, "documentId" uuid, "snapshotId" uuid, title text,
  "publishedAt" timestamptz, "effectiveAt" timestamptz,
  "effectiveTo" timestamptz, "contentSha256" text, lineage jsonb)
on conflict (id) do nothing`

/** SHA-256 (hex) of the files that reviewers read. */
export interface ReportFiles {
  readonly report: string
  readonly figures: string
  /** Null: no version was active. */
  readonly changes: string | null
}

export interface NewVersion {
  readonly id: string
  readonly knowledgeBaseId: string
  readonly buildId: string
  readonly passages: number
  readonly documents: number
  readonly facets: Facets
  readonly evaluation: unknown
  readonly passed: boolean
  readonly files: ReportFiles
  /** Null for a version without vectors. */
  readonly embedding: EmbeddingSpace | null
  readonly manifestDigest: Buffer
  readonly profileId: string
  readonly profile: ProfileParameters
  /** Ids of withdrawals that do not apply to it. */
  readonly withdrawalsDecided: readonly string[]
}

const insert = execute.named<Omit<NewVersion, 'profile'> & { readonly profile: unknown }>`
  insert into corpus_versions (id, knowledge_base_id, build_id, manifest_digest, embedding, passages, documents, facets,
    profile_id, profile, evaluation, passed, report_sha256, figures_sha256, changes_sha256, withdrawals_decided)
  values (:id, :knowledgeBaseId, :buildId, :manifestDigest, :embedding, :passages, :documents, :facets,
    :profileId, :profile, :evaluation, :passed, decode(:files.report, 'hex'), decode(:files.figures, 'hex'),
    decode(:files.changes, 'hex'), :withdrawalsDecided)`

export async function insertVersion(database: Queryable, version: NewVersion): Promise<void> {
  await insert(database, { ...version, profile: storedParameters(version.profile) })
}

export const VERSION_STATES = ['candidate', 'active', 'retired', 'rejected'] as const

/** What an activation reads of a stored report. */
const comparisonSchema = z.object({
  version_id: z.uuid(),
  worse: z.boolean(),
  worse_on: z.array(z.string()),
  changes: changesSchema,
})

const versionColumns = z.object({
  id: z.uuid(),
  knowledge_base_id: z.uuid(),
  /** Slug. */
  knowledge_base: z.string(),
  state: z.enum(VERSION_STATES),
  passed: z.boolean(),
  /** With the version that was active when the candidate was built; null if there was none. */
  comparison: comparisonSchema.nullable(),
  /** SHA-256 (hex) of its questions; null: known items. */
  question_set: z.string().nullable(),
  /** SHA-256 (hex) of the files that reviewers read. */
  report_sha256: z.string(),
  figures_sha256: z.string(),
  /** Null: no version was active when it was built. */
  changes_sha256: z.string().nullable(),
  facets: facetsSchema,
  /** Who started its build: the actor that was named, and the login in Postgres. */
  started_by: z.string(),
  import_id: z.uuid(),
  started_login: z.string(),
  embedding: embeddingSpaceSchema.nullable(),
  manifest_digest: z.instanceof(Buffer),
  profile_id: z.uuid(),
  profile: z.record(z.string(), z.unknown()),
  /** Ids of withdrawals that do not apply to it: their passages were left out, or it restores them. */
  withdrawals_decided: z.array(z.uuid()),
  withdrawals_restored: z.array(z.uuid()),
})
const versionSchema = versionColumns.transform(({ profile, ...row }) => ({
  ...row,
  /** Digest (hex) of what the profile says. */
  profile_sha256: sha256(canonicalJson(profile)).toString('hex'),
}))
/** A version with what its reviews are about. */
export type VersionRow = z.infer<typeof versionSchema>

export const readVersion = rowOf(versionSchema)<[id: string]>`
  select v.id, v.knowledge_base_id, k.slug as knowledge_base, v.state, v.passed,
    nullif(v.evaluation -> 'comparison', 'null') as comparison, v.evaluation ->> 'question_set' as question_set,
    encode(v.report_sha256, 'hex') as report_sha256, encode(v.figures_sha256, 'hex') as figures_sha256,
    encode(v.changes_sha256, 'hex') as changes_sha256, v.facets, b.started_by, b.import_id, b.started_login, v.embedding,
    v.manifest_digest, v.profile_id, v.profile, v.withdrawals_decided,
    coalesce(b.parameters -> 'withdrawals' -> 'restore', '[]') as withdrawals_restored
  from corpus_versions v
  join knowledge_bases k on k.id = v.knowledge_base_id
  join builds b on b.id = v.build_id
  where v.id = $1`

const toServeSchema = z.object({ versionId: z.uuid(), manifestDigest: z.instanceof(Buffer) })

/**
 * Versions that every search node should hold: active versions, those that rollbacks would return to, and those whose
 * profiles active entitlements name.
 */
export const versionsToServe = rowsOf(toServeSchema)`
  with recursive ${ROLLBACK_PATH}, wanted as (
    select version_id as id from active_versions
    union
    select version_id from rollback_path where not claimed
    union
    select v.id from entitlements e join corpus_versions v on v.profile_id = any (e.profile_ids) where e.active
  )
  select id as "versionId", manifest_digest as "manifestDigest" from wanted join corpus_versions using (id)`

export const activeVersions = ids`select version_id as id from active_versions`

/**
 * Versions that a request may still have pinned although they are no longer wanted. They belong to a knowledge base
 * whose pointer, entitlements or activations changed within the given time, or that has a queued activation.
 */
export const versionsMaybePinned = ids<[withinMs: number]>`
  with changed as (
    select knowledge_base_id from active_versions where activated_at > now() - make_interval(secs => $1 / 1000.0)
    union
    select knowledge_base_id from entitlements where updated_at > now() - make_interval(secs => $1 / 1000.0)
    union
    select knowledge_base_id from activations
      where state = 'queued' or finished_at > now() - make_interval(secs => $1 / 1000.0)
  )
  select id from changed join corpus_versions using (knowledge_base_id)`

const activeLocalSchema = z.object({ knowledge_base: z.string(), version_id: z.uuid() })

/** Active versions of the embedder that hashed words, which no gateway can ask any more. */
export const activeLocalVersions = rowsOf(activeLocalSchema)`
  select b.slug as knowledge_base, v.id as version_id
  from active_versions a
  join corpus_versions v on v.id = a.version_id
  join knowledge_bases b on b.id = a.knowledge_base_id
  where v.embedding ->> 'provider' = 'local'
  order by b.slug`

const servingSchema = z.object({
  versionId: z.uuid(),
  facets: facetsSchema,
  manifestDigest: z.instanceof(Buffer),
  /** Null for a version without vectors. */
  embedding: embeddingSpaceSchema.nullable(),
  profile: profileParametersSchema,
  /** SHA-256 (hex) of the question set that it was evaluated with; null: known items. */
  questionSet: z.string().nullable(),
})

export const readServing = rowOf(servingSchema)<[knowledgeBaseId: string]>`
  select a.version_id as "versionId", v.facets, v.manifest_digest as "manifestDigest", v.embedding, v.profile,
    v.evaluation ->> 'question_set' as "questionSet"
  from active_versions a
  join corpus_versions v on v.id = a.version_id
  where a.knowledge_base_id = $1`

const activeRewriterSchema = z.object({ slug: z.string(), rewriter: rewriterSchema })

/** Of each knowledge base whose active version has a rewriter that was asked canaries. */
export const activeRewriters = rowsOf(activeRewriterSchema)`
  select k.slug, v.profile -> 'rewriter' as rewriter
  from active_versions a
  join corpus_versions v on v.id = a.version_id
  join knowledge_bases k on k.id = a.knowledge_base_id
  where v.profile -> 'rewriter' ? 'canaries'
  order by k.slug`
