import { renderDocument, sectionMarkup } from '#jobs/platform/page/document.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'
import { figure, milliseconds, whole } from './numbers.ts'
import { reportSections } from './tables.ts'
import { verdictOf } from './verdict.ts'
import { PROBLEMS, type EvaluationReport, type Miss } from './evaluation-report.ts'

const KINDS: Readonly<Record<EvaluationReport['kind'], string>> = {
  'question set': 'question set of this knowledge base',
  'known items':
    'passages looked up by their own words: measures whether the version finds its own passages, ' +
    'not whether it answers what people ask',
  'data set': 'research collection in a temporary version',
}

/** What a reviewer reads of a candidate beside its figures. */
export interface ReviewSections {
  readonly title: string
  /** Changes against the active version, or a sample of a first version. */
  readonly first: Markup
  readonly tables: Markup
  /** The passages, and who signs. */
  readonly last: Markup
}

/**
 * Renders the report as one self-contained HTML page without external resources; all text is escaped. The same report
 * gives the same bytes.
 * @param review undefined: a page of figures, without scripts. @param notes shown below these.
 */
export function renderPage(report: EvaluationReport, review?: ReviewSections, notes: readonly string[] = []): string {
  const { tone, word, sentence } = verdictOf(report)
  const id = report.version_id
  const version = id === null ? NOTHING : html`<p class="soft small">Version <code>${id}</code></p>`
  const measured = html`<p class="verdict ${tone}"><b>${word}.</b> ${sentence}</p>
    ${facts(report)} ${review?.tables ?? NOTHING} ${reportSections(report).map(sectionMarkup)} ${missesSection(report)}
    ${searchQuestionsSection(report)} ${notes.map((note) => html`<p class="soft small">${note}</p>`)}`
  if (review === undefined) return renderDocument(`Evaluation of ${report.dataset}`, html`${version} ${measured}`)
  return renderDocument(
    review.title,
    html`<p class="small ${tone}">
        <b>${word}</b> · ${report.dataset} · version <code>${id ?? ''}</code> · <a href="#sign">sign</a>
      </p>
      ${review.first}
      <details class="group">
        <summary><b>For the engineer</b></summary>
        ${measured}
      </details>
      ${review.last}`,
    id ?? '',
  )
}

function facts(report: EvaluationReport): Markup {
  const { passages, queries, answerable, unanswerable, latency_ms: latency, kind, question_set: set } = report
  return html`<ul class="facts">
      <li><b>${whole(passages)}</b> passages</li>
      <li><b>${whole(queries)}</b> questions: ${whole(answerable)} answerable, ${whole(unanswerable)} not</li>
      <li>a query takes <b>${milliseconds(latency.p50)}</b>, one in a hundred over ${milliseconds(latency.p99)}</li>
    </ul>
    <p class="soft small">Questions: ${KINDS[kind]}${set === null ? '' : html`, SHA-256 <code>${set}</code>`}.</p>`
}

const RELEVANT_SHOWN_MAX = 5

const HEADINGS: Readonly<Record<Miss['problem'], string>> = {
  not_found: 'Evidence not among the first passages',
  answered_without_evidence: 'Answered without evidence',
  abstained_with_evidence: 'Abstained though evidence was found',
}

function missesSection(report: EvaluationReport): Markup {
  const { misses, misses_total: total, unknown_relevant: unknown, unknown_relevant_total: unknownTotal } = report
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

/** Shows what the search questions of the version are, for a reviewer who decides whether they are sound. */
function searchQuestionsSection({ search_questions: figures }: EvaluationReport): Markup {
  if (figures === undefined) return NOTHING
  const { questions, passages, sample, repeated, repeated_total: shared, asked, elsewhere } = figures
  const { elsewhere_total: led } = figures
  return html`<h2>Search questions</h2>
    <p>
      ${whole(questions)} search questions help to find ${whole(passages)} records. They are never served and are no
      evidence.
    </p>
    <h3>A sample</h3>
    ${questionList(sample.map(({ id, lang, q }) => [q, html`${lang} · <code>${id}</code>`]))}
    ${
      shared === 0
        ? NOTHING
        : html`<h3>Of several records</h3>
            <p class="small">
              ${whole(shared)} questions tell their records not apart${firstOf(repeated.length, shared)}:
            </p>
            ${questionList(repeated.map(({ q, passages: held }) => [q, html`${whole(held)} records`]))}`
    }
    <h3>Asked of the version</h3>
    <p class="small">
      Of ${whole(asked)} that were asked, ${whole(led)} find another record before their
      own${firstOf(elsewhere.length, led)}${
        led === 0 ? '.' : ': leave them out of the file unless both records answer them.'
      }
    </p>
    ${questionList(elsewhere.map(({ id, q, first }) => [q, html`of <code>${id}</code>, finds <code>${first ?? 'none'}</code>`]))}`
}

function questionList(of: readonly (readonly [question: string, about: Markup])[]): Markup {
  return html`<ul class="small">
    ${of.map(([question, about]) => html`<li><bdi>${question}</bdi> <span class="soft">${about}</span></li>`)}
  </ul>`
}

function firstOf(shown: number, total: number): string {
  return shown < total ? ` (the first ${whole(shown)})` : ''
}
