import { existsSync, readFileSync } from 'node:fs'
import { z } from 'zod'
import { OperatorError } from '#core/platform/errors.ts'
import { parsedJson } from '#core/platform/json.ts'
import { meanIntervals } from '#jobs/evaluation/metrics/resampling.ts'
import type { Section } from '#operator/command-line/sections.ts'
import type { PerQuestion } from './about.ts'

/** Sum of the normal quantiles of an error of 5 % on two sides and of a power of 80 %. */
const QUANTILES = 1.96 + 0.84

const evaluatedSchema = z.object({
  about: z.object({ commit: z.string(), model: z.string().nullable() }),
  per_question: z.record(z.string(), z.record(z.string(), z.number())),
})

/**
 * Compares two evaluations of the same questions, each given as its file of `--json`: by figure the mean difference over
 * the questions that both judged, its 95 % bootstrap interval, and one sentence.
 * @throws OperatorError where a file is none of an evaluation, or they share no question.
 */
export function compareEvaluations(before: string, after: string): readonly Section[] {
  const [a, b] = [readEvaluated(before), readEvaluated(after)]
  const figures = new Set(Object.values(a.per_question).flatMap(Object.keys))
  const rows = [...figures].flatMap((figure) => rowOf(figure, a.per_question, b.per_question))
  if (rows.length === 0)
    throw new OperatorError(`${before} and ${after} judge no question in common: evaluate the same questions twice.`)
  const saidOf = (path: string, { about: { commit, model } }: typeof a): string =>
    `${path}: ${model ?? 'words alone'}, commit ${commit === '' ? 'unknown' : commit.slice(0, 8)}`
  return [
    {
      title: 'Difference of the second evaluation from the first, question by question',
      head: ['figure', 'questions', 'first', 'second', 'difference', ''],
      rows,
      lines: [saidOf(before, a), saidOf(after, b)],
    },
  ]
}

function readEvaluated(path: string): z.infer<typeof evaluatedSchema> {
  const { data } = evaluatedSchema.safeParse(parsedJson(existsSync(path) ? readFileSync(path, 'utf8') : ''))
  if (data === undefined) throw new OperatorError(`${path} is no file of "evaluate --json": evaluate again.`)
  return data
}

function rowOf(figure: string, before: PerQuestion, after: PerQuestion): readonly (readonly (string | number)[])[] {
  const pairs = Object.entries(before).flatMap(([id, { [figure]: a }]) => {
    const b = after[id]?.[figure]
    return a === undefined || b === undefined ? [] : [[a, b] as const]
  })
  if (pairs.length === 0) return []
  const differences = Float64Array.from(pairs, ([a, b]) => b - a)
  const mean = (at: 0 | 1): number => pairs.reduce((sum, pair) => sum + pair[at], 0) / pairs.length
  const [[low, high] = [0, 0]] = meanIntervals([differences])
  const difference = mean(1) - mean(0)
  const shown = `${signed(difference)} [${signed(low)}, ${signed(high)}]`
  return [[figure, pairs.length, mean(0).toFixed(3), mean(1).toFixed(3), shown, verdictOf(differences, low, high)]]
}

function signed(value: number): string {
  return `${value < 0 ? '' : '+'}${value.toFixed(3)}`
}

/** Whether zero lies within the interval; if so, how many questions would show such a difference (normal approximation). */
function verdictOf(differences: Float64Array, low: number, high: number): string {
  if (low > 0) return 'higher'
  if (high < 0) return 'lower'
  const n = differences.length
  const mean = differences.reduce((sum, each) => sum + each, 0) / n
  if (mean === 0) return `no difference in ${n} questions`
  const variance = differences.reduce((sum, each) => sum + (each - mean) ** 2, 0) / n
  const needed = Math.ceil((QUANTILES ** 2 * variance) / mean ** 2)
  return `not decided by ${n} questions; about ${Math.max(needed, n + 1)} would tell`
}
