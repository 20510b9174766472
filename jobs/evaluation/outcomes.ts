import { evenlySpaced } from '#core/index/vectors/blocks.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'
import { askOne, askRecords, embedQuestions, forModes, modesOf } from './ask.ts'
import type { AskContext, AskRecordsContext, ByMode, RankingMode, RecordResult } from './ask.ts'
import { rankingFigures, type RankingFigures } from './metrics/ranking.ts'
import type { QueryWithQrels } from './questions.ts'

/** Number of passages in a timed request, as a caller requests. */
const TIMED_LIMIT = 10

export interface Outcome {
  /** Undefined when nothing is judged relevant to the question. */
  readonly figures: RankingFigures | undefined
  /** The first records and their scores, best first. */
  readonly top: readonly { readonly record: string; readonly score: number }[]
  /** Passages of the list, whatever is judged. */
  readonly found: number
  /** Query performance predictors of the list; empty where the node sends none. */
  readonly predictors: readonly number[]
  /** Provisions that the question names and that cannot be served. */
  readonly unsupported: RecordResult['unsupported']
}

/** By mode, in the order of the questions. */
export type Outcomes = ByMode<readonly Outcome[]>

/**
 * Asks every question of every mode, deep enough for recall@100.
 * @param limit number of passages requested: more than 100 where records were cut into several.
 */
export async function askQuestions(questions: readonly QueryWithQrels[], limit: number, context: AskRecordsContext) {
  const outcomes: Record<RankingMode, Outcome[]> = { lexical: [], dense: [], hybrid: [] }
  await askRecords(questions, { ...context, modes: modesOf(context), limit }, (at, mode, reply, question) => {
    outcomes[mode][at] = outcomeOf(question, reply)
  })
  return forModes(context, (mode) => outcomes[mode])
}

/**
 * Judges records, not passages: a record that was cut into several passages counts once, at its best rank. A record
 * with the question's own id is skipped, as in BEIR's evaluation. Some BEIR sets use the text of a record as a
 * question.
 */
export function outcomeOf(
  { id, qrels, quoted }: Pick<QueryWithQrels, 'id' | 'qrels' | 'quoted'>,
  { passages, predictors, unsupported }: RecordResult,
): Outcome {
  const scores = new Map<string, number>()
  for (const { sourceId: record, score, named } of passages) {
    if (record === id || scores.has(record) || (quoted && named && !qrels.has(record))) continue
    scores.set(record, score)
  }
  const ranked = [...scores.keys()]
  const top = ranked
    .slice(0, EVALUATION_BOUNDS.topRecordsKept)
    .map((record) => ({ record, score: scores.get(record) ?? 0 }))
  return { figures: rankingFigures(ranked, qrels), top, found: passages.length, predictors, unsupported }
}

export type Latency = ReturnType<typeof percentiles>

/**
 * Measures milliseconds from a question's text to its passages, including embedding, one question at a time. It uses an
 * evenly spaced sample of the questions.
 */
export async function timeModes(questions: readonly QueryWithQrels[], context: AskContext): Promise<ByMode<Latency>> {
  const { warmUpQuestionsMax, timedQuestionsMax } = EVALUATION_BOUNDS
  const sample = [...evenlySpaced(questions.length, timedQuestionsMax)].flatMap((at) => questions[at] ?? [])
  const warmUp = sample.slice(0, warmUpQuestionsMax)
  const timed: Record<RankingMode, number[]> = { lexical: [], dense: [], hybrid: [] }
  for (const [done, question] of [...warmUp, ...sample].entries()) {
    for (const mode of modesOf(context)) {
      const beganMs = performance.now()
      const [vector] = await embedQuestions([question], context)
      await askOne(question, mode, vector, { ...context, limit: TIMED_LIMIT })
      if (done >= warmUp.length) timed[mode].push(performance.now() - beganMs)
    }
    context.onProgress(done + 1, warmUp.length + sample.length)
  }
  return forModes(context, (mode) => percentiles(timed[mode]))
}

/** Computes percentiles by nearest rank. */
function percentiles(values: readonly number[]) {
  const ascending = values.toSorted((a, b) => a - b)
  const at = (share: number): number => ascending[Math.max(0, Math.ceil(share * ascending.length) - 1)] ?? 0
  return { p50: at(0.5), p99: at(0.99) }
}
