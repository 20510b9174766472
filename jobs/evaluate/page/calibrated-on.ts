import type { EvaluationReport } from './evaluation-report.ts'
import { NOTHING, html } from './markup.ts'
import type { Markup } from './markup.ts'
import { percent, signed, whole } from './numbers.ts'

type CalibratedOn = NonNullable<EvaluationReport['calibrated_on']>
type OwnPassages = Extract<CalibratedOn, { readonly source: 'own passages' }>

/** Forms of questions that a build makes; what each asks, and what the decision should be. */
const FORMS = new Map([
  ['middle', { asks: 'words from the middle of a passage', wanted: 'answer' }],
  ['few words', { asks: 'a few content words of a passage', wanted: 'answer' }],
  ['named', { asks: 'the citation label of a passage alone', wanted: 'answer' }],
  ['beyond', { asks: 'the label with an off-topic question', wanted: 'abstain' }],
  ['off topic', { asks: 'an off-topic question', wanted: 'abstain' }],
])

/** Returns what a decision was calibrated on, for one line of a terminal; a dash for reports that do not say. */
export function calibratedOnWords(on: EvaluationReport['calibrated_on']): string {
  if (on === undefined) return '–'
  return on.source === 'question set'
    ? `${on.questions} labelled questions of the question set`
    : `${on.questions} questions made from its own passages (intercept ${signed(on.shift)})`
}

/** What the decision was calibrated on, and how far that carries. */
export function calibratedOn({ calibrated_on: on, kind }: EvaluationReport): Markup {
  if (on === undefined) return NOTHING
  if (on.source === 'question set')
    return html`<p>
      Calibrated on the question set: threshold and figures come from ${whole(on.questions)} labelled questions, each
      scored by a model that was fitted without it.
    </p>`
  const moved = html`they move the default's intercept by ${signed(on.shift)}`
  return html`<p>
      Calibrated on the version's own passages: ${whole(on.questions)} questions were made from them, and
      ${on.shift === 0 ? 'the default applies unchanged' : moved}. ${NATURAL_QUESTIONS[kind]}
    </p>
    ${sharesTable(on)}`
}

const NATURAL_QUESTIONS: Readonly<Record<EvaluationReport['kind'], string>> = {
  'known items': 'Natural questions were not asked.',
  'question set': 'The question set has too few labels of both kinds, so natural questions did not calibrate it.',
  'data set': 'The data set has too few labels of both kinds, so natural questions did not calibrate it.',
}

function sharesTable({ answered, masked }: OwnPassages): Markup {
  const row = (form: string): Markup => {
    const known = FORMS.get(form)
    return html`<tr>
      <th>${known?.asks ?? form}</th>
      <td class="n">${percent(answered[form] ?? null)}</td>
      <td class="n">${percent(masked[form] ?? null)}</td>
      <td class="soft small">${known === undefined ? '' : wantedOf(known.wanted, masked[form] !== undefined)}</td>
    </tr>`
  }
  const forms = [...FORMS.keys(), ...Object.keys(answered).filter((form) => !FORMS.has(form))]
  const shown = forms.filter((form) => answered[form] !== undefined || masked[form] !== undefined)
  if (shown.length === 0) return NOTHING
  return html`<p>
      The shares show how the decision treats the version's own words. They do not show how it treats what people ask.
    </p>
    <div class="scroll">
      <table>
        <thead>
          <tr>
            <th>Question</th>
            <th class="n">answered</th>
            <th class="n">answered, document masked</th>
            <th></th>
          </tr>
        </thead>
        <tbody>
          ${shown.map(row)}
        </tbody>
      </table>
    </div>`
}

function wantedOf(wanted: string, isMasked: boolean): string {
  if (isMasked) return 'higher is better; masked, lower is better'
  return wanted === 'answer' ? 'higher is better' : 'lower is better'
}
