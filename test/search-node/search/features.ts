import { expect } from 'vitest'
import { words as wordsOf } from '#core/index/analysis/words.ts'
import type { Coverage } from '#core/index/ngrams/coverage.ts'
import { PREDICTORS, type Predictor } from '#core/domain/predictors.ts'
import { predictorsOf, type RankedRows } from '#search-node/search/predictors.ts'
import { rescoreRows } from '#search-node/search/rescore.ts'
import { withForward, type ForwardPassage } from '#test/support/lexical-index.ts'

export type Features = Readonly<Record<Predictor, number>>

export const NOTHING: RankedRows = { rows: new Uint32Array(), scores: new Float64Array() }

/** Of a question that the passages hold as the background does. */
export const NO_COVERAGE = (_text: unknown, _words: unknown, _rows: unknown, documentShare: number): Coverage => ({
  words_best: 0,
  grams_best: 0,
  grams_mass: 0,
  document_share: documentShare,
})

export function ranked(
  rows: readonly number[],
  scores: readonly number[] = rows.map((_, at) => 0.9 - at / 100),
): RankedRows {
  return { rows: Uint32Array.from(rows), scores: Float64Array.from(scores) }
}

export function featuresOf(list: readonly number[]): Features {
  expect(list).toHaveLength(PREDICTORS.length)
  return Object.fromEntries(PREDICTORS.map((name, at) => [name, list[at] ?? Number.NaN])) as Features
}

/** As the pipeline measures it: candidates by words, best first, and any list by vectors. */
export function measured(
  corpus: readonly ForwardPassage[],
  text: string,
  dense: RankedRows,
  documents: Uint32Array,
): number[] {
  return withForward(corpus, ({ forward, ask }) => {
    const question = ask(text)
    const rows = Uint32Array.from(corpus.keys())
    const scores = rescoreRows(
      question,
      forward,
      {
        rows: corpus.length,
        sameRevisionAsPrevious: (row) => corpus[row]?.sameRevisionAsPrevious === true,
        allowed: () => true,
      },
      rows,
    )
    const order = [...rows]
      .filter((row) => (scores[row] ?? 0) > 0)
      .sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b)
    return predictorsOf({
      texts: [{ text: '', question }],
      questionWords: new Set(wordsOf(text)).size,
      passages: corpus.length,
      forward,
      lexical: ranked(
        order,
        order.map((row) => scores[row] ?? 0),
      ),
      dense,
      documents,
      coverage: NO_COVERAGE,
      named: undefined,
    })
  })
}
