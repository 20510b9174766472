import { copyFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { startJobsHarness } from '#test/support/jobs.ts'
import type { JobsHarness } from '#test/support/jobs.ts'
import { importRulebook, rulebook, serve, withChapter } from './rulebook.ts'
import { until } from '#test/support/until.ts'

const BOOK = rulebook(4)
const ALTERED = withChapter(BOOK, 2, (text) => text.replace('must keep', 'need not keep'))

let harness: JobsHarness
let knowledgeBaseId: string
/** Build of the active version. */
let active: string

beforeAll(async () => {
  harness = await startJobsHarness()
  knowledgeBaseId = await harness.createKnowledgeBase()
  active = await harness.requestBuild(knowledgeBaseId, await importRulebook(harness, knowledgeBaseId, BOOK))
  expect(await harness.runBuild(active)).toMatchObject({ outcome: 'succeeded' })
  await serve(harness, active)
})
afterAll(async () => {
  await harness.stop()
})

test('a build fails where somebody puts the passages of the active version in the place of its own', async () => {
  const names = ['passages.jsonl', 'passages.offsets']
  const from = harness.store.artifactFolder(versionIdOf(active))
  const client = await harness.owner.connect()
  let hidden: Promise<unknown> | undefined
  // The comparison waits for the row of the active version, so the files are in place before it begins.
  async function hide(to: string): Promise<void> {
    await client.query('begin; lock table active_versions in access exclusive mode')
    await until('the comparison waits', async (seen) => {
      const { rows } = await harness.owner.query<{ waiting: number }>(
        "select count(*)::int as waiting from pg_locks where relation = 'active_versions'::regclass and not granted " +
          // Tables have the same number in every copy of the template.
          'and database = (select oid from pg_database where datname = current_database())',
      )
      seen(rows)
      return rows[0]?.waiting === 1
    })
    for (const name of names) {
      copyFileSync(join(from, name), join(to, `${name}.copy`))
      renameSync(join(to, `${name}.copy`), join(to, name))
    }
    await client.query('commit')
  }
  const importId = await importRulebook(harness, knowledgeBaseId, ALTERED)
  const buildId = await harness.requestBuild(knowledgeBaseId, importId)
  const to = harness.store.artifactFolder(versionIdOf(buildId))
  try {
    const outcome = await harness.runBuild(buildId, {
      onProgress: ({ stage }) => void (stage === 'artifact' && (hidden ??= hide(to))),
    })
    await hidden
    expect(outcome).toMatchObject({
      outcome: 'failed',
      kind: 'permanent',
      message: expect.stringMatching(/^The artifact .* of the candidate was altered after it was built/),
    })
  } finally {
    client.release()
  }
})

test('an altered copy of a provision beside the original refuses the build', async () => {
  const copied = withChapter(BOOK, 2, (text) => {
    const original = /^### 2\.1 .*\n\n.*\n/m.exec(text)?.[0] ?? ''
    return `${text}\n${original.replace('{#rule-2-1}', '{#rule-2-1-x}').replace('must keep', 'need not keep')}`
  })
  const buildId = await harness.requestBuild(knowledgeBaseId, await importRulebook(harness, knowledgeBaseId, copied))
  expect(await harness.runBuild(buildId)).toMatchObject({
    kind: 'permanent',
    message: expect.stringContaining('but different texts'),
  })
})
