import { NOTHING, html } from '#jobs/platform/page/markup.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'
import type { EvaluationReport } from './evaluation-report.ts'
import { whole } from './numbers.ts'

/** Shows what the search questions of the version are, for a reviewer who decides whether they are sound. */
export function searchQuestionsSection({ search_questions: figures }: EvaluationReport): Markup {
  if (figures === undefined) return NOTHING
  const {
    questions,
    passages,
    sample,
    repeated,
    repeated_total: shared,
    asked,
    elsewhere,
    elsewhere_total: led,
  } = figures
  return html`<h2>Search questions</h2>
    <p>
      ${whole(questions)} search questions help to find ${whole(passages)} records. They are never served and are no
      evidence.
    </p>
    <h3>A sample</h3>
    <ul class="small">
      ${sample.map(
        ({ id, lang, q }) =>
          html`<li>
            <bdi>${q}</bdi> <span class="soft">${lang} · <code>${id}</code></span>
          </li>`,
      )}
    </ul>
    ${
      shared === 0
        ? NOTHING
        : html`<h3>Of several records</h3>
            <p class="small">
              ${whole(shared)} questions tell their records not apart${firstOf(repeated.length, shared)}:
            </p>
            <ul class="small">
              ${repeated.map(({ q, passages: held }) => html`<li><bdi>${q}</bdi> <span class="soft">${whole(held)} records</span></li>`)}
            </ul>`
    }
    <h3>Asked of the version</h3>
    <p class="small">
      Of ${whole(asked)} that were asked, ${whole(led)} find another record before their
      own${firstOf(elsewhere.length, led)}${
        led === 0 ? '.' : ': leave them out of the file unless both records answer them.'
      }
    </p>
    <ul class="small">
      ${elsewhere.map(
        ({ id, q, first }) =>
          html`<li>
            <bdi>${q}</bdi> <span class="soft">of <code>${id}</code>, finds <code>${first ?? 'none'}</code></span>
          </li>`,
      )}
    </ul>`
}

function firstOf(shown: number, total: number): string {
  return shown < total ? ` (the first ${whole(shown)})` : ''
}
