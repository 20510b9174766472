import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { changeLimitsSchema } from '#core/domain/changes.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import { createArtifactStore } from '#core/index/format/store.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { sha256 } from '#core/platform/digest.ts'
import { evaluate } from '#jobs/evaluate/pipeline.ts'
import { buildTestArtifact, signingKeys, testRows } from '#test/support/artifact.ts'
import { asking } from '#test/support/jobs/asking.ts'
import { misledBy, questionOf, rankedByWords } from '#test/support/jobs/ranked-by-words.ts'

const DIMENSIONS = 8
const folder = mkdtempSync(join(tmpdir(), 'evidence-evaluate-'))
const store = createArtifactStore(pathToFileURL(folder).href)
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

function storeQuestions(lines: readonly object[]): string {
  const text = lines.map((line) => JSON.stringify(line)).join('\n')
  const hex = sha256(text).toString('hex')
  mkdirSync(dirname(store.snapshotFile(hex)), { recursive: true })
  writeFileSync(store.snapshotFile(hex), text)
  return hex
}

test('no question is measured by weights of words that it taught, and the candidate is timed by all', async () => {
  const { privateKeyDer } = signingKeys()
  const rows = testRows({ rows: 30, dimensions: DIMENSIONS, seed: 1 })
  const artifact = await buildTestArtifact({ store: folder, rows, privateKeyDer, name: 'candidate' })
  const questions = Array.from({ length: 60 }, (_, at) => ({
    id: `q${at}`,
    text: `q${at} ensure firm`,
    relevant: [`q${at}-answer`],
  }))
  const { context, asked } = asking((request) => rankedByWords(request, misledBy(questionOf(request))))
  const { wordWeights } = await evaluate({
    ...context,
    versionId: '0198c0de-0000-7000-8000-000000000009',
    knowledgeBase: 'rules',
    projection: artifact,
    artifact: { ...artifact.manifest, folder: artifact.folder, cells: undefined },
    profile: profileParametersSchema.parse({ fusion: { method: 'weighted', dense_weight: 0.007 } }),
    targetRisk: 0.05,
    questionsSha256: storeQuestions(questions),
    comparison: {
      readActive: () => Promise.resolve(undefined),
      publicKeysDer: [],
      sortFile: join(folder, 'comparison.sqlite'),
      changeLimits: changeLimitsSchema.parse({}),
    },
    store,
    embedder: {
      space: artifact.manifest.embedding,
      embed: async (texts) =>
        await Promise.resolve({
          vectors: texts.map((text) =>
            new Float32Array(DIMENSIONS).fill(1 / Math.sqrt(DIMENSIONS)).fill(0, text.length),
          ),
          tokens: null,
          overlong: 0,
        }),
    },
    reranker: undefined,
    rerankerToTry: null,
  })
  const all = ['ensure', 'firm'].map((word) => ({ word, weight: wordWeights?.[word] }))
  const weightsAt = (limit: number): readonly unknown[] =>
    asked
      .filter((request) => request.limit === limit && request.text.startsWith('q') && request.withoutText === true)
      .map(({ text, ranking }) => [text, ranking.wordWeights])
  // The second time that a question is asked for its list, it is ranked by what the other folds taught.
  const heldOut = new Map(weightsAt(BOUNDS.wordWeightPassages).slice(questions.length) as [string, object][])
  const measured = weightsAt(BOUNDS.searchLimitMax) as [string, object][]
  expect(measured.length).toBeGreaterThanOrEqual(2 * questions.length)
  for (const [text, weights] of measured) expect(weights).toEqual(heldOut.get(text))
  expect(new Set([...heldOut.values()].map((weights) => JSON.stringify(weights))).size).toBe(5)
  expect([...heldOut.values()]).not.toContainEqual(all)
  const timed = asked.filter(({ limit, withoutText, text }) => limit === 10 && withoutText !== true && text !== '')
  expect(timed.length).toBeGreaterThan(0)
  for (const { ranking } of timed) expect(ranking.wordWeights).toEqual(all)
})
