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
  'target risk, reader and use of the endpoint become parameters of the build; what is out of range is refused before ' +
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
    expect(await parametersOf()).toEqual({ embedding: 'none', target_risk: 0.05, withdrawals })
    const chat = { model: 'judge-1', kind: 'chat', scores: 'decide', passages: 5, on_failure: 'refuse' }
    expect(await parametersOf('--target-risk', '0.1', '--reader', 'judge-1')).toEqual({
      embedding: 'none',
      target_risk: 0.1,
      reader: chat,
      withdrawals,
    })
    const cross = ['--reader', 'judge-1', '--reader-kind', 'cross-encoder', '--reader-scores', 'both']
    const both = { ...chat, kind: 'cross-encoder', scores: 'both' }
    expect(await parametersOf(...cross)).toMatchObject({ reader: { ...both, passages: 20 } })
    expect(await parametersOf(...cross, '--reader-passages', '7')).toMatchObject({ reader: { ...both, passages: 7 } })
    expect(await parametersOf('--embedding', 'none')).toEqual({ embedding: 'none', target_risk: 0.05, withdrawals })
    const endpoint = ['--embedding-model', 'e5', '--embedding-query-prefix', '', '--embedding-passage-prefix', 'tell: ']
    const sending = ['--embedding-batch', '8', '--embedding-concurrency', '2', '--retry-seconds', '60']
    expect(await parametersOf('--embedding', 'openai', ...endpoint, ...sending)).toMatchObject({
      embedding: 'openai',
      endpoint: {
        model: 'e5',
        query_prefix: '',
        passage_prefix: 'tell: ',
        batch_texts: 8,
        concurrency: 2,
        retry_ms: 60_000,
      },
    })
    const asked = async (): Promise<number | null> => (await harness.owner.query('select 1 from builds')).rowCount
    expect(await asked()).toBe(6)
    for (const [flag, value] of [
      ['--embedding', 'words'],
      ['--target-risk', '0'],
      ['--target-risk', '1'],
      ['--reader-kind', 'reranker'],
      ['--reader-scores', 'rank'],
      ['--reader-passages', '1'],
      ['--reader-passages', '51'],
      ['--embedding-model', 'e5\u001b[2J'],
      ['--embedding-dimensions', '7'],
      ['--retry-seconds', '59'],
    ] as const) {
      const { code, stderr } = await harness.cli.run(...start, flag, value)
      expect({ flag, value, code }).toEqual({ flag, value, code: 2 })
      expect(stderr).toContain(flag)
    }
    const unused = await harness.cli.run(...start, '--embedding-model', 'e5')
    expect([unused.code, unused.stderr]).toEqual([1, expect.stringContaining('add --embedding openai')])
    const kept = await harness.cli.run(...start, ...cross, '--reader-failure', 'decide_without')
    expect([kept.code, kept.stderr]).toEqual([1, expect.stringContaining('needs --reader-scores decide')])
    expect(await asked()).toBe(6)
  },
)
