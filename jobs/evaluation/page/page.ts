import { renderDocument } from '#jobs/platform/page/document.ts'
import type { EvaluationReport } from './evaluation-report.ts'
import { NOTHING, html } from '#jobs/platform/page/markup.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'
import { missesSection } from './misses.ts'
import { searchQuestionsSection } from './search-questions.ts'
import { figure, milliseconds, whole } from './numbers.ts'
import {
  comparisonTable,
  decisionTable,
  filteredRecallTable,
  gatesTable,
  operatingTables,
  rankingTable,
} from './tables.ts'
import { refusedInWords, verdictOf } from './verdict.ts'

const KINDS: Readonly<Record<EvaluationReport['kind'], string>> = {
  'question set': 'question set of this knowledge base',
  'known items':
    'passages looked up by their own words: measures whether the version finds its own passages, ' +
    'not whether it answers what people ask',
  'data set': 'research collection in a temporary version',
}

const NOT_FITTED: Readonly<Record<EvaluationReport['kind'], string>> = {
  'known items': 'Field questions were not asked.',
  'question set': 'The question set has too few labels of both kinds to calibrate it.',
  'data set': 'The data set has too few labels of both kinds to calibrate it.',
}

/** What a reviewer reads of a candidate beside its figures. */
export interface ReviewSections {
  /** Changes against the active version, or a sample of a first version. */
  readonly first: Markup
  /** The passages, at the end of the page. */
  readonly last: Markup
}

/**
 * Renders the report as one self-contained HTML page without external resources; all text is escaped. The same report
 * gives the same bytes.
 * @param review undefined: a page of figures, without scripts.
 */
export function renderPage(report: EvaluationReport, review?: ReviewSections): string {
  const verdict = verdictOf(report)
  const title = `Evaluation of ${report.dataset}`
  const id = report.version_id
  const version = id === null ? NOTHING : html`<p class="soft small">Version <code>${id}</code></p>`
  return renderDocument(
    title,
    html`${version}
      <p class="verdict ${verdict.tone}"><b>${verdict.word}.</b> ${verdict.sentence}</p>
      ${facts(report)} ${review?.first ?? NOTHING} ${gatesTable(report.gates)} ${rankingTable(report)}
      ${rankingParameters(report)} ${comparisonTable(report)} ${decision(report)} ${filteredRecallTable(report)}
      ${missesSection(report)} ${searchQuestionsSection(report)} ${review?.last ?? NOTHING}`,
    review === undefined ? undefined : (id ?? ''),
  )
}

function facts({
  passages,
  queries,
  answerable,
  unanswerable,
  latency_ms: latency,
  kind,
  question_set: set,
}: EvaluationReport): Markup {
  return html`<ul class="facts">
      <li><b>${whole(passages)}</b> passages</li>
      <li><b>${whole(queries)}</b> questions: ${whole(answerable)} answerable, ${whole(unanswerable)} not</li>
      <li>a query takes <b>${milliseconds(latency.p50)}</b>, one in a hundred over ${milliseconds(latency.p99)}</li>
    </ul>
    <p class="soft small">Questions: ${KINDS[kind]}${set === null ? '' : html`, SHA-256 <code>${set}</code>`}.</p>`
}

function decision(report: EvaluationReport): Markup {
  const { abstention } = report
  if (abstention === null)
    return html`<h2>The decision</h2>
      <p>Not measured: the questions do not say which of them cannot be answered.</p>
      ${calibratedOn(report)} ${readerDecision(report)}`
  return html`<h2>The decision</h2>
    ${calibratedOn(report)} ${decisionTable(abstention)} ${readerDecision(report)} ${operatingTables(abstention)}`
}

/** How the decision changes where the reader of the profile reads. */
function readerDecision({ reader }: EvaluationReport): Markup {
  if (reader === undefined) return NOTHING
  const { model, questions, answerable, answered_answerable: right, answered_unanswerable: wrong, is_fitted } = reader
  if (questions === 0)
    return html`<p>
      The reader <code>${model}</code> decides by the default of chat models; no labelled question was read.
    </p>`
  return html`<p>
    With the reader <code>${model}</code>, ${whole(right)} of ${whole(answerable)} answerable questions are answered and
    ${whole(wrong)} of ${whole(questions - answerable)} others, AUROC ${figure(reader.auroc)};
    ${is_fitted ? 'each was scored by a model that was fitted without it' : 'the default of chat models decided'}.
  </p>`
}

/** The fitted parameters of the ranking. */
function rankingParameters({ ranking, systems, long_passages: long }: EvaluationReport): Markup {
  const { dense_weight: weight, reranker } = ranking
  return html`<p>
    ${
      systems.hybrid === undefined
        ? 'The version has no vectors: words alone rank.'
        : `Vectors weigh ${figure(weight)} in the hybrid ranking, words ${figure(1 - weight)}.`
    }
    ${reranker === null ? '' : html`The model <code>${reranker}</code> re-ranks.`}
    ${
      long === undefined || long.passages === 0
        ? ''
        : html`${whole(long.passages)} passages are longer than the embedding model reads at once:
          ${long.windows ? 'each was embedded in windows, to its end.' : 'a search by vector does not see their end.'}`
    }
  </p>`
}

const TOO_SMALL =
  ' The version is too small to measure what its passages hold of a question by chance: that of ten passages applies.'

/** What the decision was calibrated on, and how far that carries. */
function calibratedOn({ calibrated_on: on, kind, chance_questions: chance }: EvaluationReport): Markup {
  return on.source === 'question set'
    ? html`<p>
        Calibrated on the question set: threshold and figures come from ${whole(on.questions)} labelled questions, each
        scored by a model that was fitted without it.
      </p>`
    : html`<p>
        The default decision applies.
        ${on.refused === undefined ? NOT_FITTED[kind] : refusedInWords(on.refused)}${chance === 0 ? TOO_SMALL : ''}
      </p>`
}
