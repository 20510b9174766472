import type { PerQuestion } from '../about.ts'
import { PREDICTORS } from '#core/domain/predictors.ts'
import { decideOn } from '#core/domain/decision.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import type { SearchResult } from '#core/domain/search.ts'
import { mapModes, servedOf, type ByMode } from '#jobs/evaluation/ask.ts'
import type { FieldQuestion } from './questions.ts'

/** Number of passages among which a right one counts. */
const FIRST_PASSAGES = 5

/** What the service replies to one question, and what its list holds whether or not it answers. */
export type FieldQuestionOutcome = ReturnType<typeof judge>

/** Decides as the gateway does, and looks the right passages up in the lists of words, vectors and both. */
export function judge(
  corpus: string,
  question: FieldQuestion,
  replies: ByMode<SearchResult>,
  calibration: Calibration,
  read?: readonly number[],
) {
  const served = servedOf(replies)
  return {
    corpus,
    question,
    ...decideOn(calibration, { ...served, read }),
    /** Rank of the first right passage among the first five of each mode's list; null: none is right. */
    rank: mapModes(replies, ({ passages }) => firstRight(question, passages)),
    unsupported: served.unsupported,
    predictors: served.predictors,
    /** Scores of the reader; undefined: nothing was read. */
    read,
    first: served.passages.slice(0, FIRST_PASSAGES).map(({ sourceId, score, named }) => ({ sourceId, score, named })),
  }
}

/** @returns the rank from 1; null where none of the first five passages is right. */
export function firstRight({ relevant }: FieldQuestion, passages: SearchResult['passages']): number | null {
  const at = passages
    .slice(0, FIRST_PASSAGES)
    // A number distinguishes records of one id (`numberedId`).
    .findIndex(({ sourceId }) => relevant.has(sourceId) || relevant.has(sourceId.replace(/~\d+$/, '')))
  return at === -1 ? null : at + 1
}

/** Figures of each question by corpus and id: what is found, and of the right decision. */
export function perQuestionOf(outcomes: readonly FieldQuestionOutcome[]): PerQuestion {
  return Object.fromEntries(
    outcomes.map(({ corpus, question: { id, label }, decision, rank }) => {
      const at = servedOf(rank)
      const answered = Number(decision === 'answer')
      const found = { listed_first: Number(at === 1), listed_at5: Number(at !== null) }
      return [
        `${corpus} ${id}`,
        label === 'answerable' ? { ...found, answered_answerable: answered } : { answered_unanswerable: answered },
      ]
    }),
  )
}

/** Returns one JSON line for each question, in the order in which they were read. */
export function detailLines(outcomes: readonly FieldQuestionOutcome[]): string {
  return outcomes.map((outcome) => `${JSON.stringify(detailOf(outcome))}\n`).join('')
}

function detailOf(outcome: FieldQuestionOutcome): object {
  const { corpus, question, decision, observedValue, unsupported, predictors, read, rank, first } = outcome
  const { id, kind, label, half } = question
  return {
    corpus,
    id,
    kind,
    label,
    half,
    decision,
    observed_value: observedValue,
    unsupported: unsupported.map(({ normalized, reason }) => ({ normalized, reason })),
    named: first.filter((passage) => passage.named).length,
    rank,
    predictors: Object.fromEntries(PREDICTORS.map((name, at) => [name, predictors[at] ?? null])),
    read: read ?? null,
    first: first.map(({ sourceId, score, named }) => ({ source_id: sourceId, score, named })),
  }
}
