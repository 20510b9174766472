import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WordWeights } from '#core/domain/word-weights.ts'
import { profileIdOf } from '#jobs/build/ids.ts'
import { startJobsHarness } from '#test/support/jobs/harness.ts'
import type { JobsHarness } from '#test/support/jobs/harness.ts'
import { evaluationOf } from '#test/support/jobs/rulebook.ts'
import { TRADES, tradesCode } from '#test/support/jobs/trades.ts'

/** Two provisions on every trade. The words of a question occur once in the relevant one, and twice in the other. */
const SOURCE = tradesCode((trade) => [
  `### Licence of the ${trade} {#${trade}-licence}\n\nThe warden issues it for forty crowns after a hearing in ` +
    'the hall, writes it into the register of the office, and keeps a copy of it for as long as the holder works.\n',
  `### Duty of the ${trade} {#${trade}-duty}\n\nMembers ensure order and ensure peace.\n`,
])
const QUESTIONS = TRADES.map((trade, n) =>
  JSON.stringify({
    id: `q${n}`,
    text: `How does a ${trade} ensure a licence?`,
    relevant: [`trades#${trade}-licence`],
  }),
)

let harness: JobsHarness
let knowledgeBaseId: string
let importId: string
beforeAll(async () => {
  harness = await startJobsHarness()
  knowledgeBaseId = await harness.createKnowledgeBase()
  importId = await harness.importFolder(knowledgeBaseId, written('trades.md', SOURCE))
})
afterAll(() => harness.stop())

function written(name: string, text: string): string {
  const folder = harness.store.workFolder('trades')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

async function built(
  questions: readonly string[],
): Promise<{ readonly weights: WordWeights | null; readonly report: Awaited<ReturnType<typeof evaluationOf>> }> {
  const set = await harness.storeQuestions(written(`${questions.length}.jsonl`, questions.join('\n')))
  const buildId = await harness.requestBuild(knowledgeBaseId, importId, { questions_sha256: set })
  expect(await harness.runBuild(buildId)).toMatchObject({ outcome: 'succeeded' })
  const { rows } = await harness.owner.query<{ word_weights: WordWeights | null }>(
    'select word_weights from retrieval_profiles where id = $1',
    [profileIdOf(buildId)],
  )
  return { weights: rows[0]?.word_weights ?? null, report: await evaluationOf(harness, buildId) }
}

test('a build stores the weights that its question set teaches, and its report shows them', async () => {
  const { weights, report } = await built(QUESTIONS)
  expect(weights?.['ensure']).toBeLessThan(weights?.['licence'] ?? 1)
  expect(report.ranking?.word_weights).toMatchObject({ words: Object.keys(weights ?? {}).length })
  expect(report.ranking?.word_weights?.lowest[0]?.word).toBe('ensure')
  expect(report.systems.hybrid?.['ndcg@10']).toBeGreaterThan(0.95)
})

test('a build with fewer than fifty questions stores none', async () => {
  const { weights, report } = await built(QUESTIONS.slice(0, 49))
  expect(weights).toBeNull()
  expect(report.ranking?.word_weights).toBeNull()
  expect(report.systems.hybrid?.['ndcg@10']).toBeLessThan(0.95)
})
