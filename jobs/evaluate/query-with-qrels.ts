import type { Qrels } from './metrics/ranking.ts'
import type { Question } from './questions.ts'

/** A question with all that its answer is judged by. */
export interface QueryWithQrels {
  readonly id: string
  readonly text: string
  /** Relevance by source id; empty where nothing counts for the ranking. */
  readonly qrels: Qrels
  /** Undefined: no part of the abstention figures. */
  readonly answerable: boolean | undefined
  /** Questions of one group stay together in cross-validation; undefined: a group of its own. */
  readonly group: string | undefined
  /** Its text is quoted from a passage: it asks for that one, not for the provisions that the text happens to name. */
  readonly quoted: boolean
  /** What narrows it, as a caller would. */
  readonly filters: Question['filters']
}

/** Of a question set: a question without a relevant passage is one that the corpus does not answer. */
export function queryWithQrels({ id, text, relevant, filters }: Question): QueryWithQrels {
  return {
    id,
    text,
    qrels: new Map(relevant.map((source) => [source, 1])),
    answerable: relevant.length > 0,
    group: undefined,
    quoted: false,
    filters,
  }
}
