import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { sha256 } from '#core/artifact/manifest.ts'
import { openArtifactStore } from '#core/artifact/store.ts'
import { createLog } from '#core/log.ts'
import { requestActivation, requestRollback } from '#jobs/operator/actions/activations.ts'
import { startBuild } from '#jobs/operator/actions/builds.ts'
import { importCorpus } from '#jobs/operator/actions/import-corpus.ts'
import { createKnowledgeBase } from '#jobs/operator/actions/organizations.ts'
import { reviewVersion } from '#jobs/operator/actions/reviews.ts'
import { openQueue, openQueueRedis } from '#jobs/queues.ts'
import type { QueueName } from '#jobs/queues.ts'
import { createTestRedis } from '#test/support/redis.ts'
import type { TestRedis } from '#test/support/redis.ts'
import { commandLine } from './cli.ts'
import { openRig } from './rig.ts'
import type { OperatorRig } from './rig.ts'

const folder = mkdtempSync(join(tmpdir(), 'evidence-operator-'))
const storeUrl = pathToFileURL(join(folder, 'store')).href
const quiet = createLog('test', 'silent')
const withId = z.object({ id: z.uuid() })

// Several processes are started one after the other.
vi.setConfig({ testTimeout: 90_000 })

let rig: OperatorRig
let redis: TestRedis

beforeAll(async () => {
  redis = await createTestRedis()
  rig = await openRig({ REDIS_URL: redis.url, ARTIFACT_STORE: storeUrl })
  await createKnowledgeBase(rig.operator, { slug: 'rules', title: 'Rules' })
})
afterAll(async () => {
  await rig.close()
  await redis.release()
  rmSync(folder, { recursive: true, force: true })
})

/** A file with front matter of the documented form; only the text of its one rule differs. */
function source(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(
    path,
    `---\ndocument: d-${name}\ntitle: A rulebook\nauthority: An authority\ncanonical_url: ` +
      `https://rules.example/a\nlanguage: en\njurisdiction: HS-M\nsubject: conduct\npublished_at: ` +
      `2023-02-14\neffective_at: 2023-05-01\nverification_status: verified\n---\n\n# A rulebook\n\n### ` +
      `A 1.1 First rule {#a-1-1}\n\n${text}\n`,
  )
  return path
}

async function jobIn(name: QueueName, id: string): Promise<{ readonly id: string } | undefined> {
  const connection = openQueueRedis(redis.url, quiet)
  const queue = openQueue(name, connection, quiet)
  try {
    return (await queue.getJob(id))?.data
  } finally {
    await queue.close()
    connection.disconnect()
  }
}

async function importOne(name: string): Promise<string> {
  const imported = await importCorpus(rig.operator, {
    knowledgeBase: 'rules',
    source: source(name, `What ${name} says about conduct.`),
    store: openArtifactStore(storeUrl),
  })
  return imported.id
}

/** Stands in for the job worker: moves a row as the service role would. */
async function finishBuild(id: string, passed: boolean, worse = false): Promise<string> {
  const [version, projection] = [randomUUID(), randomUUID()]
  await rig.owner.query(
    'insert into corpus_versions (id, knowledge_base_id, build_id, passages, documents, facets, ' +
      'evaluation, passed) select $1, knowledge_base_id, id, 1, 1, $3, $4, $5 from builds where id = $2',
    [
      version,
      id,
      JSON.stringify({ languages: ['en'], jurisdictions: ['HS-M'], subjects: ['conduct'], statuses: ['verified'] }),
      JSON.stringify({ systems: { hybrid: { 'recall@5': passed ? 0.97 : 0.4 } }, passed, comparison: { worse } }),
      passed,
    ],
  )
  await rig.owner.query(
    "insert into projections (id, version_id, embedding, manifest_digest) values ($1, $2, $3, sha256('m'))",
    [projection, version, JSON.stringify({ provider: 'local', model: 'test', dimensions: 8 })],
  )
  await rig.owner.query(
    'insert into retrieval_profiles (id, projection_id, parameters, signal, threshold) values ($1, ' +
      "$2, '{}', 'evidence_probability', 0.5)",
    [randomUUID(), projection],
  )
  await rig.owner.query("update builds set state = 'succeeded', stage = 'candidate' where id = $1", [id])
  return version
}

async function candidate(name: string, passed = true, worse = false): Promise<string> {
  const started = await startBuild(
    rig.operator,
    { import: await importOne(name), embedding: 'local', store: openArtifactStore(storeUrl) },
    () => Promise.resolve(),
  )
  return finishBuild(started.id, passed, worse)
}

async function rowEventually(table: 'builds' | 'activations', known: ReadonlySet<string>): Promise<string> {
  for (;;) {
    const { rows } = await rig.owner.query<{ id: string }>(`select id from ${table}`)
    const found = rows.find(({ id }) => !known.has(id))
    if (found !== undefined) return found.id
    await sleep(20)
  }
}

async function idsOf(table: 'builds' | 'activations'): Promise<ReadonlySet<string>> {
  return new Set((await rig.owner.query<{ id: string }>(`select id from ${table}`)).rows.map(({ id }) => id))
}

describe('build', () => {
  test('a started build is a row, a job that carries only its id, and a captured question set', async () => {
    const questions = join(folder, 'questions.jsonl')
    writeFileSync(
      questions,
      `${JSON.stringify({ id: 'q1', text: 'What about conduct?', relevant: ['d-one.md#a-1-1'] })}\n`,
    )
    const started = withId
      .extend({ parameters: z.object({ questions_sha256: z.string() }) })
      .parse(await rig.cli.json('build', 'start', '--import', await importOne('one.md'), '--questions', questions))
    expect(await jobIn('build', started.id)).toEqual({ id: started.id })
    expect(started.parameters.questions_sha256).toBe(sha256(await readFile(questions)).toString('hex'))
    expect(await readFile(openArtifactStore(storeUrl).snapshotFile(started.parameters.questions_sha256))).toEqual(
      await readFile(questions),
    )
    expect(await rig.cli.json('build', 'show', started.id)).toMatchObject({
      state: 'queued',
      knowledge_base: 'rules',
      version_id: null,
    })
  })

  test('a question set with a fault is refused by its line, before anything is asked', async () => {
    const questions = join(folder, 'faulty.jsonl')
    writeFileSync(questions, `${JSON.stringify({ id: 'q1', text: 'x', relevant: ['a'] })}\n{"id":`)
    const before = await idsOf('builds')
    const { code, stderr } = await rig.cli.run(
      'build',
      'start',
      '--import',
      await importOne('two.md'),
      '--questions',
      questions,
    )
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'Line 2 of the question set is not JSON: correct it and build again.\n',
    })
    expect(await idsOf('builds')).toEqual(before)
  })

  test('--wait follows the stages on standard error and ends with the candidate', async () => {
    const source_ = await importOne('three.md')
    const known = await idsOf('builds')
    const following = rig.cli.run('build', 'start', '--import', source_, '--wait', '--json')
    const id = await rowEventually('builds', known)
    await rig.owner.query("update builds set state = 'running', stage = 'embed', done = 1, total = 4 where id = $1", [
      id,
    ])
    await sleep(1_000)
    const version = await finishBuild(id, true)
    const { code, stdout, stderr } = await following
    expect(code, stderr).toBe(0)
    expect(stderr).toContain('embed: 1 of 4 (25 %)\n')
    expect(JSON.parse(stdout)).toMatchObject({ id, state: 'succeeded', version_id: version, passed: true })
  })

  test('--wait ends with 1 and the reason when the build fails', async () => {
    const source_ = await importOne('four.md')
    const known = await idsOf('builds')
    const following = rig.cli.run('build', 'start', '--import', source_, '--wait')
    await rig.owner.query("update builds set state = 'failed', error = 'the provider refused the key' where id = $1", [
      await rowEventually('builds', known),
    ])
    const { code, stdout, stderr } = await following
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/The build failed: the provider refused the key\n$/)
  })

  test('with Redis away nothing is asked and nothing is written', async () => {
    const source_ = await importOne('five.md')
    const before = await idsOf('builds')
    const { code, stderr } = await commandLine({ ...rig.environment, REDIS_URL: 'redis://127.0.0.1:1' }).run(
      'build',
      'start',
      '--import',
      source_,
    )
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'Redis does not answer: check that it runs and that REDIS_URL names its host, port and password.\n',
    })
    expect(await idsOf('builds')).toEqual(before)
  })
})

/** Stands in for the job worker. */
async function finishActivation(id: string): Promise<void> {
  await rig.owner.query(
    `insert into active_versions (knowledge_base_id, version_id, profile_id)
     select a.knowledge_base_id, a.version_id, f.id from activations a join projections p on p.version_id = a.version_id join retrieval_profiles f on f.projection_id = p.id where a.id = $1
     on conflict (knowledge_base_id) do update set previous_version_id = active_versions.version_id, version_id = excluded.version_id, profile_id = excluded.profile_id`,
    [id],
  )
  await rig.owner.query(
    "update corpus_versions v set state = case when v.id = a.version_id then 'active' else 'retired' " +
      'end from activations a where a.id = $1 and v.id in (a.version_id, a.expected_version_id)',
    [id],
  )
  await rig.owner.query(
    "update activations set state = 'done', message = 'Active, loaded on 2 search node(s).', " +
      'finished_at = now() where id = $1',
    [id],
  )
}

async function approve(version: string): Promise<void> {
  await reviewVersion(rig.operator, { version, verdict: 'approved', reviewer: 'legal review', note: 'fine' })
}

describe('review, activation and rollback', () => {
  const enqueue = (): Promise<void> => Promise.resolve()

  test('a candidate is activated only after its review, and --wait ends when the worker is done', async () => {
    const first = await candidate('first.md')
    await expect(requestActivation(rig.operator, { version: first }, enqueue)).rejects.toThrow(
      'The version has not been reviewed: review it with "operator review" first.',
    )
    await rig.cli.json('review', 'approve', first, '--reviewer', 'legal review', '--note', 'read all misses')
    expect(await rig.cli.json('review', 'show', first)).toMatchObject({
      state: 'candidate',
      report: openArtifactStore(storeUrl).reportFile(first),
      evaluation: { systems: { hybrid: { 'recall@5': 0.97 } } },
      reviews: [{ verdict: 'approved', reviewer: 'legal review' }],
    })

    const known = await idsOf('activations')
    const following = rig.cli.run('activate', first, '--wait', '--json')
    const asked = await rowEventually('activations', known)
    await finishActivation(asked)
    const { code, stdout } = await following
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      id: asked,
      state: 'done',
      kind: 'activate',
      version_id: first,
      replaces: null,
    })
    expect(await jobIn('activate', asked)).toEqual({ id: asked })
  })

  test('an activation names the version it replaces, a rollback returns to it, and the trail tells both', async () => {
    const { rows } = await rig.owner.query<{ version_id: string }>('select version_id from active_versions')
    const first = rows[0]?.version_id ?? ''
    const second = await candidate('second.md')
    await approve(second)
    const activation = await requestActivation(rig.operator, { version: second }, enqueue)
    expect(activation.replaces).toBe(first)
    await finishActivation(activation.id)
    await expect(
      reviewVersion(rig.operator, { version: second, verdict: 'rejected', reviewer: 'B', note: 'wrong dates' }),
    ).rejects.toThrow('The version is active: return to the one before with "operator rollback rules", then reject it.')
    await expect(requestActivation(rig.operator, { version: first }, enqueue)).rejects.toThrow(
      'The version was active before and is retired: use "operator rollback" to return to it.',
    )
    await expect(
      requestRollback(rig.operator, { knowledgeBase: 'rules', to: await candidate('third.md') }, enqueue),
    ).rejects.toThrow(/was never active, so there is nothing to roll back to/)

    expect(await rig.cli.json('rollback', 'rules')).toMatchObject({
      kind: 'rollback',
      version_id: first,
      replaces: second,
      state: 'queued',
    })
    const trail = await rig.owner.query<{ action: string }>(
      "select action from audit where action like 'version.request-%' order by id",
    )
    expect(trail.rows.map(({ action }) => action)).toEqual([
      'version.request-activate',
      'version.request-activate',
      'version.request-rollback',
    ])
  })

  test('when Redis does not take the job, the row stands and the sentence says not to ask again', async () => {
    const version = await candidate('unheard.md')
    await approve(version)
    await expect(
      requestActivation(rig.operator, { version }, () => Promise.reject(new Error('connection lost'))),
    ).rejects.toThrow(/^It is recorded as [0-9a-f-]{36}, but Redis did not take its job: do not ask again/)
    expect(
      (await rig.owner.query("select 1 from activations where version_id = $1 and state = 'queued'", [version]))
        .rowCount,
    ).toBe(1)
  })

  test('a candidate that failed its evaluation cannot be approved, and a rejected one never activated', async () => {
    const failed = await candidate('poor.md', false)
    await expect(approve(failed)).rejects.toThrow(/did not pass its evaluation, so it cannot be approved/)
    await rig.cli.json('review', 'reject', failed, '--reviewer', 'A', '--note', 'too many misses')
    const activated = await rig.cli.run('activate', failed)
    expect(activated).toMatchObject({
      code: 1,
      stderr: 'The version was rejected in review: build another candidate from corrected sources.\n',
    })
    const row = z
      .array(z.object({ id: z.string(), state: z.string(), verdict: z.string().nullable() }))
      .parse(await rig.cli.json('versions', 'list', '--knowledge-base', 'rules'))
      .find(({ id }) => id === failed)
    expect(row).toMatchObject({ state: 'rejected', verdict: 'rejected' })
  })

  test(
    'a candidate that is worse than the active version is refused; with --override it is asked for, ' +
      'and row and trail keep the reason',
    async () => {
      const worse = await candidate('worse.md', true, true)
      await approve(worse)
      const refused = await rig.cli.run('activate', worse)
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toMatch(
        /^The evaluation found the version worse than the active one: .*--override.*audit trail keeps\.\n$/,
      )
      expect((await rig.owner.query('select 1 from activations where version_id = $1', [worse])).rowCount).toBe(0)

      const reason = 'The repealed rules had to go.'
      const asked = withId.parse(await rig.cli.json('activate', worse, '--override', reason))
      const { rows } = await rig.owner.query('select state, override_reason from activations where id = $1', [asked.id])
      expect(rows).toEqual([{ state: 'queued', override_reason: reason }])
      const trail = await rig.owner.query(
        "select detail ->> 'override_reason' as reason from audit where action = " +
          "'version.request-activate' and subject = $1",
        [`version:${worse}`],
      )
      expect(trail.rows).toEqual([{ reason }])
      expect(await jobIn('activate', asked.id)).toEqual({ id: asked.id })
    },
  )

  test('an override replaces neither the review nor the evaluation', async () => {
    const [unread, failed] = [await candidate('unread.md', true, true), await candidate('bad.md', false, true)]
    await expect(requestActivation(rig.operator, { version: unread, override: 'because' }, enqueue)).rejects.toThrow(
      'has not been reviewed',
    )
    await expect(requestActivation(rig.operator, { version: failed, override: 'because' }, enqueue)).rejects.toThrow(
      'did not pass its evaluation',
    )
  })

  test("--wait ends with 1 and the worker's reason when an activation is refused", async () => {
    const version = await candidate('refused.md')
    await approve(version)
    const known = await idsOf('activations')
    const following = rig.cli.run('activate', version, '--wait')
    await rig.owner.query(
      "update activations set state = 'refused', message = 'No search node answers: start one of " +
        "SEARCH_NODES, then activate again.' where id = $1",
      [await rowEventually('activations', known)],
    )
    const { code, stdout, stderr } = await following
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('Refused: No search node answers: start one of SEARCH_NODES, then activate again.')
  })

  test.each([
    [
      'an unknown version',
      ['activate', '6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11'],
      'There is no version "6f1c2a0e-7a38-4f4e-9c7e-0d6f6a2b9a11": see "operator versions list".\n',
    ],
    [
      'a version that is no UUID',
      ['versions', 'show', 'newest'],
      'There is no version "newest": see "operator versions list".\n',
    ],
    [
      'an unknown import',
      ['build', 'start', '--import', 'newest'],
      'There is no import "newest": see "operator imports list".\n',
    ],
    ['an unknown build', ['build', 'show', 'newest'], 'There is no build "newest": see "operator build list".\n'],
  ])('%s is refused in a sentence', async (_what, args, sentence) => {
    expect(await rig.cli.run(...args)).toEqual({ code: 1, stdout: '', stderr: sentence })
  })
})
