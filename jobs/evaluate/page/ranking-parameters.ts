import type { EvaluationReport } from './evaluation-report.ts'
import { NOTHING, html } from './markup.ts'
import type { Markup } from './markup.ts'
import { figure, whole } from './numbers.ts'

type Ranking = NonNullable<EvaluationReport['ranking']>
type WordWeights = NonNullable<Ranking['word_weights']>

/** The fitted parameters of the ranking, and the words whose weights differ most. */
export function rankingParameters({ ranking, kind }: EvaluationReport): Markup {
  if (ranking === undefined) return NOTHING
  const { dense_weight: weight, word_weights: words, reranker } = ranking
  return html`<p>
      Vectors weigh ${figure(weight)} in the hybrid ranking, words ${figure(1 - weight)}.
      ${reranker === null ? '' : html`The model <code>${reranker}</code> re-ranks.`}
      ${
        words === null
          ? 'Every word of a question weighs 1.'
          : html`${TAUGHT_BY[kind]} taught weights of ${whole(words.words)} words, and no question is measured by
            weights that it taught.`
      }
    </p>
    ${words === null ? NOTHING : wordsTable(words)}`
}

const TAUGHT_BY: Readonly<Record<EvaluationReport['kind'], string>> = {
  'question set': 'The question set',
  'known items': 'Other questions',
  'data set': 'Other questions',
}

function wordsTable({ highest, lowest }: WordWeights): Markup {
  const row = (label: string, words: WordWeights['highest']): Markup =>
    words.length === 0
      ? NOTHING
      : html`<tr>
          <th>${label}</th>
          <td>${words.map(({ word, weight }) => `${word} ${weight.toFixed(2)}`).join(', ')}</td>
        </tr>`
  return html`<div class="scroll">
    <table>
      <tbody>
        ${row('highest weights', highest)} ${row('lowest weights', lowest)}
      </tbody>
    </table>
  </div>`
}
