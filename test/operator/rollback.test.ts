import { STORED_PROFILE } from '#test/support/version-rows.ts'
import { spaceOf } from '#test/support/artifact.ts'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { finishActivation, movePointer, readActivation, setVersionState } from '#core/db/activations.ts'
import { inTransaction } from '#core/db/pool.ts'
import { readVersion } from '#core/db/versions.ts'
import { requestActivation, requestRollback } from '#operator/actions/activations.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { approve } from '#test/support/reviews.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'

const harness = await openOperatorHarness()
const enqueue = (): Promise<void> => Promise.resolve()

beforeAll(async () => {
  await createKnowledgeBase(harness.operator, { slug: 'rules', title: 'Rules' })
})
afterAll(() => harness.close())

/** An approved version as a build leaves it. */
async function approved(): Promise<string> {
  const [source, build, version] = [randomUUID(), randomUUID(), randomUUID()]
  const facets = JSON.stringify({
    languages: ['en'],
    jurisdictions: ['HS-M'],
    subjects: ['conduct'],
    statuses: ['verified'],
  })
  const embedding = JSON.stringify(spaceOf(8))
  const rows: readonly (readonly [string, readonly unknown[]])[] = [
    [
      'insert into imports (id, knowledge_base_id, mapping, snapshot_ids, report) select $1, id, ' +
        "'{}', array[$1::uuid], '{}' from knowledge_bases",
      [source],
    ],
    [
      "insert into builds (id, knowledge_base_id, import_id, parameters, started_by) select $1, id, $2, '{}', 'actor' " +
        'from knowledge_bases',
      [build, source],
    ],
    [
      'insert into corpus_versions (id, knowledge_base_id, build_id, manifest_digest, embedding, passages, documents, ' +
        'facets, evaluation, passed, report_sha256, figures_sha256, profile_id, profile) ' +
        "select $1, id, $2, sha256('m'), $3, 1, 1, $4, '{}', true, sha256(''), sha256(''), $5, $6 from knowledge_bases",
      [version, build, embedding, facets, randomUUID(), STORED_PROFILE],
    ],
  ]
  for (const [statement, values] of rows) await harness.owner.query(statement, [...values])
  await approve(harness.owner, version)
  return version
}

/** What the job worker writes, without the search nodes. */
async function finish(id: string): Promise<void> {
  const activation = await readActivation(harness.owner, id)
  const version = activation === undefined ? undefined : await readVersion(harness.owner, activation.version_id)
  if (activation === undefined || version === undefined) throw new Error('nothing was asked for')
  await inTransaction(harness.owner, async (client) => {
    expect(await movePointer(client, activation)).toBe(true)
    await setVersionState(client, version.id, version.state, 'active')
    if (activation.expected_version_id !== null)
      await setVersionState(client, activation.expected_version_id, 'active', 'retired')
  })
  await finishActivation(harness.owner, id, 'done', '')
}

test(
  'a rollback after a rollback only ever goes further back, past what was never active, and refuses ' +
    'where nothing is left',
  async () => {
    const none =
      '"rules" has no earlier version to return to: build the sources of the version that you want again, ' +
      'and have the candidate reviewed.'
    await expect(requestRollback(harness.operator, { knowledgeBase: 'rules' }, enqueue)).rejects.toThrow(none)
    const activated: string[] = []
    for (let count = 0; count < 3; count++) {
      const version = await approved()
      await finish((await requestActivation(harness.operator, { version }, enqueue)).id)
      activated.push(version)
      await approved()
    }
    const [first = '', second = '', third = ''] = activated
    for (const [from, to] of [
      [third, second],
      [second, first],
    ]) {
      const asked = await requestRollback(harness.operator, { knowledgeBase: 'rules' }, enqueue)
      expect(asked).toMatchObject({ version_id: to, replaces: from })
      await finish(asked.id)
    }
    await expect(requestRollback(harness.operator, { knowledgeBase: 'rules' }, enqueue)).rejects.toThrow(none)
    const fourth = await approved()
    await finish((await requestActivation(harness.operator, { version: fourth }, enqueue)).id)
    // What it replaced, not the newer ones that had been rolled back from.
    expect(await requestRollback(harness.operator, { knowledgeBase: 'rules' }, enqueue)).toMatchObject({
      version_id: first,
      replaces: fourth,
    })
    await expect(requestRollback(harness.operator, { knowledgeBase: 'rules', to: third }, enqueue)).rejects.toThrow(
      'The version is not on the way back, so nobody approved the step from the active version to it',
    )
  },
)
