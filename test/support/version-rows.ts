import { randomUUID } from 'node:crypto'
import { finishActivation, movePointer, readActivation, type ActivationRow } from '#core/db/activations.ts'
import { insertKnowledgeBase } from '#core/db/knowledge-bases.ts'
import { inTransaction, type Database, type Queryable } from '#core/db/pool.ts'
import { buildTestArtifact, spaceOf, type TestArtifact } from './artifact.ts'
import { withoutGuards } from './postgres.ts'
import { signingKeys } from './secrets.ts'
import { testRows } from './passages.ts'

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
export async function insertVersion(owner: Database, { slug, state, passages, artifact }: VersionRow) {
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

/** Sign the artifacts of versions that no build made. */
export const ARTIFACT_KEYS = signingKeys()

export type HistoryBase = Awaited<ReturnType<typeof createHistoryBase>>

/** A knowledge base whose pointer a test moves. @param store where versions have files; absent: they have none. */
export async function createHistoryBase(owner: Database, store?: string) {
  const [id, slug] = [randomUUID(), `base-${randomUUID()}`]
  await insertKnowledgeBase(owner, { id, slug, title: 'Rules', as_of: null })
  return {
    id,
    slug,
    /** A version that was active before, without any review. @returns its id. */
    createVersion: async () => {
      const artifact = store === undefined ? {} : { artifact: await onePassage(store) }
      return (await insertVersion(owner, { slug, state: 'retired', passages: 1, ...artifact })).version
    },
    /** What a done activation leaves, without its checks. */
    activate: (version: string, kind: ActivationRow['kind'] = 'activate') =>
      inTransaction(owner, async (client) => await move(client, id, version, kind)),
    /** The same in a transaction that the test began. */
    activateIn: (client: Queryable, version: string) => move(client, id, version, 'activate'),
    /** Adds a review, whatever the guards of reviews say. */
    review: (version: string, verdict: 'approved' | 'rejected') =>
      withoutGuards(
        owner,
        'insert into reviews (id, version_id, verdict, reviewer_id, reviewer, note, statement, signature) ' +
          "values ($1, $2, $3, $1, 'reviewer', 'note', '{}', sha512(''))",
        [randomUUID(), version, verdict],
      ),
  }
}

function onePassage(store: string): Promise<TestArtifact> {
  const rows = testRows({ rows: 1, dimensions: 8, seed: 1 })
  return buildTestArtifact({ store, rows, privateKeyDer: ARTIFACT_KEYS.privateKeyDer, name: randomUUID() })
}

async function move(client: Queryable, base: string, version: string, kind: string): Promise<void> {
  const activation = randomUUID()
  await client.query('set local session_replication_role = replica')
  await client.query(
    "update corpus_versions set state = case when id = $2 then 'active' else 'retired' end " +
      "where knowledge_base_id = $1 and (id = $2 or state = 'active')",
    [base, version],
  )
  await client.query(
    'insert into activations (id, knowledge_base_id, version_id, expected_version_id, kind, actor) values ($1, $2, ' +
      "$3, (select version_id from active_versions where knowledge_base_id = $2), $4, 'actor')",
    [activation, base, version, kind],
  )
  const asked = await readActivation(client, activation)
  if (asked === undefined || !(await movePointer(client, asked))) throw new Error('the pointer did not move')
  await client.query('set local session_replication_role = origin')
  await finishActivation(client, activation, 'done', '')
}
