import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import { parsedJson } from '#core/platform/json.ts'
import { CHANGE_NAMES } from '#jobs/evaluation/compare/changes-file.ts'
import type { AnswerChange, NamedChange, PassageChange } from '#jobs/evaluation/compare/changes-file.ts'
import type { ServedValue } from '#jobs/evaluation/compare/served-fields.ts'
import { COMPARISON_BOUNDS } from '../bounds.ts'
import { whole } from '#jobs/evaluation/page/numbers.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'
import { capturedBeside, isOfPassage, type Near, type Placed } from './neighbours.ts'
import { warningsOf } from './warnings.ts'
import { wordDifference } from './word-difference.ts'

const NO_VALUE = 'none'

/** Kinds that the page lists by name; a change may be of several. */
export function kindsOf(change: NamedChange): readonly string[] {
  const text = change.kind === 'passages_changed' && change.before?.text !== undefined
  // A changed passage is in force from the same day as before, so each has a warning.
  return [change.kind, ...(text ? ['text', 'warning'] : []), ...(hasOtherDates(change) ? ['dates'] : [])]
}

/** Words first, then dates and other fields, then what follows from passages. */
export function rankOf(kinds: readonly string[]): number {
  if (
    kinds.includes('text') ||
    kinds.some((kind) => /^passages_(?:removed|added|repeated)$/.test(kind) && !kinds.includes('dates'))
  )
    return 0
  return kinds.some((kind) => /^(?:provisions|documents)_/.test(kind)) ? 2 : 1
}

const DATES = ['published_at', 'effective_at', 'in_force_to'] as const

function hasOtherDates(change: NamedChange): boolean {
  if (change.kind === 'passages_changed') return DATES.some((date) => change.before?.[date] !== undefined)
  if (change.kind !== 'documents_changed') return false
  return (change.revisions ?? []).some(
    ({ before, after }) =>
      after !== null && (before.published_at !== after.published_at || before.effective_at !== after.effective_at),
  )
}

/**
 * One change with a box to tick; its group names the document.
 * @param id unique on the page. @param place of a passage; undefined: not known.
 */
export function card(change: NamedChange, id: string, place: Placed | undefined): Markup {
  const details = place !== undefined && isOfPassage(change) ? passageInPlace(change, place) : detailsOf(change)
  return cardOf(id, kindsOf(change), CHANGE_NAMES[change.kind], headlineOf(change), details)
}

/** An entry of a document. */
export interface Card {
  /** Position in the text; -1: none. */
  readonly ordinal: number
  /** See `rankOf`. */
  readonly rank: number
  /** By which the page lists it. */
  readonly kinds: readonly string[]
  readonly markup: Markup
}

export function cardOf(id: string, kinds: readonly string[], name: string, headline: Markup, details: Markup): Markup {
  return html`<article class="miss change" id="${id}" data-kinds="${kinds.join(' ')}">
    <p class="small">
      <label><input type="checkbox" class="tick" /> <b>${name}</b> ${headline}</label>
    </p>
    ${details}
  </article>`
}

/** The whole text of a passage that one version holds, between its neighbours. */
export function passageInPlace(change: PassageChange, place: Placed, isRedated = false): Markup {
  const { passage, previous, next, captured } = place
  const { text } = passage
  const { kind, day, before = {}, after = {} } = change
  const own = passageDetails(
    kind === 'passages_removed' ? { ...before, text } : before,
    kind === 'passages_added' ? { ...after, text } : after,
    kind === 'passages_changed' && !isRedated ? day : undefined,
  )
  const beside =
    captured === undefined
      ? html`<p class="small"><a href="${passage.citation.source_anchor}">publisher’s page</a></p>`
      : capturedBeside(captured, passage)
  return html`<div class="sides">
    <div>${repeatOf(change)}${own}${neighbour('before it', previous)}${neighbour('after it', next)}</div>
    <div>${beside}</div>
  </div>`
}

function neighbour(where: string, near: Near | undefined): Markup {
  if (near === undefined) return NOTHING
  return html`<p class="near small">
    <span class="soft">${where}:</span> <b>${near.label}</b> <bdi>${near.text}</bdi>
  </p>`
}

function headlineOf(change: NamedChange): Markup {
  if (!isOfPassages(change)) return html`<bdi>${otherOf(change)[0]}</bdi>`
  if (!('label' in change)) return html`<bdi>${change.document.title}</bdi>`
  const label = html`<bdi>${change.label}</bdi>`
  if (!('day' in change)) return label
  return html`${label} <span class="soft">· ${change.language} · in force from ${change.day}</span>`
}

/** A change of a document, a provision or a passage. */
export type ChangeOfPassages = Extract<NamedChange, { readonly document: object }>

export function isOfPassages(change: NamedChange): change is ChangeOfPassages {
  return 'document' in change
}

function detailsOf(change: NamedChange): Markup {
  if (!isOfPassages(change)) return otherOf(change)[1]
  if ('day' in change) {
    const day = change.kind === 'passages_changed' ? change.day : undefined
    return html`${repeatOf(change)}${passageDetails(change.before ?? {}, change.after ?? {}, day)}`
  }
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

function otherOf(change: Exclude<NamedChange, ChangeOfPassages>): readonly [subject: string, details: Markup] {
  switch (change.kind) {
    case 'histories_rewritten': {
      const { repository, commit, texts, since, acts } = change
      const others = texts === 1 ? '' : ` and those of ${whole(texts - 1)} more versions`
      const named = acts.slice(0, COMPARISON_BOUNDS.actsNamedMax).join(', ')
      const more = acts.length > COMPARISON_BOUNDS.actsNamedMax ? ` and ${whole(acts.length)} acts in all` : ''
      const differ = acts.length === 0 ? 'no past version differs' : `past versions of ${named}${more} differ`
      return [`${repository} lacks the captured commit ${commit}${others} since ${since}; ${differ}`, NOTHING]
    }
    case 'facet_values_removed':
      return [change.facet, html`<p><bdi>${change.value}</bdi></p>`]
    case 'references_changed': {
      const labels = (held: typeof change.lost): readonly string[] =>
        held.map(({ label, document, language }) => `${label} (${document}, ${language})`)
      const details = fieldsList({ 'leads to': labels(change.lost) }, { 'leads to': labels(change.gained) })
      return [change.reference, details]
    }
    case 'aliases_changed':
    case 'aliases_added':
      return [change.name, fieldsList({ means: change.before }, { means: change.after })]
    case 'vectors_changed':
      return [change.file, NOTHING]
    case 'search_questions_changed': {
      const details = fieldsList({ question: change.before }, { question: change.after })
      return [`${change.passage} · ${change.language}`, details]
    }
    case 'profile_changed':
    case 'profile_fitted':
      return [change.field, fieldsList(settingOf(change.before), settingOf(change.after))]
    case 'questions_changed':
    case 'questions_added': {
      const subject = change.question ?? 'the candidate has no question set'
      return [subject, fieldsList({ ...change.before }, { ...change.after })]
    }
    case 'answers_lost':
    case 'answers_wrong':
    case 'answers_moved':
      return [
        `${change.question} · ${change.from}`,
        html`<p><bdi>${change.text}</bdi></p>
          <p class="soft small">relevant: <bdi>${change.relevant.join(', ')}</bdi></p>
          ${fieldsList(answerFields(change.before), answerFields(change.after))}`,
      ]
    default:
      return change satisfies never
  }
}

/** Of a calibration the threshold is read; its weights are in the list of changes. */
function settingOf(value: string | null): Fields {
  const [threshold, digest] = [thresholdIn(value), sha256(value ?? '')]
  if (threshold === undefined) return { value }
  return { threshold: threshold.toFixed(3), weights: digest.toString('hex').slice(0, 8) }
}

const calibrated = z.object({ threshold: z.number() })

/** @param value of a profile's field, as JSON. */
export function thresholdIn(value: string | null): number | undefined {
  return calibrated.safeParse(parsedJson(value ?? '')).data?.threshold
}

function answerFields({ decision, first, rank, unsupported }: AnswerChange['before']): Fields {
  return { decision, first_passage: first, rank: rank === null ? null : String(rank), not_held: unsupported }
}

function repeatOf({ repeats }: PassageChange): Markup {
  if (repeats === undefined) return NOTHING
  return html`<p class="soft small">
    it has a name of <bdi>${repeats.label}</bdi> of the active version, in force from ${repeats.day}: where that one
    stays, both are served
  </p>`
}

type Fields = Readonly<Record<string, ServedValue | undefined>>

/** @param day in force from which both texts are; undefined: their days differ, or there is one text. */
function passageDetails({ text: own, ...before }: Fields, { text: other, ...after }: Fields, day: string | undefined) {
  const both = typeof own === 'string' && typeof other === 'string'
  const warnings = both
    ? [
        ...warningsOf(own, other),
        ...(day === undefined ? [] : [`The text changes and its day in force does not: ${day}`]),
      ]
    : []
  const texts = both
    ? html`<p class="words"><bdi>${wordDifference(own, other)}</bdi></p>
        ${warnings.map((each) => html`<p class="small"><b class="doubtful">! ${each}</b></p>`)}`
    : html`<p class="words"><bdi>${written(own ?? other)}</bdi></p>`
  return html`${own === undefined && other === undefined ? NOTHING : texts}${fieldsList(before, after)}`
}

export function fieldsList(before: Fields, after: Fields): Markup {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (name) => written(before[name]) !== written(after[name]),
  )
  if (names.length === 0) return NOTHING
  return html`<ul class="small">
    ${names.map(
      (name) =>
        html`<li>
          ${inWords(name)}: <del><bdi>${readable(written(before[name]))}</bdi></del> →
          <ins><bdi>${readable(written(after[name]))}</bdi></ins>
        </li>`,
    )}
  </ul>`
}

function written(value: ServedValue | undefined): string {
  if (value === undefined || value === null) return NO_VALUE
  if (typeof value === 'string') return value
  return value.length === 0 ? NO_VALUE : value.join(', ')
}

/** Addresses state the words of a text fragment as percent signs and digits, and a day has no time. */
function readable(value: string): string {
  if (/^\d{4}-\d\d-\d\dT00:00:00\.000Z$/.test(value)) return value.slice(0, 10)
  if (!/^https?:.*:~:text=/.test(value)) return value
  try {
    return decodeURI(value)
  } catch {
    return value
  }
}

export function inWords(name: string): string {
  return name.replaceAll('_', ' ')
}
