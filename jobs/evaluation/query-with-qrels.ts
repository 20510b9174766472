import type { Qrels } from './metrics/ranking.ts'
import type { Question } from './questions.ts'

/** A question with everything its answer is judged by. */
export interface QueryWithQrels {
  readonly id: string
  readonly text: string
  /** Relevance by source id; empty where the question has no relevant record. */
  readonly qrels: Qrels
  /** Undefined: the question is not part of the abstention figures. */
  readonly answerable: boolean | undefined
  /** Questions of one group stay together in cross-validation; undefined: a group of its own. */
  readonly group: string | undefined
  /**
   * True if the text is quoted from a passage. The question then asks for that passage, not for provisions that the
   * text names.
   */
  readonly quoted: boolean
  /** Filters of the question, as a caller sends them. */
  readonly filters: Question['filters']
}

/**
 * Converts a question of a question set. A question without a relevant passage is one that the corpus does not answer.
 */
export function queryWithQrels({ id, text, relevant, filters }: Omit<Question, 'answerable'>): QueryWithQrels {
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
