import { randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { z } from 'zod'
import { createSignedStore } from '#core/index/format/store.ts'
import { createLog } from '#core/platform/log.ts'
import { startBuild } from '#operator/actions/builds.ts'
import { importCorpus } from '#operator/actions/import-corpus.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { openQueue, openQueueRedis, type QueueName } from '#jobs/platform/queues.ts'
import { openOperatorHarness } from './operator-cli.ts'
import { openTestRedis } from './redis.ts'
import { buildTestArtifact, spaceOf } from './artifact.ts'
import { testRows } from './passages.ts'
import { markdownSource } from './markdown-source.ts'
import { makeComparable } from './reviews.ts'
import { ARTIFACT_KEYS, STORED_PROFILE } from './version-rows.ts'
import { until } from './until.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { afterAll } from 'vitest'

const quiet = createLog('test', 'silent')
export const withId = z.object({ id: z.uuid() })

export type CorpusHarness = Awaited<ReturnType<typeof openCorpusHarness>>

/** An operator with a queue, an artifact store and the knowledge base "rules"; no job worker runs. */
export async function openCorpusHarness() {
  const folder = folderOfFile()
  const storeUrl = pathToFileURL(join(folder, 'store')).href
  const redis = await openTestRedis()
  afterAll(() => redis.release())
  const harness = await openOperatorHarness({
    REDIS_URL: redis.url,
    ARTIFACT_STORE: storeUrl,
    MANIFEST_PUBLIC_KEY: ARTIFACT_KEYS.publicKeyDer.toString('base64'),
  })
  await createKnowledgeBase(harness.operator, { slug: 'rules', title: 'Rules' })
  return {
    ...harness,
    redis,
    store: createSignedStore({ ARTIFACT_STORE: storeUrl, MANIFEST_PUBLIC_KEY: [ARTIFACT_KEYS.publicKeyDer] }),
    /** For the files of a test. */
    folder,
  }
}

/** A file with front matter of the documented form; only the text of its one rule differs. */
function source(folder: string, name: string, text: string): string {
  const path = join(folder, name)
  const fields = {
    document: `d-${name}`,
    title: 'A rulebook',
    authority: 'An authority',
    canonical_url: 'https://rules.example/a',
    language: 'en',
    jurisdiction: 'HS-M',
    subject: 'conduct',
    published_at: '2023-02-14',
    effective_at: '2023-05-01',
    verification_status: 'source-declared',
  }
  const body = `\n# A rulebook\n\n### A 1.1 First rule {#a-1-1}\n\n${text}\n`
  writeFileSync(path, markdownSource(fields, body))
  return path
}

/** The job of this id in a queue, if there is one. */
export async function jobIn(
  harness: CorpusHarness,
  name: QueueName,
  id: string,
): Promise<{ readonly id: string } | undefined> {
  const connection = openQueueRedis(harness.redis.url, quiet)
  const queue = openQueue(name, connection.redis, quiet)
  await using ending = new AsyncDisposableStack()
  ending.defer(async () => connection.close())
  ending.defer(() => queue.close())
  return (await queue.getJob(id))?.data
}

/** Imports a file of one passage. @returns the id of the import. */
export async function importOne(harness: CorpusHarness, name: string): Promise<string> {
  const imported = await importCorpus(harness.operator, {
    knowledgeBase: 'rules',
    source: source(harness.folder, name, `What ${name} says about conduct.`),
    store: harness.store,
  })
  return imported.id
}

/** Replaces the job worker: changes a row as the service role would. @returns the id of the version. */
export async function finishBuild(harness: CorpusHarness, id: string, passed: boolean, worse = false): Promise<string> {
  const { versionId: version, manifestDigest } = await buildTestArtifact({
    store: join(harness.folder, 'store'),
    rows: testRows({ rows: 1, dimensions: 8, seed: 1 }),
    privateKeyDer: ARTIFACT_KEYS.privateKeyDer,
    name: id,
  })
  await harness.owner.query(
    'insert into corpus_versions (id, knowledge_base_id, build_id, manifest_digest, embedding, passages, documents, ' +
      'facets, evaluation, passed, report_sha256, figures_sha256, profile_id, profile) ' +
      "select $1, knowledge_base_id, id, $9, $3, 1, 1, $4, $5, $6, sha256(''), sha256(''), $7, $8 " +
      'from builds where id = $2',
    [
      version,
      id,
      JSON.stringify(spaceOf(8)),
      JSON.stringify({ languages: ['en'], jurisdictions: ['HS-M'], subjects: ['conduct'], statuses: ['verified'] }),
      JSON.stringify({ systems: { hybrid: { 'recall@5': passed ? 0.97 : 0.4 } }, passed, comparison: null }),
      passed,
      randomUUID(),
      STORED_PROFILE,
      manifestDigest,
    ],
  )
  await makeComparable(harness.owner, version, { worse, store: harness.store })
  await harness.owner.query("update builds set state = 'succeeded', stage = 'candidate' where id = $1", [id])
  return version
}

/** Builds a candidate of a file of one passage. @returns the id of the version. */
export async function candidate(harness: CorpusHarness, name: string, passed = true, worse = false): Promise<string> {
  const started = await startBuild(
    harness.operator,
    { import: await importOne(harness, name), embedding: 'none', store: harness.store },
    () => Promise.resolve(),
  )
  return finishBuild(harness, started.id, passed, worse)
}

/** Waits for a row whose id is not known. @returns its id. */
export async function rowEventually(
  harness: CorpusHarness,
  table: 'builds' | 'activations',
  known: ReadonlySet<string>,
): Promise<string> {
  const { id } = await until(`another row of ${table}`, async () => {
    const { rows } = await harness.owner.query<{ id: string }>(`select id from ${table}`)
    return rows.find((row) => !known.has(row.id))
  })
  return id
}

export async function idsOf(harness: CorpusHarness, table: 'builds' | 'activations'): Promise<ReadonlySet<string>> {
  return new Set((await harness.owner.query<{ id: string }>(`select id from ${table}`)).rows.map(({ id }) => id))
}
