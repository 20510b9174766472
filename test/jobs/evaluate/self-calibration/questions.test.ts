import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rowOrder } from '#core/index/format/row-order.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'
import { askSystems } from '#jobs/evaluate/ask.ts'
import type { AskContext } from '#jobs/evaluate/ask.ts'
import { FORMS, selfQuestions } from '#jobs/evaluate/self-calibration/questions.ts'
import type { SelfQuestion } from '#jobs/evaluate/self-calibration/questions.ts'
import { testPassage } from '#test/support/artifact.ts'
import type { PassageTraits } from '#test/support/artifact.ts'
import { asking } from '#test/support/jobs/asking.ts'
import { searchable } from '#test/support/search-node/searchable.ts'
import type { Searchable } from '#test/support/search-node/searchable.ts'

const DAY = '2026-03-01'
const SYLLABLES = ['bra', 'cor', 'dul', 'fen', 'gim', 'hap', 'jor', 'kel', 'lim', 'mot'] as const

/** Thirty words of its own for each passage. */
function textOf(n: number): string {
  const random = mulberry32(n + 1)
  const syllable = (): string => SYLLABLES[Math.floor(random() * SYLLABLES.length)] ?? ''
  return Array.from({ length: 30 }, () => `${syllable()}${syllable()}${syllable()}`).join(' ')
}

const passage = (n: number, traits: PassageTraits = {}): PassageRecord =>
  testPassage(n, { text: textOf(n), heading: '', ...traits })

/** Ten passages of each document, in row order. */
const PASSAGES = Array.from({ length: 80 }, (_, n) => passage(n)).sort(rowOrder)

async function questionsOf(
  passages: readonly PassageRecord[],
  count: number = BOUNDS.selfCalibrationPassages,
): Promise<readonly SelfQuestion[]> {
  return await selfQuestions(
    (async function* () {
      for (const record of passages) yield await Promise.resolve(record)
    })(),
    { count, day: DAY },
  )
}

const ofForm = (questions: readonly SelfQuestion[], form: SelfQuestion['form']): readonly SelfQuestion[] =>
  questions.filter((question) => question.form === form)

describe('the questions that a version makes from itself', () => {
  test('ask in the words of each passage, of every row and with its document masked, and by its label', async () => {
    const questions = await questionsOf([passage(7), passage(17)])
    expect(questions).toHaveLength(2 * 7)
    for (const form of ['middle', 'few words'] as const) {
      const asked = ofForm(questions, form)
      expect(asked.map(({ answerable, onlyRows }) => [answerable, onlyRows?.length])).toEqual([
        [true, undefined],
        [false, 1],
        [true, undefined],
        [false, 1],
      ])
      expect(asked[1]?.text).toBe(asked[0]?.text)
    }
    const labels = ofForm(questions, 'named').map(({ text }) => text)
    expect(labels.toSorted()).toEqual(['Rule 17', 'Rule 7'])
    const offTopic = ofForm(questions, 'off topic').map(({ text }) => text)
    expect(ofForm(questions, 'beyond').map(({ text }) => text)).toEqual(
      labels.map((label, at) => `${label}: ${offTopic[at]}`),
    )
    const unmasked = questions.filter(({ onlyRows }) => onlyRows === undefined)
    expect(new Set(unmasked.filter(({ answerable }) => answerable).map(({ form }) => form))).toEqual(
      new Set(['middle', 'few words', 'named']),
    )
  })

  test('take fourteen words from the middle of a passage, and a few of its content words', async () => {
    const text = Array.from({ length: 31 }, (_, at) => (at % 2 === 0 ? 'the' : `content${at}`)).join(' ')
    const questions = await questionsOf([passage(1, { text })])
    expect(ofForm(questions, 'middle')[0]?.text).toBe(text.split(' ').slice(8, 22).join(' '))
    expect(ofForm(questions, 'few words')[0]?.text).toBe('content3 content11 content19 content27')
  })

  test('come from the passages with the smallest ids, whatever their rows', async () => {
    const labelsOf = async (passages: readonly PassageRecord[]): Promise<readonly string[]> =>
      ofForm(await questionsOf(passages, 5), 'named').map(({ text }) => text)
    const smallest = PASSAGES.toSorted((a, b) => (a.chunk_id < b.chunk_id ? -1 : 1)).slice(0, 5)
    expect(await labelsOf(PASSAGES)).toEqual(smallest.map(({ citation }) => citation.label))
    expect(await labelsOf(PASSAGES.toReversed())).toEqual(await labelsOf(PASSAGES))
  })

  test('are of at most the passages that are wanted', async () => {
    expect(ofForm(await questionsOf(PASSAGES), 'named')).toHaveLength(BOUNDS.selfCalibrationPassages)
  })

  test('are made of no passage that a request of the day could not be served, nor of a short one', async () => {
    const outside = [
      passage(1, { status: 'provisional' }),
      passage(2, { inForceFrom: '2026-03-02' }),
      passage(3, { inForceTo: DAY }),
      passage(4, { text: 'x '.repeat(BOUNDS.selfQuestionCharactersMin / 2 - 1) }),
    ]
    expect(await questionsOf(outside)).toEqual([])
  })

  test('are no words of a text without spaces, and none that are longer than a caller may send', async () => {
    const unspaced = await questionsOf([passage(1, { text: '根据本法第十二条规定'.repeat(30), language: 'zh' })])
    expect(unspaced.map(({ form }) => form)).toEqual(['named', 'beyond', 'off topic'])
    const long = `${'x'.repeat(BOUNDS.queryCharactersMax)} `
    const questions = await questionsOf([passage(1, { text: long.repeat(20) })])
    expect(questions.map(({ form }) => form)).toEqual(['named', 'beyond', 'off topic'])
  })

  test('are off topic in the language of the passage, or in English', async () => {
    const asked = async (language: string): Promise<string | undefined> =>
      ofForm(await questionsOf([passage(1, { language })]), 'off topic')[0]?.text
    expect(await asked('de-AT')).toMatch(/^Wie lange muss ein Ei/)
    expect(await asked('fr')).toMatch(/^Combien de temps/)
    for (const language of ['en', 'pl', 'constructor']) expect(await asked(language)).toMatch(/^How long do I boil/)
  })
})

describe('a masked document', () => {
  let index: Searchable
  beforeAll(async () => {
    const embedder = createLocalEmbedder()
    const { vectors } = await embedder.embed(
      PASSAGES.map(({ text }) => text),
      'passage',
      new AbortController().signal,
    )
    index = await searchable({
      rows: PASSAGES.map((record, at) => ({ record, vector: vectors[at] ?? new Float32Array() })),
    })
  })
  afterAll(() => index.close())

  function contextOf(): AskContext {
    const facets = { languages: ['en'], jurisdictions: ['XA'], subjects: ['general'], statuses: ['verified'] }
    return asking((request) => index.ask(request), { facets, embedder: createLocalEmbedder() }).context
  }

  test('is not found by a question in its words, which finds it first without the mask', async () => {
    const questions = (await questionsOf(PASSAGES)).filter(({ form }) => form === 'middle' || form === 'few words')
    const found = new Map<SelfQuestion, readonly string[]>()
    await askSystems(
      questions.map((question) => ({ ...question, question, filters: undefined })),
      { ...contextOf(), systems: ['hybrid'], limit: 50 },
      (_at, _system, { passages }, { question }) => {
        found.set(
          question,
          passages.map(({ document }) => document.id),
        )
      },
    )
    expect(questions).toHaveLength(4 * BOUNDS.selfCalibrationPassages)
    for (const question of questions.filter(({ answerable }) => answerable)) {
      const own = PASSAGES.find(({ text }) => question.text.split(' ').every((word) => text.includes(word)))?.document
        .id
      const masked = questions.find(({ text, answerable }) => text === question.text && !answerable)
      expect(own).toBeDefined()
      expect(found.get(question)?.[0]).toBe(own)
      const others = masked === undefined ? [] : (found.get(masked) ?? [])
      expect(others.length).toBeGreaterThan(0)
      expect(others).not.toContain(own)
    }
  })
})

test('every form of a question occurs', async () => {
  expect(new Set((await questionsOf(PASSAGES)).map(({ form }) => form))).toEqual(new Set(FORMS))
})
