import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { testRows } from '#test/support/passages.ts'
import { EVERYTHING, searchable } from '#test/support/search.ts'

const SIX_LANGUAGES = ['ar', 'hi', 'ja', 'ko', 'th', 'zh']
const ASKED_FOR = 10
const FOUND_WITHIN = 5
const RECALL_MIN = 0.95

const PASSAGES = linesOf('passages.jsonl', z.strictObject({ id: z.string(), language: z.string(), text: z.string() }))
const QUESTIONS = linesOf(
  'questions.jsonl',
  z.strictObject({ passage: z.string(), language: z.string(), question: z.string() }),
)

function linesOf<Line>(name: string, schema: z.ZodType<Line>): readonly Line[] {
  const lines = readFileSync(new URL(name, import.meta.url), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => schema.parse(JSON.parse(line)))
}

/** Questions whose passage is not among the first ones. */
let missed: typeof QUESTIONS

/** Asks every question by words alone, in one version that holds the passages of all languages. */
beforeAll(async () => {
  const rows = testRows({
    rows: PASSAGES.length,
    dimensions: 8,
    seed: 1,
    traits: (n) => ({ ...PASSAGES[n], heading: '', provision: PASSAGES[n]?.id ?? '' }),
  })
  const idOf = new Map(PASSAGES.map(({ id, text }) => [text, id]))
  const filters = { ...EVERYTHING, languages: [...new Set(PASSAGES.map(({ language }) => language))] }
  const version = await searchable({ rows })
  const found: (typeof QUESTIONS)[number][] = []
  for (const asked of QUESTIONS) {
    const { passages } = await version.ask({ text: asked.question, limit: ASKED_FOR, filters })
    if (!passages.slice(0, FOUND_WITHIN).some(({ text }) => idOf.get(text) === asked.passage)) found.push(asked)
  }
  version.close()
  missed = found
})

test('a hundred known items in six languages are found among the first five passages, by words alone', () => {
  const of = (list: typeof QUESTIONS): typeof QUESTIONS => list.filter((one) => SIX_LANGUAGES.includes(one.language))
  expect(of(QUESTIONS).length).toBeGreaterThanOrEqual(100)
  expect(1 - of(missed).length / of(QUESTIONS).length, JSON.stringify(of(missed))).toBeGreaterThanOrEqual(RECALL_MIN)
})

test.each([...new Set(QUESTIONS.map(({ language }) => language))].sort())(
  'in each language, at most one known item is missed: %s',
  (language) => {
    const of = (list: typeof QUESTIONS): typeof QUESTIONS => list.filter((one) => one.language === language)
    expect(of(QUESTIONS).length).toBeGreaterThanOrEqual(8)
    expect(of(missed).length, JSON.stringify(of(missed))).toBeLessThanOrEqual(1)
  },
)
