import { describe, expect, test } from 'vitest'
import { askQuestions, outcomeOf, timeModes } from '#jobs/evaluation/outcomes.ts'
import { asking, found, measured, queryWithQrels, replyWith } from '#test/support/evaluation.ts'
import { queryWithQrels as fromQuestion } from '#jobs/evaluation/questions.ts'

const JUDGMENTS = new Map([
  ['b', 1],
  ['c', 1],
])
const QUESTION = { id: 'q', qrels: JUDGMENTS, quoted: false }

describe('the outcome of a question', () => {
  test('counts a record that was cut into several passages once, at its best place', () => {
    const passages = [found('a', 0.9), found('a', 0.8), found('b', 0.7), found('a', 0.6), found('c', 0.5)]
    const { figures, top } = outcomeOf(QUESTION, { passages, predictors: [], unsupported: [] })
    expect(top).toEqual([
      { record: 'a', score: 0.9 },
      { record: 'b', score: 0.7 },
      { record: 'c', score: 0.5 },
    ])
    expect(figures?.['mrr@10']).toBe(1 / 2)
    expect(figures?.['map@10']).toBeCloseTo((1 / 2 + 2 / 3) / 2, 12)
  })

  test('passes over a record with the question’s own id', () => {
    const { figures, top } = outcomeOf(
      { ...QUESTION, id: 'a' },
      { passages: [found('a', 1), found('b', 0.7)], predictors: [], unsupported: [] },
    )
    expect(top.map(({ record }) => record)).toEqual(['b'])
    expect(figures?.['mrr@10']).toBe(1)
  })

  test('has no figures where no record is relevant, and keeps what the node measured', () => {
    expect(
      outcomeOf(
        { ...QUESTION, qrels: new Map([['b', 0]]) },
        { passages: [found('b', 0.7)], predictors: [0.5], unsupported: [] },
      ),
    ).toMatchObject({ figures: undefined, predictors: [0.5] })
  })

  test('of a quoted text passes over what the text names, unless that is what is asked for', () => {
    const passages = [found('named', 1, { named: true }), found('c', 0.9, { named: true }), found('b', 0.7)]
    const top = (quoted: boolean): readonly string[] =>
      outcomeOf({ ...QUESTION, quoted }, { passages, predictors: [], unsupported: [] }).top.map(({ record }) => record)
    expect([top(true), top(false)]).toEqual([
      ['c', 'b'],
      ['named', 'c', 'b'],
    ])
  })

  test('keeps five records and judges by all', () => {
    const passages = Array.from({ length: 9 }, (_, at) => found(at === 8 ? 'b' : `r${at}`, 1 - at / 10))
    const { top, figures } = outcomeOf(QUESTION, { passages, predictors: [], unsupported: [] })
    expect(top).toHaveLength(5)
    expect(figures?.['mrr@10']).toBe(1 / 9)
  })
})

describe('a question set', () => {
  test('is asked of every system with its own evidence, and outcomes are in the order of the questions', async () => {
    const { context, asked } = asking(({ vector, text }) =>
      replyWith(
        vector === undefined ? ['by-words'] : text === '' ? ['by-vector'] : ['by-both'],
        measured({ first_length: text.length }),
      ),
    )
    const questions = Array.from({ length: 70 }, (_, at) => queryWithQrels(`q${at}`))
    const outcomes = await askQuestions(questions, 101, context)
    const records = (system: 'lexical' | 'dense' | 'hybrid'): ReadonlySet<string | undefined> =>
      new Set(outcomes[system]?.map(({ top }) => top[0]?.record))
    expect([records('lexical'), records('dense'), records('hybrid')]).toEqual([
      new Set(['by-words']),
      new Set(['by-vector']),
      new Set(['by-both']),
    ])
    expect(outcomes.hybrid?.map(({ predictors }) => predictors)).toEqual(
      questions.map(({ text }) => measured({ first_length: text.length })),
    )
    expect(asked).toHaveLength(3 * 70)
    for (const request of asked) expect(request).toMatchObject({ limit: 101, rowsOnly: true, versionId: 'version' })
  })

  test('is asked by words alone of a version without vectors, and nothing is embedded', async () => {
    const { context, asked } = asking(() => replyWith(['by-words']), { embedder: undefined })
    const outcomes = await askQuestions([queryWithQrels('q')], 101, context)
    expect(Object.keys(outcomes)).toEqual(['lexical'])
    expect(Object.keys(await timeModes([queryWithQrels('q')], context))).toEqual(['lexical'])
    for (const { text, vector } of asked) expect([text, vector]).toEqual(['q?', undefined])
    expect(asked).toHaveLength(1 + 2)
  })

  test('is narrowed question by question as a caller would narrow it, within what is entitled', async () => {
    const { context, asked } = asking(() => replyWith([]))
    await askQuestions(
      [queryWithQrels('q', { filters: { subject: ['alpha'], in_force_on: '2020-01-01' } })],
      10,
      context,
    )
    for (const { filters, entitled, ranking } of asked) {
      expect(filters).toMatchObject({
        subjects: ['alpha'],
        anySubject: false,
        inForceOn: '2020-01-01',
        languages: ['en'],
      })
      expect(entitled).toMatchObject({ anySubject: true, inForceOn: '2026-03-01' })
      expect(ranking.collapseRevisionsOn).toBe('2020-01-01')
    }
  })
})

describe('the latency', () => {
  const NEVER = { p50: 0, p99: 0 }

  test('is timed on at most 50 questions spread over the set, after ten that do not count', async () => {
    const { context, asked } = asking(() => replyWith(['a']))
    let last = ''
    const questions = Array.from({ length: 500 }, (_, at) => queryWithQrels(`q${at}`))
    const latency = await timeModes(questions, { ...context, onProgress: (done, total) => (last = `${done}/${total}`) })
    const texts = asked.filter(({ vector }) => vector === undefined).map(({ text }) => text)
    expect(texts).toHaveLength(60)
    expect(new Set(texts)).toEqual(new Set(Array.from({ length: 50 }, (_, at) => `q${at * 10}?`)))
    expect(last).toBe('60/60')
    for (const { p50, p99 } of [latency.lexical, latency.dense ?? NEVER, latency.hybrid ?? NEVER]) {
      expect(p50).toBeGreaterThan(0)
      expect(p99).toBeGreaterThanOrEqual(p50)
    }
    expect(new Set(asked.map(({ limit }) => limit))).toEqual(new Set([10]))
  })

  test('of fewer than twenty questions is that of each', async () => {
    const { context, asked } = asking(() => replyWith(['a']))
    expect((await timeModes([queryWithQrels('q')], context)).hybrid?.p50).toBeGreaterThan(0)
    expect(asked).toHaveLength(2 * 3)
  })
})

test('every relevant passage of a question counts alike, and a question with one is answerable', () => {
  expect(fromQuestion({ id: 'q', text: 'capital?', relevant: ['a#1', 'a#2'], filters: { language: ['en'] } })).toEqual({
    id: 'q',
    text: 'capital?',
    qrels: new Map([
      ['a#1', 1],
      ['a#2', 1],
    ]),
    answerable: true,
    group: undefined,
    quoted: false,
    filters: { language: ['en'] },
  })
})

test('a question without a relevant passage is one that the corpus does not answer', () => {
  expect(fromQuestion({ id: 'q', text: 'weather?', relevant: [] })).toMatchObject({
    answerable: false,
    qrels: new Map(),
  })
})
