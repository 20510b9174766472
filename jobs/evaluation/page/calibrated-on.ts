import type { EvaluationReport } from './evaluation-report.ts'
import { html } from '#jobs/page/markup.ts'
import type { Markup } from '#jobs/page/markup.ts'
import { whole } from './numbers.ts'

/** Returns what a decision was calibrated on, for one line of a terminal. */
export function calibratedOnWords(on: EvaluationReport['calibrated_on']): string {
  return on.source === 'question set'
    ? `${on.questions} labelled questions of the question set`
    : 'no labelled questions: the default applies'
}

/** What the decision was calibrated on, and how far that carries. */
export function calibratedOn({ calibrated_on: on, kind }: EvaluationReport): Markup {
  return on.source === 'question set'
    ? html`<p>
        Calibrated on the question set: threshold and figures come from ${whole(on.questions)} labelled questions, each
        scored by a model that was fitted without it.
      </p>`
    : html`<p>The default decision applies. ${NOT_FITTED[kind]}</p>`
}

const NOT_FITTED: Readonly<Record<EvaluationReport['kind'], string>> = {
  'known items': 'Natural questions were not asked.',
  'question set': 'The question set has too few labels of both kinds to calibrate it.',
  'data set': 'The data set has too few labels of both kinds to calibrate it.',
}
