import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { wilsonInterval } from '#jobs/evaluation/metrics/resampling.ts'

const count = z.int().nonnegative()
const kindSchema = z.object({
  n: count,
  answered: count,
  listed_at5: count,
  answered_first: count,
  answered_at5: count,
})
type Kind = z.infer<typeof kindSchema>
/** Counts of the reporting half, as `npm run evaluate -- --corpus FOLDER --json` writes them, by system. */
const recordedSchema = z.strictObject({
  measured_on: z.iso.date(),
  commit: z.string().regex(/^[0-9a-f]{8}$/),
  systems: z.record(z.string(), z.record(z.string(), kindSchema)),
})

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const { measured_on: day, commit, systems } = recordedSchema.parse(JSON.parse(read('docs/measure/questions.json')))
const page = read('docs/measure/evaluate.md')

type Share = readonly [count: number, of: number]
type Row = readonly [row: string, kinds: readonly string[], share: (kind: Kind) => Share]
const ROWS: readonly Row[] = [
  ['in usual legal words: a right passage among the first five', ['plain'], ({ listed_at5, n }) => [listed_at5, n]],
  ['of these, answered', ['plain'], ({ answered_at5, listed_at5 }) => [answered_at5, listed_at5]],
  ['in everyday words: a right passage among the first five', ['paraphrase'], ({ listed_at5, n }) => [listed_at5, n]],
  [
    'in another language: a right passage among the first five',
    ['cross-lingual'],
    ({ listed_at5, n }) => [listed_at5, n],
  ],
  ['naming a held provision: answered, its passage first', ['named'], ({ answered_first, n }) => [answered_first, n]],
  ['about a topic that the corpus lacks: answered', ['near-miss'], ({ answered, n }) => [answered, n]],
  [
    'naming a held provision, about what it does not say: answered',
    ['named-about'],
    ({ answered, n }) => [answered, n],
  ],
  [
    'off topic, or naming what is not held: answered',
    ['off-topic', 'named-missing'],
    ({ answered, n }) => [answered, n],
  ],
]

function cell(kinds: Readonly<Record<string, Kind>>, names: readonly string[], share: Row[2]): string {
  return cellOf(names.map((name) => share(kindSchema.parse(kinds[name]))))
}

function cellOf(shares: readonly Share[]): string {
  const sum = (at: 0 | 1): number => shares.reduce((total, each) => total + each[at], 0)
  const [low = 0, high = 0] = wilsonInterval(sum(0), sum(1)) ?? []
  return `${sum(0)} of ${sum(1)} (${Math.round(low * 100)}–${Math.round(high * 100)} %)`
}

const ANSWERABLE = ['plain', 'paraphrase', 'cross-lingual']
const UNANSWERABLE = ['near-miss', 'named-about', 'off-topic', 'named-missing']
const found = ({ listed_at5, n }: Kind): Share => [listed_at5, n]
const ASSISTED: readonly Row[] = [
  ['usual words: found', ['plain'], found],
  ['everyday words: found', ['paraphrase'], found],
  ['another language: found', ['cross-lingual'], found],
  ['of all these: answered', ANSWERABLE, ({ answered, n }) => [answered, n]],
  ['without an answer: answered', UNANSWERABLE, ({ answered, n }) => [answered, n]],
  [
    'answers without a right passage',
    [...ANSWERABLE, ...UNANSWERABLE, 'named'],
    ({ answered, answered_at5: right }) => [answered - right, answered],
  ],
]

test('the table of field questions in docs/measure has the recorded figures of the half that tuned nothing', () => {
  const columns = Object.values(systems)
  const rows = ROWS.map(([row, names, share]) => [row, ...columns.map((kinds) => cell(kinds, names, share))])
  const table = [['Questions', ...Object.keys(systems)], ['---', ...columns.map(() => '---')], ...rows]
  expect(page).toContain(table.map((cells) => `| ${cells.join(' | ')} |\n`).join(''))
  expect(page.replaceAll('\n', ' ')).toContain(`on ${day} at commit \`${commit}\``)
})

const kinds = z.record(z.string(), kindSchema)
const tally = z.strictObject({ n: count, answered: count })
/** Counts of both halves by words, and of the reported half of two fits, each with the questions of both halves. */
const rewriterSchema = z.strictObject({
  measured_on: z.iso.date(),
  commit: z.string().regex(/^[0-9a-f]{8}$/),
  words: kinds,
  directions: z.tuple([fitSchema(), fitSchema()]),
  reader: z.strictObject({ answerable: tally, unanswerable: tally }),
})
function fitSchema() {
  return z.strictObject({ fitted_on: z.array(z.string()), reported_on: z.array(z.string()), kinds })
}

describe('the figures of assistance', () => {
  const recorded = rewriterSchema.parse(JSON.parse(read('docs/measure/rewriter.json')))
  const assistance = read('docs/deploy/assistance.md')

  test('no question of a fit is reported from it, and every question is reported once', () => {
    for (const { fitted_on, reported_on, kinds: of } of recorded.directions) {
      expect(reported_on.filter((id) => fitted_on.includes(id))).toEqual([])
      expect(Object.values(of).reduce((sum, { n }) => sum + n, 0)).toBe(reported_on.length)
    }
    const [first, second] = recorded.directions
    expect(first.reported_on.toSorted()).toEqual(second.fitted_on.toSorted())
    expect(second.reported_on.toSorted()).toEqual(first.fitted_on.toSorted())
  })

  test('their page states what is recorded', () => {
    const { words, directions, reader, measured_on: on, commit: at } = recorded
    const column = (of: readonly Readonly<Record<string, Kind>>[], names: readonly string[], share: Row[2]): string =>
      cellOf(of.flatMap((each) => names.flatMap((name) => each[name] ?? [])).map(share))
    const fitted = directions.map(({ kinds: of }) => of)
    for (const [row, names, share] of ASSISTED)
      expect(assistance).toContain(`| ${row} | ${column([words], names, share)} | ${column(fitted, names, share)} |`)
    const { answerable, unanswerable } = reader
    expect(assistance.replaceAll('\n', ' ')).toContain(
      `answers ${answerable.answered} of ${answerable.n} found ones and ${unanswerable.answered} of ${unanswerable.n} `,
    )
    expect(assistance.replaceAll('\n', ' ')).toContain(`on ${on} at commit \`${at}\``)
  })
})
