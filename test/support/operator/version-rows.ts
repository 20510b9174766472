import { spaceOf } from '#test/support/embedding-space.ts'
import { randomUUID } from 'node:crypto'
import type { Database } from '#core/db/pool.ts'
import type { TestArtifact } from '#test/support/artifact.ts'
import { withoutGuards } from '#test/support/database.ts'

export interface InsertedVersion {
  readonly knowledgeBaseId: string | undefined
  readonly version: string
  readonly profile: string
}

const FACETS = JSON.stringify({ languages: ['en'], jurisdictions: ['EU'], subjects: [], statuses: ['verified'] })
const EMBEDDING = JSON.stringify(spaceOf(8))
/** What is read of a profile without serving it. */
export const STORED_PROFILE = JSON.stringify({ calibration: { threshold: 0.5 } })

export interface VersionRow {
  readonly slug: string
  readonly state: string
  readonly passages: number
  /** Absent: the version has no files. */
  readonly artifact?: Pick<TestArtifact, 'versionId' | 'manifestDigest'>
}

/** Inserts a version in any state, with every row that it refers to. */
export async function insertVersion(
  owner: Database,
  { slug, state, passages, artifact }: VersionRow,
): Promise<InsertedVersion> {
  const [snapshot, source, build, profile] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  const version = artifact?.versionId ?? randomUUID()
  const base = (await owner.query<{ id: string }>('select id from knowledge_bases where slug = $1', [slug])).rows[0]?.id
  await owner.query(
    'insert into source_snapshots (id, knowledge_base_id, source_name, media_type, sha256, bytes) ' +
      "values ($1, $2, $3, 'text/markdown', sha256('x'), 1)",
    [snapshot, base, snapshot],
  )
  await owner.query(
    "insert into imports (id, knowledge_base_id, mapping, snapshot_ids, report) values ($1, $2, '{}', $3, '{}')",
    [source, base, [snapshot]],
  )
  await owner.query(
    "insert into builds (id, knowledge_base_id, import_id, parameters, started_by) values ($1, $2, $3, '{}', 'actor')",
    [build, base, source],
  )
  await withoutGuards(
    owner,
    'insert into corpus_versions (id, knowledge_base_id, build_id, state, manifest_digest, embedding, passages, ' +
      'documents, facets, profile_id, profile, evaluation, passed, report_sha256, figures_sha256) ' +
      "values ($1, $2, $3, $4, coalesce($10, sha256('m')), $5, $6, 1, $7, $8, $9, '{}', true, sha256(''), sha256(''))",
    [version, base, build, state, EMBEDDING, passages, FACETS, profile, STORED_PROFILE, artifact?.manifestDigest],
  )
  return { knowledgeBaseId: base, version, profile }
}
