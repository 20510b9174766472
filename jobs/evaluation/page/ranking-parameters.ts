import type { EvaluationReport } from './evaluation-report.ts'
import { html } from '#jobs/page/markup.ts'
import type { Markup } from '#jobs/page/markup.ts'
import { figure } from './numbers.ts'

/** The fitted parameters of the ranking. */
export function rankingParameters({ ranking, systems }: EvaluationReport): Markup {
  const { dense_weight: weight, reranker } = ranking
  return html`<p>
    ${
      systems.hybrid === undefined
        ? 'The version has no vectors: words alone rank.'
        : `Vectors weigh ${figure(weight)} in the hybrid ranking, words ${figure(1 - weight)}.`
    }
    ${reranker === null ? '' : html`The model <code>${reranker}</code> re-ranks.`}
  </p>`
}
