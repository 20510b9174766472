import { describe, expect, test } from 'vitest'
import { areTextsPresent, CORPORA_FOLDER, readActs, readSentences, textOfFile } from './citations/judgements.ts'
import type { Sentence } from './citations/judgements.ts'
import { measureClasses } from './citations/classes.ts'
import { createVocabulary, measureCitations, scoreSentence, totalOf } from './citations/score.ts'

const TEXT = 'Article 6 GDPR and § 5 UWG apply; see Table 3.'
const LABELLED: Sentence = {
  sample: 1,
  corpus: 'eu',
  id: 'stand-in',
  start: 0,
  end: TEXT.length,
  citation_like: true,
  references: [
    { start: 0, end: 9, act: 'celex:32016R0679' },
    { start: 19, end: 22, act: 'named' },
  ],
  open: [],
}
const VOCABULARY = createVocabulary([{ id: 'celex:32016R0679', aliases: ['GDPR'] }])

describe('the judged sentences', () => {
  test('are more than 300 in each part, with and without citations, and every range lies in its sentence', () => {
    for (const part of ['tuning', 'reporting'] as const) {
      const sentences = readSentences(part)
      expect(sentences.length).toBeGreaterThanOrEqual(250)
      expect(sentences.filter(({ references }) => references.length === 0).length).toBeGreaterThan(100)
    }
    const sentences = readSentences()
    expect(new Set(sentences.map(({ corpus, id, start }) => `${corpus} ${id} ${start}`)).size).toBe(sentences.length)
    for (const { start, end, references, open } of sentences)
      for (const range of [...references, ...open])
        expect([range.start >= start, range.end <= end, range.start < range.end]).toEqual([true, true, true])
  })

  test('come with the acts of every corpus that has a mapping', () => {
    expect(Object.keys(readActs()).toSorted()).toEqual(['cfpb', 'de', 'eu', 'fr', 'obliqa'])
  })
})

describe('the score of a sentence', () => {
  test('counts a reference as right only with all its parts and its act', () => {
    expect(scoreSentence(LABELLED, TEXT, VOCABULARY)).toMatchObject({ right: 2, found: 2, expected: 2 })
    const anyAct = { ...LABELLED, references: [{ start: 19, end: 22, act: null }] }
    const score = scoreSentence(anyAct, TEXT, VOCABULARY)
    expect(score).toMatchObject({ right: 0, found: 2, expected: 1, missed: ['§ 5 → any act'] })
    expect(score.wrong).toEqual(['Article 6 GDPR → celex:32016R0679', '§ 5 UWG → de:uwg'])
    const longer = { ...LABELLED, references: [{ start: 0, end: 40, act: 'celex:32016R0679' }] }
    expect(scoreSentence(longer, TEXT, VOCABULARY)).toMatchObject({ right: 0, expected: 1 })
  })

  test('leaves out what the judgement leaves open', () => {
    const open = { ...LABELLED, references: [], open: [{ start: 0, end: 26 }] }
    expect(scoreSentence(open, TEXT, VOCABULARY)).toMatchObject({ found: 0, expected: 0 })
  })
})

test('characters of a file count without tags, with entities read', () => {
  expect(textOfFile('a.xml', '<p>Section&#160;5 &amp;\n <b>6</b></p><!-- no -->')).toBe(' Section 5 & 6 ')
  expect(textOfFile('a.md', '# § 5\n\nText')).toBe('# § 5\n\nText')
})

test('no case of any class serves a passage of a wrong act, and each class is read', () => {
  for (const { name, right, found, expected, wrongActs } of measureClasses()) {
    expect(wrongActs, name).toEqual([])
    expect([right / found, right / expected], name).toEqual([1, 1])
  }
})

const present = areTextsPresent(CORPORA_FOLDER)
const STAND_IN = present ? '' : ' (../shared/data is absent: one sentence of the project stands in)'

test(`at least 97 of 100 references are read and 97 of 100 that are read are right${STAND_IN}`, () => {
  if (!present) console.warn(`${CORPORA_FOLDER} is absent: the judged sentences are NOT measured in this run`)
  const score = present
    ? totalOf(measureCitations(CORPORA_FOLDER, undefined))
    : scoreSentence(LABELLED, TEXT, VOCABULARY)
  expect(score.right / score.found).toBeGreaterThanOrEqual(0.97)
  expect(score.right / score.expected).toBeGreaterThanOrEqual(0.97)
})
