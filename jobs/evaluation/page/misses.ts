import { PROBLEMS } from './evaluation-report.ts'
import type { EvaluationReport, Miss } from './evaluation-report.ts'
import { NOTHING, html } from '#jobs/platform/page/markup.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'
import { figure, whole } from './numbers.ts'

const RELEVANT_SHOWN_MAX = 5

const HEADINGS: Readonly<Record<Miss['problem'], string>> = {
  not_found: 'Evidence not among the first passages',
  answered_without_evidence: 'Answered without evidence',
  abstained_with_evidence: 'Abstained though evidence was found',
}

export function missesSection({
  misses,
  misses_total: total,
  unknown_relevant: unknown,
  unknown_relevant_total: unknownTotal,
}: EvaluationReport): Markup {
  const groups = PROBLEMS.map((problem) => ({
    problem,
    own: misses.filter((miss) => miss.problem === problem),
  })).filter(({ own }) => own.length > 0)
  const examples =
    groups.length === 0
      ? NOTHING
      : html`<h2>Worst misses</h2>
          <p>${whole(misses.length)} of ${whole(total)} questions that went wrong.</p>
          ${groups.map(
            ({ problem, own }) =>
              html`<h3>${HEADINGS[problem]}</h3>
                ${own.map(card)}`,
          )}`
  const missing =
    unknownTotal === 0
      ? NOTHING
      : html`<h2>Relevant ids missing from the version</h2>
          <p>
            ${whole(unknownTotal)} relevant ids that no passage of this version
            carries${unknown.length < unknownTotal ? `, the first ${whole(unknown.length)}` : ''}:
          </p>
          <p>${listed(unknown)}</p>`
  return html`${examples}${missing}`
}

function card({ id, text, observed_value: observed, relevant, passages }: Miss): Markup {
  const question = text === null ? NOTHING : html`<p><bdi>${text}</bdi></p>`
  const more = relevant.length > RELEVANT_SHOWN_MAX ? ` and ${whole(relevant.length - RELEVANT_SHOWN_MAX)} more` : ''
  const wanted =
    relevant.length === 0
      ? html`<p class="soft small">No passage answers it.</p>`
      : html`<p class="soft small">Relevant: ${listed(relevant.slice(0, RELEVANT_SHOWN_MAX))}${more}</p>`
  const came =
    passages.length === 0
      ? html`<p class="small">No passage was found.</p>`
      : html`<ol class="small">
          ${passages.map(line)}
        </ol>`
  return html`<div class="miss">
    <p class="small"><code>${id}</code> <span class="soft">observed value ${figure(observed)}</span></p>
    ${question}${wanted}${came}
  </div>`
}

function line({ label, score, relevant }: Miss['passages'][number]): Markup {
  const mark = relevant ? html` <b class="good">✓ relevant</b>` : NOTHING
  return html`<li><bdi>${label}</bdi> <span class="soft">${figure(score)}</span>${mark}</li>`
}

function listed(ids: readonly string[]): readonly Markup[] {
  return ids.map((id, at) => (at === 0 ? html`<code>${id}</code>` : html`, <code>${id}</code>`))
}
