import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createArtifactStore } from '#core/index/format/store.ts'
import { importCorpus } from '#operator/actions/import-corpus.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { smallSource } from '#test/support/jobs.ts'
import { openTestRedis } from '#test/support/redis.ts'
import type { TestRedis } from '#test/support/redis.ts'
import { openOperatorHarness } from '#test/support/operator-cli.ts'
import type { OperatorHarness } from '#test/support/operator-cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'evidence-operator-'))
const storeUrl = pathToFileURL(join(folder, 'store')).href
let harness: OperatorHarness
let redis: TestRedis

beforeAll(async () => {
  redis = await openTestRedis()
  harness = await openOperatorHarness({ REDIS_URL: redis.url, ARTIFACT_STORE: storeUrl })
  await createKnowledgeBase(harness.operator, { slug: 'rules', title: 'Rules' })
})
afterAll(async () => {
  await harness.close()
  await redis.release()
  rmSync(folder, { recursive: true, force: true })
})

test(
  'target risk and re-ranker become parameters of the build; what is out of range is refused before ' +
    'anything is asked',
  async () => {
    const imported = await importCorpus(harness.operator, {
      knowledgeBase: 'rules',
      source: smallSource,
      store: createArtifactStore(storeUrl),
    })
    const start = ['build', 'start', '--import', imported.id] as const
    const parametersOf = async (...flags: readonly string[]): Promise<unknown> =>
      z.object({ parameters: z.unknown() }).parse(await harness.cli.json(...start, ...flags)).parameters
    const withdrawals = { drop: [], restore: [] }
    expect(await parametersOf()).toEqual({ embedding: 'local', target_risk: 0.05, withdrawals })
    expect(await parametersOf('--target-risk', '0.1', '--reranker', 'judge-1')).toEqual({
      embedding: 'local',
      target_risk: 0.1,
      reranker: { model: 'judge-1', candidates: 20 },
      withdrawals,
    })
    expect(await parametersOf('--reranker', 'judge-1', '--rerank-candidates', '7')).toMatchObject({
      reranker: { model: 'judge-1', candidates: 7 },
    })
    expect(await parametersOf('--embedding', 'none')).toEqual({ embedding: 'none', target_risk: 0.05, withdrawals })
    const asked = async (): Promise<number | null> => (await harness.owner.query('select 1 from builds')).rowCount
    expect(await asked()).toBe(4)
    for (const [flag, value] of [
      ['--embedding', 'words'],
      ['--target-risk', '0'],
      ['--target-risk', '1'],
      ['--rerank-candidates', '1'],
      ['--rerank-candidates', '51'],
    ] as const) {
      const { code, stderr } = await harness.cli.run(...start, flag, value)
      expect({ flag, value, code }).toEqual({ flag, value, code: 2 })
      expect(stderr).toContain(flag)
    }
    expect(await asked()).toBe(4)
  },
)
