import { changesInWords, type Changes } from '#core/domain/changes.ts'
import type { EvaluationReport, Gate } from '#jobs/evaluation/page/evaluation-report.ts'
import { figure, whole } from '#jobs/evaluation/page/numbers.ts'
import { COMPARISON_BOUNDS } from '../bounds.ts'
import { CHANGE_NAMES, type NamedChange, type PassageChange } from '#jobs/evaluation/compare/changes-file.ts'
import { NOTHING, html, dataElement, type Markup } from '#jobs/platform/page/markup.ts'
import { reviewTools, tableOf } from '#jobs/platform/page/document.ts'
import { card, inWords, isOfPassages, kindsOf, rankOf, thresholdIn, type Card } from './cards.ts'
import { isOfPassage, type PlaceOf, type Placed } from './neighbours.ts'
import { redatedCards, redatedIn } from './redated.ts'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { passagesIn } from '#core/index/passages/records.ts'

/**
 * Names what changes in the law, for the first line of a review.
 * @param shown changes of the page.
 */
export function changesTitle(report: EvaluationReport, shown: readonly NamedChange[]): string {
  const changes = report.comparison?.changes
  if (changes === undefined) return `First version of ${report.dataset}`
  const rules = [
    [changes.counts.provisions_changed, 'changed'],
    [changes.counts.provisions_removed, 'removed'],
    [changes.added.provisions, 'added'],
  ] as const
  const [first, ...others] = rules.filter(([count]) => count > 0)
  if (first === undefined) return `${report.dataset}: no rule changes`
  const titles = new Set(shown.flatMap((change) => ('provision' in change ? [change.document.title] : [])))
  const [title = report.dataset] = titles
  const where = titles.size > 1 ? `${whole(titles.size)} documents` : title
  const counts = [
    `${whole(first[0])} ${first[0] === 1 ? 'rule' : 'rules'} ${first[1]}`,
    ...others.map(([count, what]) => `${whole(count)} ${what}`),
  ]
  return `${where}: ${counts.join(', ')}`
}

/**
 * Shows what the candidate lost or changed against the active version: every change by document, with a box to tick, then
 * those of no document, and last, folded, what leaves every text as it was.
 * @param placeOf where a changed passage stands.
 */
export function changesSection(
  { comparison }: EvaluationReport,
  shown: readonly NamedChange[],
  placeOf: PlaceOf = () => undefined,
): Markup {
  if (comparison?.changes === undefined) return NOTHING
  return html`${shown.length === 0 ? html`<p>Nothing was lost or changed.</p>` : NOTHING} ${review(shown, placeOf)}
  ${thresholdSentence(shown, comparison.questions)}`
}

/** The counts of each kind, with what every approval accepts by name. */
export function changesTables({ comparison, gates, version_id: id }: EvaluationReport, shown: number): Markup {
  if (comparison?.changes === undefined) return NOTHING
  const { changes, version_id: active } = comparison
  return html`<h2>What changes</h2>
    <p><b>${changesInWords(changes)}</b></p>
    <p class="soft small">Against the active version <code>${active}</code>.</p>
    ${kindsTable(gates.filter(({ group }) => group === 'changes'))} ${sizesTable(changes)}
    <p class="small">
      ${shown === 0 ? '' : listedInWords(shown)}
      <code>operator review report ${id ?? ''} --part changes --out FILE</code> writes all as a list, SHA-256
      <code>${changes.sha256}</code>.
    </p>`
}

/** What a threshold that was fitted anew decides otherwise. @param questions that both versions were asked. */
function thresholdSentence(shown: readonly NamedChange[], questions: number): Markup {
  const fitted = shown.find((change) => change.kind === 'profile_fitted' && change.field === 'calibration')
  if (fitted?.kind !== 'profile_fitted') return NOTHING
  const [before, after] = [thresholdIn(fitted.before), thresholdIn(fitted.after)]
  if (before === undefined || after === undefined) return NOTHING
  const decided = shown.filter((change) => 'relevant' in change && change.before.decision !== change.after.decision)
  const count = decided.length === 0 ? 'none' : whole(decided.length)
  return html`<p>
    Threshold ${figure(before)} → ${figure(after)}: ${count} of ${whole(questions)} questions
    ${decided.length < 2 ? 'changes its decision' : 'change their decision'}.
  </p>`
}

function listedInWords(shown: number): string {
  return shown < COMPARISON_BOUNDS.changesShownMax
    ? 'All are above, by document; a passage that is removed and added again from another day on is one entry.'
    : `The first ${whole(shown)} are above by document; additions are left out first.`
}

function review(shown: readonly NamedChange[], placeOf: PlaceOf): Markup {
  if (shown.length === 0) return NOTHING
  const placed = (change: NamedChange): Placed | undefined => (isOfPassage(change) ? placeOf(change) : undefined)
  const numbers = new Map(shown.map((change, at) => [change, `c${at}`]))
  const all = groupsOf(shown).map((group) => ({
    ...group,
    cards: cardsOf(group.changes, placed, (change) => numbers.get(change) ?? ''),
  }))
  const kinds = [...new Set(all.flatMap(({ cards }) => cards.flatMap((each) => each.kinds)))].sort()
  return html`<section>
    ${reviewTools(kinds.map((kind) => [kind, NAMES[kind] ?? CHANGE_NAMES[kind as NamedChange['kind']]]))}
    ${all.map((group) => groupOf(group))}
  </section>`
}

const NAMES: Readonly<Record<string, string>> = {
  text: 'text changed',
  dates: 'date changed',
  warning: 'with a warning',
}

/** Changes of one document, in the order of its text; or those of no document, by kind. */
interface Group {
  readonly title: string
  /** Undefined: of no document, or of several. */
  readonly document: string | undefined
  readonly changes: readonly NamedChange[]
}

/** They leave every text and date as it was. */
const FOLDED: ReadonlySet<NamedChange['kind']> = new Set(['snapshots_changed', 'profile_fitted', 'aliases_added'])

function groupOf({ title, document, changes, cards }: Group & { readonly cards: readonly Card[] }): Markup {
  const all =
    document === undefined
      ? NOTHING
      : html`<p class="small"><a href="#document-${document}">All passages of the document</a></p>`
  const body = html`<summary><b>${title}</b> <span class="soft small">${countsInWords(changes)}</span></summary>
    ${cards.map(({ markup }) => markup)} ${all}`
  return changes.every(({ kind }) => FOLDED.has(kind))
    ? html`<details class="group">${body}</details>`
    : html`<details class="group" open>${body}</details>`
}

/** Changed words first, in the order of the text. */
function cardsOf(
  changes: readonly NamedChange[],
  placed: (change: NamedChange) => Placed | undefined,
  idOf: (change: NamedChange) => string,
): readonly Card[] {
  const { redated, rest } = redatedIn(changes, placed)
  const compared = comparedWithOrigin(rest)
  const cards = rest.map((change, at) => {
    const [place, shown = change] = [placed(change), compared[at]]
    const kinds = kindsOf(shown)
    return { ordinal: place?.ordinal ?? -1, rank: rankOf(kinds), kinds, markup: card(shown, idOf(change), place) }
  })
  return [...cards, ...redatedCards(redated, idOf)].sort((a, b) => a.rank - b.rank || a.ordinal - b.ordinal)
}

/**
 * Where provisions are numbered anew, compares a text with itself under the label that it had, and shows one whose
 * number another text had, and left, as added.
 */
function comparedWithOrigin(changes: readonly NamedChange[]): readonly NamedChange[] {
  const ofTexts = changes.filter(isOfPassage)
  const origins = new Map(ofTexts.map((change) => [wholeText(change.before), change]))
  const kept = new Set(ofTexts.map(({ after }) => wholeText(after)))
  return changes.map((change) => {
    if (!isOfPassage(change) || change.after?.text === undefined) return change
    const { text = '', ...after } = { label: change.label, ...change.after }
    const shown = { ...change, label: String(after.label) }
    const [own, was] = [wholeText(change.after), wholeText(change.before)]
    const origin = own && origins.get(own)
    if (!origin)
      return was && kept.has(was) ? { ...shown, kind: 'passages_added', before: {}, after: { text } } : change
    const had = Object.entries({ label: origin.label, ...origin.before }).filter(([field]) => field in after)
    const before = Object.fromEntries(had)
    const both = Object.fromEntries(Object.entries(after).filter(([field]) => field in before))
    return { ...shown, kind: 'passages_changed', before, after: both }
  })
}

/** Undefined where the end of a text is left out, which may differ. */
function wholeText(fields: PassageChange['before']): string | undefined {
  return typeof fields?.text === 'string' && !fields.text.endsWith('…') ? fields.text : undefined
}

const TITLES: Readonly<Partial<Record<NamedChange['kind'], string>>> = {
  snapshots_changed: 'Texts that stay equal, read from a file that changed',
  profile_fitted: 'Settings that every build fits anew',
}

function groupsOf(shown: readonly NamedChange[]): readonly Group[] {
  const isOfDocument = (change: NamedChange) => isOfPassages(change) && !FOLDED.has(change.kind)
  const byDocument = Map.groupBy(shown.filter(isOfPassages).filter(isOfDocument), ({ document: { id } }) => id)
  const apart = shown.filter((change) => !isOfDocument(change))
  const others = Map.groupBy(apart, ({ kind }) => kind)
  const documents = [...byDocument].map(([document, changes]) => ({
    title: changes[0]?.document.title ?? '',
    document,
    changes,
  }))
  const rest = [...others].map(([kind, changes]) => ({
    title: TITLES[kind] ?? CHANGE_NAMES[kind],
    document: undefined,
    changes,
  }))
  const isHistory = ({ changes: [first] }: Group): boolean => first?.kind === 'histories_rewritten'
  return [
    ...rest.filter(isHistory),
    ...documents.sort((one, other) => (one.title < other.title ? -1 : 1)),
    ...rest.filter((group) => !isHistory(group) && group.changes.some(({ kind }) => !FOLDED.has(kind))),
    ...rest.filter(({ changes: [first] }) => first !== undefined && FOLDED.has(first.kind)),
  ]
}

function countsInWords(changes: readonly NamedChange[]): string {
  const byKind = Map.groupBy(changes, ({ kind }) => CHANGE_NAMES[kind])
  return [...byKind].map(([kind, { length }]) => `${whole(length)} × ${kind}`).join(', ')
}

function kindsTable(gates: readonly Gate[]): Markup {
  return tableOf(
    ['Kind of change', 'Count', 'Limit', ''],
    gates.map(({ label, value, bound, passed }) => [
      passed
        ? inWords(label)
        : html`${inWords(label)}<small>every approval accepts <code>${label}</code> by name</small>`,
      whole(value ?? 0),
      `≤ ${whole(bound)}`,
      passed ? html`<b class="good">✓ within</b>` : html`<b class="doubtful">! to accept</b>`,
    ]),
  )
}

function sizesTable({ before, after, added }: Changes): Markup {
  return tableOf(
    ['', 'active', 'this one', 'added'],
    (['documents', 'provisions', 'passages'] as const).map((unit) => [
      unit,
      ...[before, after, added].map((sizes) => whole(sizes[unit])),
    ]),
  )
}

/**
 * Lists the documents of a version; the page shows all passages of one where it is asked to. They are part of the page,
 * compressed, up to a bound of their characters.
 * @param folder of a verified artifact.
 */
export async function passagesSection(folder: string): Promise<Markup> {
  const documents = await documentsIn(folder)
  if (documents === undefined)
    return html`<h2>The passages</h2>
      <p>
        The version holds more than ${whole(COMPARISON_BOUNDS.pagePassageCharactersMax)} characters, so the page does
        not carry its passages.
      </p>`
  const listed = documents.toSorted((a, b) => (a.title < b.title ? -1 : 1))
  return html`<h2>The passages</h2>
    <p class="small">
      Choose a document; its passages appear below the list, each with the id by which a question set names it. This
      needs scripts.
    </p>
    <ul class="documents small">
      ${listed.map(
        ({ id, title, passages }) =>
          html`<li>
            <a href="#document-${id}"><bdi>${title}</bdi></a> <span class="soft">${whole(passages.length)}</span>
          </li>`,
      )}
    </ul>
    <section id="document" hidden></section>
    ${dataElement('passages', gzipSync(JSON.stringify(listed)))}`
}

/** @returns of each passage label, days, text and id; undefined where the texts exceed the bound. */
async function documentsIn(folder: string) {
  const held: PassageRecord[] = []
  let characters = 0
  for await (const passage of passagesIn(join(folder, 'passages.jsonl'))) {
    characters += passage.text.length
    if (characters > COMPARISON_BOUNDS.pagePassageCharactersMax) return undefined
    held.push(passage)
  }
  held.sort(
    (a, b) => Date.parse(a.in_force_from) - Date.parse(b.in_force_from) || a.position.ordinal - b.position.ordinal,
  )
  return [...Map.groupBy(held, ({ document: { id } }) => id)].map(([id, of]) => ({
    id,
    title: of[0]?.document.title ?? '',
    passages: of.map(({ citation: { label }, in_force_from: day, in_force_to: to, text, source_id: named }) => [
      label,
      to === null ? day : `${day} to ${to}`,
      text,
      named,
    ]),
  }))
}
