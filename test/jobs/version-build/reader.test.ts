import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DEFAULT_CHAT_READER_CALIBRATION } from '#core/domain/default-calibration.ts'
import { READER_PREDICTORS } from '#core/domain/predictors.ts'
import { readActivation } from '#core/db/activations.ts'
import { activePointer } from '#core/db/corpus-lists.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import { PROMPT_SHA256 } from '#core/reading/chat.ts'
import { activate } from '#jobs/activate/pipeline.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { evaluationReportSchema } from '#jobs/evaluation/page/evaluation-report.ts'
import { activateDeps, refusal, requestActivation } from '#test/support/activations.ts'
import { insertSignedReview, makeComparable, type Signed } from '#test/support/reviews.ts'
import { failure, openJobsHarness } from '#test/support/jobs.ts'
import { TRADES, importRulebook, tradesCode } from './rulebook.ts'
import {
  OVERLAP,
  REVERSING,
  ordering,
  readerCalls,
  rerankCalls,
  startReaderEndpoint,
} from '#test/support/reader-endpoint.ts'
import { PLAINTEXT, openSearchNodeClients } from '#test/support/search-node.ts'

const KNOWING = 'knowing'
const orderingBy = (model: string): object => ({
  reader: { model, kind: 'cross-encoder', scores: 'order', passages: 20, on_failure: 'refuse' },
})

/** Two provisions on every trade, with equal lexical and dense scores; the one that lasts twelve years is relevant. */
const WANTED = 'twelve years'
const provision = (trade: string, years: string): string =>
  `### Licence of the ${trade}, ${years.split(' ')[0] ?? ''} ` +
  `{#${trade}-${years.split(' ')[0] ?? ''}}\n\nThe licence of a ${trade} lasts ${years} and costs ` +
  `forty crowns.\n`
const SOURCE = tradesCode((trade) => ['eleven years', WANTED].map((years) => provision(trade, years)))
const QUESTIONS = TRADES.map((trade, n) => ({
  id: `q${n}`,
  text: `How long does the licence of a ${trade} last?`,
  relevant: [`trades#${trade}-twelve`],
}))

const harness = await openJobsHarness()

const nodes = openSearchNodeClients([harness.searchNode], PLAINTEXT)
// Prefers the relevant provisions.
const endpoint = await startReaderEndpoint((_, documents) =>
  documents.map((document) => Number(document.includes(WANTED))),
)
const knowledgeBaseId = await harness.createKnowledgeBase()
const importId = await importRulebook(harness, knowledgeBaseId, new Map([['trades.md', SOURCE]]))
const questions = await harness.storeQuestions(QUESTIONS)
afterAll(async () => {
  for (const node of nodes) node.close()
  await endpoint.stop()
})

async function run(parameters: object, environment: object = { READER_BASE_URL: endpoint.baseUrl }) {
  const buildId = await harness.requestBuild(knowledgeBaseId, importId, { questions_sha256: questions, ...parameters })
  return {
    buildId,
    outcome: await harness.runBuild(buildId, { environment: { ...harness.environment, ...environment } }),
  }
}

async function built(parameters: object) {
  const { buildId, outcome } = await run(parameters)
  expect(outcome).toMatchObject({ outcome: 'succeeded' })
  const versionId = versionIdOf(buildId)
  const { rows } = await harness.owner.query<{ profile: unknown; evaluation: unknown }>(
    'select profile, evaluation from corpus_versions where id = $1',
    [versionId],
  )
  return {
    versionId,
    profile: profileParametersSchema.parse(rows[0]?.profile),
    report: evaluationReportSchema.parse(rows[0]?.evaluation),
  }
}

/** Approved, and asked for against what is active now. */
async function activated(versionId: string, review?: Partial<Signed>) {
  await makeComparable(harness.owner, versionId, { store: harness.store })
  await insertSignedReview(harness.owner, versionId, review)
  const expectedVersionId = (await activePointer(harness.owner, knowledgeBaseId))?.version_id ?? null
  const id = await requestActivation(harness.owner, { knowledgeBaseId, versionId, expectedVersionId })
  await activate(activateDeps({ harness, nodes }), id)
  return readActivation(harness.owner, id)
}

describe('a build that is to try the order of a reader', () => {
  test('drops one that turns the order round', async () => {
    const { profile, report } = await built(orderingBy(REVERSING))
    expect(profile.reader).toBeNull()
    expect(report.passed).toBe(true)
    expect(
      (await rerankCalls(endpoint.baseUrl, '')).filter(({ model }) => model === REVERSING).length,
    ).toBeGreaterThanOrEqual(50)
  })

  test('does not even ask it about fewer than fifty judged questions', async () => {
    const few = await harness.storeQuestions(QUESTIONS.slice(0, 49))
    const { profile } = await built({ questions_sha256: few, ...orderingBy('never-asked') })
    expect(profile.reader).toBeNull()
    expect((await rerankCalls(endpoint.baseUrl, '')).filter(({ model }) => model === 'never-asked')).toEqual([])
  })

  test('without an endpoint fails for good and says which variable to set', async () => {
    const { outcome } = await run(orderingBy(KNOWING), {})
    expect(outcome).toMatchObject(failure('permanent', 'set READER_BASE_URL'))
  })

  test('with an endpoint that fails is tried again, never finished without it', async () => {
    const { buildId, outcome } = await run(orderingBy('status-500'))
    expect(outcome).toMatchObject(failure('transient', 'status 500'))
    expect((await harness.owner.query('select 1 from corpus_versions where build_id = $1', [buildId])).rowCount).toBe(0)
  })

  test(
    'keeps one that helps; the next candidate without it is worse, and becomes active only where the ' +
      'approval accepts that, which the trail keeps',
    async () => {
      const helped = await built({ ...orderingBy(KNOWING), embedding: 'none' })
      expect(helped.profile).toMatchObject(ordering(KNOWING, 20))
      expect(helped.report).toMatchObject({ passed: true, comparison: null })
      expect(helped.report.systems.lexical?.['ndcg@10']).toBe(1)
      expect(await activated(helped.versionId)).toMatchObject({ state: 'done' })

      const plain = await built({ embedding: 'none' })
      expect(plain.profile.reader).toBeNull()
      expect(plain.report.systems.lexical?.['ndcg@10']).toBeLessThan(0.95)
      expect(plain.report).toMatchObject({ passed: true, comparison: { version_id: helped.versionId, worse: true } })
      expect(plain.report.comparison?.worse_on).toContain('ndcg@10')
      const { length } = plain.report.comparison?.worse_on ?? []
      const wrong = plain.report.comparison?.changes?.counts.answers_wrong ?? 0
      expect(wrong).toBeGreaterThan(0)
      const accepted = [
        { kind: 'profile_changed', count: 1 },
        { kind: 'answers_wrong', count: wrong },
        { kind: 'ranking', count: length },
      ] as const
      expect(await activated(plain.versionId, { accepts: accepted.slice(0, 2) })).toMatchObject(
        refusal('does not accept a ranking that is worse'),
      )
      expect((await activePointer(harness.owner, knowledgeBaseId))?.version_id).toBe(helped.versionId)

      expect(await activated(plain.versionId)).toMatchObject({ state: 'done' })
      expect((await activePointer(harness.owner, knowledgeBaseId))?.version_id).toBe(plain.versionId)
      const { rows } = await harness.owner.query(
        "select detail -> 'accepted' as accepted from audit where action = 'version.activate' order by seq",
      )
      expect(rows).toEqual([{ accepted: [] }, { accepted }])
    },
  )
})

/** As many answerable questions as unanswerable ones. */
const LABELLED = TRADES.slice(0, 20).flatMap((trade, n) => [
  { id: `a${n}`, text: `How long does the licence of a ${trade} last?`, relevant: [`trades#${trade}-twelve`] },
  { id: `u${n}`, text: `Which orchestra performs sonata ${n} of a ${trade} tonight?`, relevant: [] },
])

describe('a build with a reader that decides', () => {
  const decidingBy = (model: string): object => ({ reader: { model, on_failure: 'decide_without' } })
  let labelled: string
  beforeAll(async () => {
    labelled = await harness.storeQuestions(LABELLED)
  })

  test('pins it, fits its decision on labelled questions, one call each, and reports it', async () => {
    const { profile, report } = await built({ ...decidingBy(OVERLAP), questions_sha256: labelled })
    expect(profile.reader).toMatchObject({
      kind: 'chat',
      model: OVERLAP,
      scores: 'decide',
      prompt_sha256: PROMPT_SHA256,
      on_failure: 'decide_without',
      calibration: { features: [...READER_PREDICTORS], named: null, questions: 40 },
    })
    expect(report.reader).toMatchObject({
      model: OVERLAP,
      questions: 40,
      answerable: 20,
      is_fitted: true,
      answered_unanswerable: 0,
    })
    expect(report.reader?.answered_answerable).toBeGreaterThan(5)
    expect(await readerCalls(endpoint.baseUrl, '')).toHaveLength(40)
  })

  test('asks none without labelled questions, and has the default of chat models', async () => {
    const before = await readerCalls(endpoint.baseUrl, '')
    const { profile, report } = await built({ ...decidingBy(OVERLAP), questions_sha256: undefined })
    expect(profile.reader?.calibration).toEqual(DEFAULT_CHAT_READER_CALIBRATION)
    expect(report.reader).toMatchObject({ questions: 0, is_fitted: false })
    expect(await readerCalls(endpoint.baseUrl, '')).toHaveLength(before.length)
  })

  test('ends a run when it fails, which may be repeated, and no candidate is left', async () => {
    const { outcome } = await run({ ...decidingBy('status-500'), questions_sha256: labelled })
    expect(outcome).toMatchObject({ outcome: 'failed', kind: 'transient' })
  })

  test('as a cross-encoder that also orders, keeps of a bad order the decision, for which it needs labels', async () => {
    const reader = { model: REVERSING, kind: 'cross-encoder', scores: 'both', passages: 20, on_failure: 'refuse' }
    const { profile } = await built({ reader, questions_sha256: labelled })
    expect(profile.reader).toMatchObject({ kind: 'cross-encoder', scores: 'decide', calibration: { questions: 40 } })
    expect((await run({ reader })).outcome).toMatchObject(
      failure('permanent', 'A cross-encoder has no default decision'),
    )
  })
})
