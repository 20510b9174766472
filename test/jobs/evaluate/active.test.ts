import { describe, expect, test } from 'vitest'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import type { SearchQuery } from '#core/domain/search.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { compareWithActive } from '#jobs/evaluate/active.ts'
import type { ActiveVersion } from '#jobs/evaluate/active.ts'
import { outcomeOf } from '#jobs/evaluate/outcomes.ts'
import { asking, queryWithQrels, replyWith } from '#test/support/jobs/asking.ts'

const QUESTIONS = Array.from({ length: 60 }, (_, at) => queryWithQrels(`q${at}`))
const LIMIT = 200
const VERSION_ID = '0198c0de-0000-7000-8000-000000000000'

/** The answer of a question behind so many others. */
const recordsOf = (id: string, place: number): readonly string[] => [
  ...Array.from({ length: place }, (_, at) => `r${at}`),
  `${id}-answer`,
]
const candidateAt = (place: number): ReturnType<typeof outcomeOf>[] =>
  QUESTIONS.map((question) => outcomeOf(question, replyWith(recordsOf(question.id, place))))

const { context, asked } = asking(({ text }: SearchQuery) => replyWith(recordsOf(text.slice(0, -1), 1)))
const active: ActiveVersion = {
  versionId: VERSION_ID,
  projection: { projectionId: 'active projection', manifestDigest: Buffer.alloc(32) },
  facets: { languages: ['fr'], jurisdictions: ['XX'], subjects: [], statuses: ['verified'] },
  profile: profileParametersSchema.parse({ expansion: 88 }),
  embedder: context.embedder,
}

describe('the active version', () => {
  test('is asked the same questions as it is served: its projection, facets and profile', async () => {
    const comparison = await compareWithActive(active, QUESTIONS, candidateAt(1), LIMIT, context)
    expect(comparison).toMatchObject({ version_id: VERSION_ID, questions: 60, worse: false, worse_on: [] })
    expect(asked.map(({ text }) => text)).toEqual(QUESTIONS.map(({ text }) => text))
    for (const { projectionId: projection, filters, ranking, limit } of asked)
      expect([projection, filters.languages, ranking.rowsScoredMin, limit]).toEqual([
        'active projection',
        ['fr'],
        88,
        LIMIT,
      ])
  })

  test('is what a candidate that ranks the answers lower is worse than', async () => {
    const comparison = await compareWithActive(active, QUESTIONS, candidateAt(3), LIMIT, context)
    expect(comparison?.worse).toBe(true)
    expect(comparison?.metrics['mrr@10']).toMatchObject({ candidate: 0.25, active: 0.5, difference: -0.25 })
    expect((await compareWithActive(active, QUESTIONS, candidateAt(0), LIMIT, context))?.worse).toBe(false)
  })

  test('is not compared where there is none, no node that has it, or no question that both answer', async () => {
    expect(await compareWithActive(undefined, QUESTIONS, candidateAt(1), LIMIT, context)).toBeNull()
    const fail = async (): Promise<never> => await Promise.reject(new Error('gone'))
    const gone: SearchNodeClient = {
      address: 'gone',
      search: fail,
      prepareVersion: fail,
      releaseVersion: fail,
      status: fail,
      close: () => undefined,
    }
    expect(
      await compareWithActive(active, QUESTIONS, candidateAt(1), LIMIT, {
        ...context,
        nodes: [gone],
      }),
    ).toBeNull()
    const unjudged = QUESTIONS.map((question) => ({ ...question, qrels: new Map<string, number>() }))
    expect(
      await compareWithActive(
        active,
        unjudged,
        unjudged.map((question) => outcomeOf(question, replyWith([]))),
        LIMIT,
        context,
      ),
    ).toBeNull()
  })
})
