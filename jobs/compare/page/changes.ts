import { CHANGE_KINDS, changesInWords } from '#core/domain/changes.ts'
import type { Changes } from '#core/domain/changes.ts'
import type { EvaluationReport, Gate } from '#jobs/evaluation/page/evaluation-report.ts'
import { whole } from '#jobs/evaluation/page/numbers.ts'
import type { AnswerChange, NamedChange, PassageChange } from '#jobs/compare/changes-file.ts'
import { NOTHING, html } from '#jobs/page/markup.ts'
import type { Markup } from '#jobs/page/markup.ts'
import type { ServedValue } from '#jobs/compare/served-fields.ts'
import { wordDifference } from './word-difference.ts'

const NO_VALUE = 'none'

/** Shows what the candidate lost or changed against the active version, before any measurement. */
export function changesSection(
  { comparison, gates, version_id: id }: EvaluationReport,
  shown: readonly NamedChange[],
): Markup {
  if (comparison?.changes === undefined) return NOTHING
  const { changes, version_id: active } = comparison
  const all = CHANGE_KINDS.reduce((sum, kind) => sum + changes.counts[kind], 0)
  return html`<h2>What changes</h2>
    <p><b>${changesInWords(changes)}</b></p>
    <p class="soft small">Against the active version <code>${active}</code>.</p>
    ${kindsTable(gates.filter(({ group }) => group === 'changes'))} ${sizesTable(changes)}
    ${shown.length === 0 ? NOTHING : html`<h3>Changes to read</h3>`}
    <p class="small">
      ${all === 0 ? 'Nothing was lost or changed.' : ''}
      ${shown.length === 0 ? '' : `The first ${whole(shown.length)} are below, additions last.`}
      <code>${id ?? ''}.changes.jsonl</code> beside this page names all, SHA-256 <code>${changes.sha256}</code>.
    </p>
    ${shown.map(card)}`
}

function kindsTable(gates: readonly Gate[]): Markup {
  const row = ({ label, value, bound, passed }: Gate): Markup =>
    html`<tr>
      <td class="state">${passed ? html`<b class="good">✓ within</b>` : html`<b class="doubtful">! to accept</b>`}</td>
      <th>${inWords(label)}</th>
      <td class="n">${whole(value ?? 0)}</td>
      <td class="n">≤ ${whole(bound)}</td>
      <td class="soft small">${passed ? '' : html`every approval accepts <code>${label}</code> by name`}</td>
    </tr>`
  return html`<div class="scroll">
    <table>
      <thead>
        <tr>
          <th></th>
          <th>Kind of change</th>
          <th class="n">Count</th>
          <th class="n">Limit</th>
          <th></th>
        </tr>
      </thead>
      <tbody>
        ${gates.map(row)}
      </tbody>
    </table>
  </div>`
}

function sizesTable({ before, after, added }: Changes): Markup {
  const row = (unit: keyof Changes['before']): Markup =>
    html`<tr>
      <th>${unit}</th>
      <td class="n">${whole(before[unit])}</td>
      <td class="n">${whole(after[unit])}</td>
      <td class="n">${whole(added[unit])}</td>
    </tr>`
  return html`<div class="scroll">
    <table>
      <thead>
        <tr>
          <th></th>
          <th class="n">active</th>
          <th class="n">this one</th>
          <th class="n">added</th>
        </tr>
      </thead>
      <tbody>
        ${(['documents', 'provisions', 'passages'] as const).map(row)}
      </tbody>
    </table>
  </div>`
}

const SINGULAR: Readonly<Record<NamedChange['kind'], string>> = {
  facet_values_removed: 'facet value removed',
  documents_removed: 'document removed',
  documents_changed: 'document changed',
  documents_added: 'document added',
  provisions_removed: 'provision removed',
  provisions_changed: 'provision changed',
  provisions_added: 'provision added',
  passages_removed: 'passage removed',
  passages_changed: 'passage changed',
  passages_repeated: 'passage repeated',
  passages_added: 'passage added',
  references_changed: 'reference leads elsewhere',
  aliases_changed: 'name means another act',
  aliases_added: 'name of a new act',
  vectors_changed: 'other vectors for the same texts',
  profile_changed: 'setting changed',
  profile_fitted: 'setting fitted anew',
  questions_changed: 'question of the active set changed',
  questions_added: 'question added',
  search_questions_changed: 'search question changed',
  answers_lost: 'answer lost',
  answers_wrong: 'answer made wrong',
  snapshots_changed: 'snapshot changed, text equal',
}

function card(change: NamedChange): Markup {
  return html`<div class="miss change">
    <p class="small"><b>${SINGULAR[change.kind]}</b> ${headlineOf(change)}</p>
    ${detailsOf(change)}
  </div>`
}

function headlineOf(change: NamedChange): Markup {
  if (!isOfPassages(change)) return html`<bdi>${subjectOf(change)}</bdi>`
  const title = html`<span class="soft"><bdi>${change.document.title}</bdi></span>`
  if (!('label' in change)) return title
  const label = html`<bdi>${change.label}</bdi>`
  if (!('day' in change)) return html`${label} · ${title}`
  return html`${label} · ${title} <span class="soft">· ${change.language} · in force from ${change.day}</span>`
}

/** A change of a document, a provision or a passage. */
type ChangeOfPassages = Extract<NamedChange, { readonly document: object }>
type OtherChange = Exclude<NamedChange, ChangeOfPassages>

function isOfPassages(change: NamedChange): change is ChangeOfPassages {
  return 'document' in change
}

function subjectOf(change: OtherChange): string {
  switch (change.kind) {
    case 'facet_values_removed':
      return change.facet
    case 'references_changed':
      return change.reference
    case 'aliases_changed':
    case 'aliases_added':
      return change.name
    case 'vectors_changed':
      return change.file
    case 'profile_changed':
    case 'profile_fitted':
      return change.field
    case 'questions_changed':
    case 'questions_added':
      return change.question ?? 'the candidate has no question set'
    case 'search_questions_changed':
      return `${change.passage} · ${change.language}`
    case 'answers_lost':
    case 'answers_wrong':
      return `${change.question} · ${change.from}`
    default:
      return change satisfies never
  }
}

function detailsOf(change: NamedChange): Markup {
  if (!isOfPassages(change)) return otherDetails(change)
  if ('day' in change) return html`${repeatOf(change)}${passageDetails(change.before ?? {}, change.after ?? {})}`
  if (change.kind === 'snapshots_changed')
    return html`<p class="soft small">${whole(change.passages)} of its passages have an equal text</p>
      ${fieldsList({ snapshot: change.before }, { snapshot: change.after })}`
  if (!('revisions' in change)) return NOTHING
  const { revisions = [], revisions_total: total = 0 } = change
  const more =
    total > revisions.length ? html`<p class="soft small">and ${whole(total - revisions.length)} more</p>` : NOTHING
  return html`${revisions.map(
    ({ language, day, before, after }) =>
      html`<p class="soft small">${language}, in force from ${day}</p>
        ${after === null ? html`<p>not in the candidate</p>` : fieldsList({ ...before }, { ...after })}`,
  )}${more}`
}

function otherDetails(change: OtherChange): Markup {
  switch (change.kind) {
    case 'facet_values_removed':
      return html`<p><bdi>${change.value}</bdi></p>`
    case 'references_changed': {
      const labels = (held: typeof change.lost): readonly string[] =>
        held.map(({ label, document, language }) => `${label} (${document}, ${language})`)
      return fieldsList({ 'leads to': labels(change.lost) }, { 'leads to': labels(change.gained) })
    }
    case 'aliases_changed':
    case 'aliases_added':
      return fieldsList({ means: change.before }, { means: change.after })
    case 'vectors_changed':
      return NOTHING
    case 'search_questions_changed':
      return fieldsList({ question: change.before }, { question: change.after })
    case 'profile_changed':
    case 'profile_fitted':
      return fieldsList({ value: change.before }, { value: change.after })
    case 'questions_changed':
    case 'questions_added':
      return fieldsList({ ...change.before }, { ...change.after })
    case 'answers_lost':
    case 'answers_wrong':
      return html`<p><bdi>${change.text}</bdi></p>
        <p class="soft small">relevant: <bdi>${change.relevant.join(', ')}</bdi></p>
        ${fieldsList(answerFields(change.before), answerFields(change.after))}`
    default:
      return change satisfies never
  }
}

function answerFields({ decision, first, rank, unsupported }: AnswerChange['before']): Fields {
  return { decision, first_passage: first, rank: rank === null ? null : String(rank), not_held: unsupported }
}

function repeatOf({ repeats }: PassageChange): Markup {
  if (repeats === undefined) return NOTHING
  return html`<p class="soft small">
    added beside <bdi>${repeats.label}</bdi> of the active version, in force from ${repeats.day}; both would be served
  </p>`
}

type Fields = Readonly<Record<string, ServedValue | undefined>>

function passageDetails({ text: own, ...before }: Fields, { text: other, ...after }: Fields): Markup {
  const texts =
    typeof own === 'string' && typeof other === 'string'
      ? html`<p class="words"><bdi>${wordDifference(own, other)}</bdi></p>`
      : html`<p class="words"><bdi>${written(own ?? other)}</bdi></p>`
  return html`${own === undefined && other === undefined ? NOTHING : texts}${fieldsList(before, after)}`
}

/** Lists the fields whose value differs. */
function fieldsList(before: Fields, after: Fields): Markup {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => written(before[name]) !== written(after[name]),
  )
  if (names.length === 0) return NOTHING
  return html`<ul class="small">
    ${names.map(
      (name) =>
        html`<li>
          ${inWords(name)}: <del><bdi>${written(before[name])}</bdi></del> →
          <ins><bdi>${written(after[name])}</bdi></ins>
        </li>`,
    )}
  </ul>`
}

function written(value: ServedValue | undefined): string {
  if (value === undefined || value === null) return NO_VALUE
  if (typeof value === 'string') return value
  return value.length === 0 ? NO_VALUE : value.join(', ')
}

function inWords(name: string): string {
  return name.replaceAll('_', ' ')
}
