import { PREDICTORS } from '#core/domain/predictors.ts'
import type { AskedCorpora } from './evaluation.ts'
import type { NaturalOutcome } from './judge.ts'

/** Returns one JSON line for each question, in the order in which they were read. */
export function detailLines({ outcomes }: AskedCorpora): string {
  return outcomes.map((outcome) => `${JSON.stringify(detailOf(outcome))}\n`).join('')
}

function detailOf({
  corpus,
  question: { id, kind, label, half },
  decision,
  observedValue,
  unsupported,
  predictors,
  rank,
  first,
}: NaturalOutcome): object {
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
    first: first.map(({ sourceId, score, named }) => ({ source_id: sourceId, score, named })),
  }
}
