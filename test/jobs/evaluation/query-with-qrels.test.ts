import { expect, test } from 'vitest'
import { queryWithQrels } from '#jobs/evaluation/questions.ts'

test('every relevant passage of a question counts alike, and a question with one is answerable', () => {
  expect(
    queryWithQrels({ id: 'q', text: 'capital?', relevant: ['a#1', 'a#2'], filters: { language: ['en'] } }),
  ).toEqual({
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
  expect(queryWithQrels({ id: 'q', text: 'weather?', relevant: [] })).toMatchObject({
    answerable: false,
    qrels: new Map(),
  })
})
