import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
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
const ROWS: readonly (readonly [row: string, kinds: readonly string[], share: (kind: Kind) => Share])[] = [
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

function cell(kinds: Readonly<Record<string, Kind>>, names: readonly string[], share: (kind: Kind) => Share): string {
  const shares = names.map((name) => share(kindSchema.parse(kinds[name])))
  const sum = (at: 0 | 1): number => shares.reduce((total, each) => total + each[at], 0)
  const [low = 0, high = 0] = wilsonInterval(sum(0), sum(1)) ?? []
  return `${sum(0)} of ${sum(1)} (${Math.round(low * 100)}–${Math.round(high * 100)} %)`
}

test('the table of field questions in docs/measure has the recorded figures of the half that tuned nothing', () => {
  const columns = Object.values(systems)
  const rows = ROWS.map(([row, names, share]) => [row, ...columns.map((kinds) => cell(kinds, names, share))])
  const table = [['Questions', ...Object.keys(systems)], ['---', ...columns.map(() => '---')], ...rows]
  expect(page).toContain(table.map((cells) => `| ${cells.join(' | ')} |\n`).join(''))
  expect(page.replaceAll('\n', ' ')).toContain(`on ${day} at commit \`${commit}\``)
})
