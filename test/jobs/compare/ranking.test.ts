import { describe, expect, test } from 'vitest'
import { defaultProfile } from '#jobs/build/parameters.ts'
import type { SearchQuery } from '#core/domain/search.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import type { ActiveVersion } from '#jobs/compare/active-version.ts'
import { compareRanking } from '#jobs/compare/ranking.ts'
import type { RankingInput } from '#jobs/compare/ranking.ts'
import type { RankingComparison } from '#jobs/evaluation/metrics/comparison.ts'
import { figuresById, outcomeOf } from '#jobs/evaluation/outcomes.ts'
import { NoSearchNodeError } from '#jobs/search-nodes.ts'
import { asking, queryWithQrels, replyWith } from '#test/support/jobs/asking.ts'

const QUESTIONS = Array.from({ length: 60 }, (_, at) => queryWithQrels(`q${at}`))
const LIMIT = 200

/** The answer of a question behind so many others. */
const recordsOf = (id: string, rank: number): readonly string[] => [
  ...Array.from({ length: rank }, (_, at) => `r${at}`),
  `${id}-answer`,
]
const candidateAt = (rank: number): RankingInput['candidate'] =>
  figuresById(
    QUESTIONS,
    QUESTIONS.map((question) => outcomeOf(question, replyWith(recordsOf(question.id, rank)))),
  )

const { context, asked } = asking(({ text }: SearchQuery) => replyWith(recordsOf(text.slice(0, -1), 1)))
const active: ActiveVersion = {
  versionId: 'active version',
  manifestDigest: Buffer.alloc(32),
  facets: { languages: ['fr'], jurisdictions: ['XX'], subjects: [], statuses: ['verified'] },
  profile: defaultProfile({ embedding: 'local', expansion: 88 }),
  embedder: context.embedder,
  questionSet: null,
}
const compared = async (rank: number, change: Partial<RankingInput> = {}): Promise<RankingComparison> =>
  await compareRanking({
    active,
    questions: QUESTIONS,
    candidate: candidateAt(rank),
    limit: LIMIT,
    context,
    ...change,
  })

describe('the active version', () => {
  test('is asked the same questions as it is served: its version, facets and profile', async () => {
    const comparison = await compared(1)
    expect(comparison).toMatchObject({ questions: 60, worse: false, worse_on: [] })
    expect(asked.map(({ text }) => text)).toEqual(QUESTIONS.map(({ text }) => text))
    for (const { versionId, filters, ranking, limit } of asked)
      expect([versionId, filters.languages, ranking.rowsScoredMin, limit]).toEqual([
        'active version',
        ['fr'],
        88,
        LIMIT,
      ])
  })

  test('is what a candidate that ranks the answers lower is worse than', async () => {
    const comparison = await compared(3)
    expect(comparison.worse).toBe(true)
    expect(comparison.metrics['mrr@10']).toMatchObject({ candidate: 0.25, active: 0.5, difference: -0.25 })
    expect((await compared(0)).worse).toBe(false)
  })

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
    await expect(compared(1, { context: { ...context, nodes: [gone] } })).rejects.toThrow(
      new NoSearchNodeError('the active version', []),
    )
  })

  test('that shares no judged question with the candidate fails the build and says what to do', async () => {
    const unjudged = QUESTIONS.map((question) => ({ ...question, qrels: new Map<string, number>() }))
    await expect(compared(1, { questions: unjudged, candidate: new Map() })).rejects.toThrow(
      /share no question.*build with a question set/,
    )
  })

  test('gives the questions where the candidate was not asked them yet', async () => {
    asked.length = 0
    const comparison = await compared(1, { candidate: undefined })
    expect(comparison.questions).toBe(60)
    expect(new Set(asked.map(({ versionId }) => versionId))).toEqual(new Set(['active version', context.versionId]))
  })
})
