import { expect, test } from 'vitest'
import { judgedQuestion } from '#jobs/evaluate/query-with-qrels.ts'

test('every relevant passage of a question counts alike, and a question with one is answerable', () => {
  expect(
    judgedQuestion({ id: 'q', text: 'capital?', relevant: ['a#1', 'a#2'], filters: { language: ['en'] } }),
  ).toEqual({
    id: 'q',
    text: 'capital?',
    judgments: new Map([
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
  expect(judgedQuestion({ id: 'q', text: 'weather?', relevant: [] })).toMatchObject({
    answerable: false,
    judgments: new Map(),
  })
})
