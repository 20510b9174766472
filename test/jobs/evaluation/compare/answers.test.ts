import { describe, expect, test } from 'vitest'
import type { SearchQuery, SearchResult } from '#core/domain/search.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import type { ActiveVersion } from '#jobs/evaluation/compare/active-version.ts'
import { compareAnswers } from '#jobs/evaluation/compare/answers.ts'
import type { AnswersInput, AskedQuestions } from '#jobs/evaluation/compare/answers.ts'
import type { AnswerChange } from '#jobs/evaluation/compare/changes-file.ts'
import { outcomeOf, type Outcome } from '#jobs/evaluation/outcomes.ts'
import type { QueryWithQrels } from '#jobs/evaluation/questions.ts'
import { NoSearchNodeError } from '#jobs/platform/search-nodes.ts'
import { asking, measured, queryWithQrels, replyWith } from '#test/support/evaluation.ts'

const QUESTIONS = Array.from({ length: 60 }, (_, at) => queryWithQrels(`q${at}`))
const SET: AskedQuestions = { from: 'question set of the active version', questions: QUESTIONS }
const LIMIT = 200
const ACTIVE = 'active version'
/** The default calibration answers what names a provision and abstains from the rest. */
const ANSWERED = measured({ named: 1, content_share: 1 })

/** The answer of a question behind so many others. */
const recordsOf = (id: string, rank: number): readonly string[] => [
  ...Array.from({ length: rank }, (_, at) => `r${at}`),
  `${id}-answer`,
]
const abstained = (records: readonly string[]): SearchResult => ({
  ...replyWith(records, ANSWERED),
  unsupported: [{ text: 'Rule 9', normalized: '*#9', reason: 'not_in_corpus' }],
})
const answered = (id: string, rank: number): SearchResult => replyWith(recordsOf(id, rank), ANSWERED)
const first = (id: string): SearchResult => answered(id, 0)
const second = (id: string): SearchResult => answered(id, 1)

const profile = defaultProfile({ embedding: 'none', expansion: 88 })
const lenient = { ...profile, calibration: { ...profile.calibration, threshold: 0 } }

/** Both versions answer as the functions say, by question id. */
async function compared(
  before: (id: string) => SearchResult,
  after: (id: string) => SearchResult,
  change: Partial<AnswersInput> = {},
) {
  const { context, asked } = asking(({ versionId, text }: SearchQuery) =>
    (versionId === ACTIVE ? before : after)(text.slice(0, -1)),
  )
  const active: ActiveVersion = {
    versionId: ACTIVE,
    manifestDigest: Buffer.alloc(32),
    facets: { languages: ['fr'], jurisdictions: ['XX'], subjects: [], statuses: ['verified'] },
    profile: lenient,
    embedder: context.embedder,
    questionSet: null,
  }
  const changes: AnswerChange[] = []
  const record = async (one: AnswerChange): Promise<void> => await Promise.resolve(void changes.push(one))
  const input = {
    active,
    asked: [SET],
    profile: lenient,
    limit: LIMIT,
    evaluated: { questions: [], outcomes: [] },
    context,
    activeSourceIdOf: context.sourceIdOf,
    record,
    ...change,
  }
  return { ...(await compareAnswers(input)), changes, asked }
}

describe('both versions', () => {
  test('are asked the same questions, the active one as it is served: its version, facets and profile', async () => {
    const { questions, worse, worse_on, changes, asked } = await compared(second, second)
    expect([questions, worse, worse_on, changes]).toEqual([60, false, [], []])
    const ofActive = asked.filter(({ versionId }) => versionId === ACTIVE)
    expect(ofActive.map(({ text }) => text)).toEqual(QUESTIONS.map(({ text }) => text))
    expect(asked).toHaveLength(120)
    for (const { filters, ranking, limit } of ofActive)
      expect([filters.languages, ranking.rowsScoredMin, limit]).toEqual([['fr'], 88, LIMIT])
  })

  test('are asked nothing again that the evaluation asked the candidate', async () => {
    const outcome = (question: QueryWithQrels): Outcome => outcomeOf(question, replyWith(['other'], ANSWERED))
    const evaluated = [...QUESTIONS.slice(0, 2), queryWithQrels('q2', { text: 'in other words' })]
    const { changes, asked } = await compared(second, second, {
      evaluated: { questions: evaluated, outcomes: evaluated.map(outcome) },
    })
    expect(changes.map(({ kind, question, after }) => [kind, question, after.first])).toEqual([
      ['answers_wrong', 'q0', 'other'],
      ['answers_wrong', 'q1', 'other'],
    ])
    expect(asked.filter(({ versionId }) => versionId !== ACTIVE)).toHaveLength(58)
  })

  test('are compared on every set of questions, and the first on which the candidate is worse is shown', async () => {
    const easy = Array.from({ length: 60 }, (_, at) => queryWithQrels(`easy${at}`))
    const set = { from: 'question set', questions: easy } as const
    const { from, worse, metrics } = await compared(second, (id) => answered(id, id.startsWith('easy') ? 1 : 3), {
      asked: [set, { ...SET, from: 'known items of the active version' }],
    })
    expect([from, worse]).toEqual(['known items of the active version', true])
    expect(metrics['mrr@10']).toMatchObject({ candidate: 0.25, active: 0.5, difference: -0.25 })
  })
})

describe('an answer of the active version', () => {
  const only = async (
    before: SearchResult,
    after: SearchResult,
    change: Parameters<typeof queryWithQrels>[1] = {},
  ): Promise<readonly AnswerChange[]> => {
    const questions = [queryWithQrels('q', change), queryWithQrels('same')]
    const onlyQ = (reply: SearchResult) => (id: string) => (id === 'q' ? reply : first(id))
    const asked: readonly AskedQuestions[] = [{ from: 'question set', questions }]
    return (await compared(onlyQ(before), onlyQ(after), { asked })).changes
  }

  test('is lost where the candidate abstains, and the line names the question and what is not held', async () => {
    expect(await only(answered('q', 0), abstained(recordsOf('q', 0)))).toEqual([
      {
        kind: 'answers_lost',
        question: 'q',
        from: 'question set',
        text: 'q?',
        relevant: ['q-answer'],
        before: { decision: 'answer', first: 'q-answer', rank: 1, unsupported: [] },
        after: { decision: 'abstain', first: 'q-answer', rank: 1, unsupported: ['*#9'] },
      },
    ])
  })

  test.each([
    ['another passage comes first', 0, 1],
    ['no relevant passage is among the first ten', 4, 10],
  ])('becomes wrong where %s', async (_, before, after) => {
    const [change] = await only(answered('q', before), answered('q', after))
    expect(change).toMatchObject({ kind: 'answers_wrong', question: 'q' })
  })

  test('is no change where the candidate ranks its passage as well or better', async () => {
    expect(await only(answered('q', 4), answered('q', 2))).toEqual([])
  })

  test('that had no relevant passage cannot be lost; another first passage is named all the same', async () => {
    for (const before of [answered('q', 10), abstained(recordsOf('q', 0))])
      expect(await only(before, abstained([]))).toMatchObject([{ kind: 'answers_moved' }])
    expect(await only(abstained([]), abstained([]))).toEqual([])
  })

  test('to a question without evidence is wrong where the active version abstains', async () => {
    const unanswerable = { answerable: false, qrels: new Map<string, number>() }
    expect(await only(abstained([]), answered('q', 0), unanswerable)).toMatchObject([{ kind: 'answers_wrong' }])
    expect(await only(answered('q', 0), answered('q', 0), unanswerable)).toEqual([])
  })

  test('is lost by a threshold that the candidate fitted to a question set of its own', async () => {
    const strict = { ...profile, calibration: { ...profile.calibration, threshold: 1 } }
    const { changes } = await compared(first, first, { profile: strict })
    expect(changes.map(({ kind }) => kind)).toEqual(QUESTIONS.map(() => 'answers_lost'))
  })
})

describe('the comparison', () => {
  test('that no search node can serve now leaves the build to be tried again', async () => {
    const fail = async (): Promise<never> => await Promise.reject(new Error('gone'))
    const gone: SearchNodeClient = {
      address: 'gone',
      search: fail,
      prepareVersion: fail,
      releaseVersion: fail,
      status: fail,
      close: () => undefined,
    }
    const { context } = asking(() => replyWith([]), { nodes: [gone] })
    await expect(compared(abstainedAlways, abstainedAlways, { context })).rejects.toThrow(
      new NoSearchNodeError('the active version', []),
    )
  })

  test('without a judged question fails the build and says what to do', async () => {
    const questions = QUESTIONS.map((question) => ({ ...question, qrels: new Map<string, number>() }))
    await expect(
      compared(abstainedAlways, abstainedAlways, { asked: [{ from: 'question set', questions }] }),
    ).rejects.toThrow(/share no question.*build with a question set/)
  })
})

function abstainedAlways(): SearchResult {
  return abstained([])
}
