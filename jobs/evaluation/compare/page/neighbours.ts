import { join } from 'node:path'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import type { NamedChange, PassageChange } from '#jobs/evaluation/compare/changes-file.ts'
import { NOTHING, html, type Markup } from '#jobs/platform/page/markup.ts'
import { COMPARISON_BOUNDS } from '../bounds.ts'
import { firstWords, lastWords } from './word-difference.ts'

/** A passage as its place in the document shows it. */
export interface Placed {
  /** Position within its revision, from 0. */
  readonly ordinal: number
  readonly passage: PassageRecord
  /** The passages before and after it in the revision; undefined at its ends. */
  readonly previous: Near | undefined
  readonly next: Near | undefined
  /** The text of its provision that ends on the first day of this one. */
  readonly earlier?: PassageRecord | undefined
  /** What was captured at its place; absent: not read. */
  readonly captured?: Captured | undefined
}

/** A place of a captured file. */
export interface Captured {
  readonly source: string
  /** What stands there, with what is before and after it; '' where that is not known. */
  readonly before: string
  readonly own: string
  readonly after: string
}

export interface Near {
  readonly label: string
  /** The end of the text before, the beginning of the text after. */
  readonly text: string
}

/** The place of a changed passage in the candidate, or in the active version if the candidate lacks it. */
export type PlaceOf = (change: PassageChange) => Placed | undefined

/**
 * Reads both versions once for what stands beside the changed passages.
 * @param folders of the artifacts.
 */
export async function readPlaces(
  changes: readonly NamedChange[],
  folders: { readonly before: string; readonly after: string },
): Promise<PlaceOf> {
  const passages = changes.filter(isOfPassage)
  const removed = passages.filter(({ kind }) => kind === 'passages_removed').map(keyOf)
  const others = passages.filter(({ kind }) => kind !== 'passages_removed').map(keyOf)
  const before = await placesIn(folders.before, new Set(removed))
  const after = await placesIn(folders.after, new Set(others))
  return (change) => (change.kind === 'passages_removed' ? before : after).get(keyOf(change))
}

export function isOfPassage(change: NamedChange): change is PassageChange {
  return 'day' in change
}

function keyOf({ document, language, provision, day }: PassageChange): string {
  return JSON.stringify([document.id, language, provision, day])
}

async function placesIn(folder: string, wanted: ReadonlySet<string>): Promise<ReadonlyMap<string, Placed>> {
  const places = new Map<string, Placed>()
  if (wanted.size === 0) return places
  const earlier = new Map<string, PassageRecord>()
  let last: PassageRecord | undefined
  let waiting: string | undefined
  for await (const passage of passagesIn(join(folder, 'passages.jsonl'))) {
    const previous = last !== undefined && isAfter(passage, last) ? last : undefined
    const found = waiting === undefined ? undefined : places.get(waiting)
    if (waiting !== undefined && found !== undefined && previous !== undefined)
      places.set(waiting, { ...found, next: { label: passage.citation.label, text: beginning(passage.text) } })
    const { document, metadata, provision, in_force_from: from, in_force_to: to, position } = passage
    const keyOn = (day: string | null) => JSON.stringify([document.id, metadata.language, provision, day])
    const key = keyOn(from)
    if (wanted.has(keyOn(to))) earlier.set(keyOn(to), passage)
    waiting = wanted.has(key) ? key : undefined
    if (waiting !== undefined)
      places.set(key, {
        ordinal: position.ordinal,
        passage,
        previous: previous && { label: previous.citation.label, text: end(previous.text) },
        next: undefined,
      })
    last = passage
  }
  return new Map(Array.from(places, ([key, place]) => [key, { ...place, earlier: earlier.get(key) }]))
}

/** Rows of one revision follow each other, unless language, jurisdiction or subject part them. */
function isAfter({ document, position }: PassageRecord, last: PassageRecord): boolean {
  return document.revision_id === last.document.revision_id && position.ordinal === last.position.ordinal + 1
}

const { neighbourCharactersMax: MAX } = COMPARISON_BOUNDS

const beginning = (text: string): string => (text.length <= MAX ? text : `${firstWords(text, MAX)} …`)
const end = (text: string): string => (text.length <= MAX ? text : `… ${lastWords(text, MAX)}`)

/** The place of a passage in its captured file, marked, and the publisher's page. */
export function capturedBeside({ source, before, own, after }: Captured, passage: PassageRecord): Markup {
  return html`<p class="soft small">
      in the captured ${source}, ${placeOf(passage)}, <a href="${passage.citation.source_anchor}">publisher’s page</a>
    </p>
    <p class="words">${soft(before)}<bdi class="own">${own}</bdi>${soft(after)}</p>`
}

const soft = (text: string): Markup => (text === '' ? NOTHING : html`<bdi class="soft">${text}</bdi>`)

function placeOf({ selector }: PassageRecord): string {
  switch (selector.type) {
    case 'DataPositionSelector':
      return `bytes ${selector.start} to ${selector.end}`
    case 'JsonPointerSelector':
      return `line ${selector.line}`
    case 'XPathSelector':
      return selector.value
    case 'PdfSelector':
      return `page ${selector.lines[0]?.page ?? 0}`
    default:
      return selector satisfies never
  }
}
