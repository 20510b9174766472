import { globSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { READER_PREDICTORS, readerPredictors } from '#core/domain/predictors.ts'
import { words } from '#core/index/analysis/words.ts'
import { createReader } from '#core/reading/reader.ts'
import type { Reader } from '#core/reading/reader.ts'
import { fitCalibration } from '#jobs/evaluation/calibration/fit.ts'
import { fitLogisticRegression, predict } from '#jobs/evaluation/calibration/logistic-regression.ts'
import { found } from '#test/support/evaluation.ts'
import { bodyOf, send, startJsonServer } from '#test/support/json-server.ts'
import type { JsonServer } from '#test/support/json-server.ts'

const CORPUS = new URL('../../../../operator/demo/corpus/', import.meta.url).pathname

interface Passage {
  readonly id: string
  readonly text: string
}

function passagesOfDemo(): readonly Passage[] {
  return globSync(`${CORPUS}rulebook/*.md`)
    .toSorted()
    .flatMap((file) => {
      const text = readFileSync(file, 'utf8')
      const document = /^document: (.+)$/m.exec(text)?.[1] ?? ''
      return [...text.matchAll(/^### .*\{#(.+)\}\n([^#]+)/gm)].map(([whole, anchor]) => ({
        id: `${document}#${anchor}`,
        text: whole,
      }))
    })
}

const lineSchema = z.object({ id: z.string(), text: z.string(), relevant: z.array(z.string()) })
type Line = z.infer<typeof lineSchema>

function questionsOfDemo(): readonly Line[] {
  const lines = readFileSync(`${CORPUS}questions.jsonl`, 'utf8').trim().split('\n')
  return lines.map((line) => lineSchema.parse(JSON.parse(line))).filter(({ relevant }) => relevant.length > 0)
}

const passages = passagesOfDemo()
const questions = questionsOfDemo()
const wordsOf = new Map(passages.map(({ text }) => [text, new Set(words(text))]))
const idf = (word: string): number =>
  Math.log(1 + passages.length / (1 + [...wordsOf.values()].filter((held) => held.has(word)).length))
const weights = new Map([...new Set(questions.flatMap(({ text }) => words(text)))].map((word) => [word, idf(word)]))

/** Share of the question's words that a text holds, by weight and by number, and of its adjacent words. */
function features(question: string, text: string): readonly number[] {
  const asked = words(question)
  const held = wordsOf.get(text) ?? new Set(words(text))
  const sum = (all: readonly string[]): number => all.reduce((total, word) => total + (weights.get(word) ?? 1), 0)
  const shared = asked.filter((word) => held.has(word))
  const sequence = ` ${words(text).join(' ')} `
  const pairs = asked.slice(1).map((word, at) => ` ${asked[at]} ${word} `)
  const adjacent = pairs.filter((pair) => sequence.includes(pair)).length
  return [sum(shared) / sum(asked), shared.length / asked.length, adjacent / Math.max(1, pairs.length)]
}

/** The five passages that share most with a question, with or without those that answer it. */
function listFor({ text, relevant }: Line, withAnswer: boolean): readonly Passage[] {
  const others = passages
    .filter(({ id }) => !relevant.includes(id))
    .map((passage) => ({ passage, shared: features(text, passage.text)[0] ?? 0 }))
    .sort((a, b) => b.shared - a.shared)
    .map(({ passage }) => passage)
  const answer = passages.filter(({ id }) => withAnswer && relevant.includes(id)).slice(0, 1)
  return [...others.slice(0, 5 - answer.length), ...answer]
}

const training = questions.filter((_, at) => at % 2 === 0)
const asked = questions.filter((_, at) => at % 2 === 1)

let server: JsonServer
let reader: Reader
beforeAll(async () => {
  const model = fitLogisticRegression(
    training.flatMap((question) =>
      [true, false].flatMap((withAnswer) =>
        listFor(question, withAnswer).map(({ id, text }) => ({
          features: features(question.text, text),
          sufficient: question.relevant.includes(id),
        })),
      ),
    ),
    1,
  )
  const requestSchema = z.strictObject({ query: z.string(), texts: z.array(z.string()), truncate: z.literal(true) })
  server = await startJsonServer((request, response) => {
    void bodyOf(request).then((body) => {
      const { query, texts } = requestSchema.parse(body)
      const scores = predict(
        model,
        texts.map((text) => ({ features: features(query, text), sufficient: false })),
      )
      send(
        response,
        200,
        scores.map((score, index) => ({ index, score })).sort((a, b) => b.score - a.score),
      )
    })
  })
  reader = createReader(
    { kind: 'cross-encoder', model: 'trained-here', prompt_sha256: null },
    {
      READER_BASE_URL: undefined,
      READER_API_KEY: undefined,
      READER_TIMEOUT_MS: 5_000,
      RERANK_BASE_URL: server.baseUrl,
      RERANK_FORMAT: 'tei',
      RERANK_API_KEY: undefined,
      RERANK_TIMEOUT_MS: 5_000,
    },
  )
})
afterAll(() => server.stop())

test('scores of a cross-encoder trained on other questions calibrate a decision that tells answers from near misses', async () => {
  const samples = []
  for (const question of asked)
    for (const sufficient of [true, false]) {
      const list = listFor(question, sufficient).map(({ id, text }) => found(id, 1, { text }))
      const { scores } = await reader.read(question.text, list, new AbortController().signal)
      const predictors = readerPredictors(scores)
      const values = READER_PREDICTORS.map((name) => predictors[name])
      samples.push({ id: `${question.id} ${sufficient}`, group: question.id, sufficient, features: values })
    }
  const fitted = fitCalibration(samples, { features: READER_PREDICTORS, targetRisk: 0.2 })
  expect(samples.length).toBeGreaterThan(100)
  expect(fitted?.calibration.auroc).toBeGreaterThan(0.75)
  expect(fitted?.calibration.coverage_at_target).toBeGreaterThan(0.1)
})
