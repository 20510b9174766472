import { randomUUID } from 'node:crypto'
import type { Database } from '#core/db/pool.ts'
import { withoutGuards } from '#test/support/database.ts'

export interface InsertedVersion {
  readonly knowledgeBaseId: string | undefined
  readonly version: string
  readonly profile: string
}

const FACETS = JSON.stringify({ languages: ['en'], jurisdictions: ['EU'], subjects: [], statuses: ['verified'] })
const EMBEDDING = JSON.stringify({ provider: 'local', model: 'test', dimensions: 8 })

/** Inserts a version in any state, with every row that it refers to, and one profile of it. */
export async function insertVersion(
  owner: Database,
  { slug, state, passages }: { readonly slug: string; readonly state: string; readonly passages: number },
): Promise<InsertedVersion> {
  const [snapshot, source, build, version, projection, profile] = [
    randomUUID(),
    randomUUID(),
    randomUUID(),
    randomUUID(),
    randomUUID(),
    randomUUID(),
  ]
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
  await owner.query("insert into builds (id, knowledge_base_id, import_id, parameters) values ($1, $2, $3, '{}')", [
    build,
    base,
    source,
  ])
  await withoutGuards(
    owner,
    'insert into corpus_versions (id, knowledge_base_id, build_id, state, passages, documents, ' +
      "facets, evaluation, passed) values ($1, $2, $3, $4, $5, 1, $6, '{}', true)",
    [version, base, build, state, passages, FACETS],
  )
  await owner.query(
    "insert into projections (id, version_id, embedding, manifest_digest) values ($1, $2, $3, sha256('m'))",
    [projection, version, EMBEDDING],
  )
  await owner.query(
    'insert into retrieval_profiles (id, projection_id, parameters, signal, threshold) values ($1, ' +
      "$2, '{}', 'evidence_probability', 0.5)",
    [profile, projection],
  )
  return { knowledgeBaseId: base, version, profile }
}
