import { foldCode, foldKey } from '#core/identity/fold.ts'
import { memoized } from '#core/platform/memoized.ts'
import type { DateRule, DocumentFields, ReaderLoss } from './document.ts'
import { dated, dayIn, endIn, languageTag, type ReadTree } from './format.ts'
import { lastAmendment } from './german-citation.ts'
import LANGUAGES from './names/languages.json' with { type: 'json' }
import STANDING from './names/standing.json' with { type: 'json' }
import type { Standing } from './standing.ts'
import { oneLine, wordSet } from './tree.ts'

/** German federal law has what amended it before its provisions. */
const HEAD_CHARACTERS = 4_000

/**
 * The fields of front matter. A long value goes on to its closing quote or in indented lines (YAML 1.2, plain and folded
 * scalars); a field within another one has the names of both, and one that is stated twice both values.
 */
export function metadataOf(front: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  let around = ''
  for (const [, indent = '', name = '', double, single, value = ''] of front.matchAll(
    /^([ \t]*)(?:- )?["']?([A-Za-z_][\w-]*)["']?[ \t]*:(?:[ \t]+|$)(?:"((?:[^"\\]|\\[^])*)"[ \t\r]*$|'((?:[^']|'')*)'[ \t\r]*$|(.*(?:\r?\n(?:[ \t]+(?![\w-]+[ \t]*:\s)|- )\S.*)*))/gm,
  )) {
    if (indent === '') around = name
    const key = indent === '' ? name : `${around}.${name}`
    const quoted =
      double?.replaceAll(/\\\r?\n|\\[nrt]/g, ' ').replaceAll(/\\([^])/g, '$1') ?? single?.replaceAll("''", "'")
    const unquoted = oneLine(value.replace(/^[>|][+-]?\s+/, '')).replace(/^(["'])(.*)\1$/, '$2')
    const plain = quoted === undefined ? unquoted : oneLine(quoted)
    if (plain !== '') fields.set(key, fields.has(key) ? `${fields.get(key)}; ${plain}` : plain)
  }
  return fields
}

export const FRONT_MATTER_READ = wordSet(
  'jurabk slug origslug canonical_url redirect_to published_at date title Title document language lang jurisdiction authority effective_at effective_to status text_state identifier country rank source publication_date last_updated effective_until effective_from effectiveness_date entry_into_force entry_in_force ' +
    'version_type references_html never_effective inactive_temporal_version provisions_never_effective',
)

/** What an act is as a whole, by the front matter of collections of law. */
const STATUSES: ReadonlyMap<string, Standing> = new Map([
  ['repealed', 'repealed'],
  ['annulled', 'repealed'],
  ['expired', 'ended'],
])
const IN_FORCE: ReadonlySet<string> = new Set(['in_force', 'partially_repealed'])

/** Keys of single countries that say that a text is no law in force, whatever its status is. */
const OWN_STANDINGS: readonly (readonly [key: string, value: RegExp, standing: Standing])[] = [
  ['version_type', /^MINULE$/, 'ended'],
  ['inactive_temporal_version', /^true$/, 'ended'],
  ['never_effective', /^true$/, 'prospective'],
  // What stands behind other words is said of a part.
  ['references_html', new RegExp(STANDING.repealedBy, 'iu'), 'repealed'],
]

/** Front matter of a collection that publishes one act a file (legalize, version 0.4). */
export function isPublished(metadata: ReadonlyMap<string, string>): boolean {
  return ['identifier', 'country', 'rank', 'source'].every((name) => metadata.has(name))
}

/** Why the front matter says that the act is no law in force; undefined where it is. */
export function standingOf(metadata: ReadonlyMap<string, string>, path = ''): Standing | undefined {
  // A version of a clone that has ended was law until that day, and its publisher marks it as repealed since.
  if (dayInName(path, 'until') !== undefined && !contradictsStatus(metadata)) return undefined
  return STATUSES.get(metadata.get('status') ?? '') ?? ownStanding(metadata)?.[2]
}

function ownStanding(metadata: ReadonlyMap<string, string>): (typeof OWN_STANDINGS)[number] | undefined {
  return OWN_STANDINGS.find(([key, value]) => value.test(metadata.get(key) ?? ''))
}

/** Whether the country's own key marks a text as a past one, beside a status of an act in force. */
export function isPastVersion(metadata: ReadonlyMap<string, string>): boolean {
  return besideStatus(metadata) === 'ended'
}

/** Whether the country's own key says that the act is no law, beside a status of an act in force. */
export function contradictsStatus(metadata: ReadonlyMap<string, string>): boolean {
  return ![undefined, 'ended'].includes(besideStatus(metadata))
}

function besideStatus(metadata: ReadonlyMap<string, string>): Standing | undefined {
  return STATUSES.has(metadata.get('status') ?? '') ? undefined : ownStanding(metadata)?.[2]
}

/** Whether a text is no law on a day: as enacted, or the latest one whatever the day. */
export function stateOf(metadata: ReadonlyMap<string, string> = new Map()): string | undefined {
  const state = metadata.get('text_state')
  return state === 'point_in_time' ? undefined : state
}

/** Keys of countries for the day on which the act begins to be law; the text may be that of a later day. */
const BEGINNINGS = ['entry_into_force', 'entry_in_force', 'effectiveness_date']

/** The day from which a text is law: the country's own key, or the day of its last change once the act is in force. */
export function inForceFrom(metadata: ReadonlyMap<string, string>): string | undefined {
  const own = dayIn(metadata.get('effective_from'))
  if (stateOf(metadata) === 'as_enacted') return dayIn(metadata.get('publication_date')) ?? own
  const updated = dayIn(metadata.get('last_updated'))
  if (own !== undefined || updated === undefined) return own
  return BEGINNINGS.flatMap((key) => dayIn(metadata.get(key)) ?? [])
    .concat(updated)
    .toSorted()
    .at(-1)
}

/** The last day on which a text is law. @throws UnreadableFile for an end that is no day. */
export function lastDayOf(metadata: ReadonlyMap<string, string>): string | undefined {
  return endIn(metadata.get('effective_until') ?? metadata.get('effective_to'), 1)
}

/** A day that the name of a version in a clone states (`law/sources/git`). */
function dayInName(path: string, name: 'from' | 'until' | 'published'): string | undefined {
  return /\.md\?commit=/.test(path) ? dayIn(new RegExp(`[?&]${name}=([\\d-]{10})(?:&|$)`).exec(path)?.[1]) : undefined
}

/** What front matter says of the standing of an act and is not read, or contradicts itself. */
export function unreadStanding(metadata: ReadonlyMap<string, string>, hasNext: boolean): readonly string[] {
  const [status, state] = [metadata.get('status'), stateOf(metadata)]
  const own = status === undefined || !IN_FORCE.has(status) ? undefined : ownStanding(metadata)
  const isRead = status === undefined ? !isPublished(metadata) : STATUSES.has(status) || IN_FORCE.has(status)
  // A past version of a clone ends where the next one begins.
  const isPast = own?.[2] === 'ended' && hasNext
  return [
    ...(isRead ? [] : [`status: ${status?.slice(0, 40) ?? 'none is stated'}`]),
    ...(state === undefined ? [] : [`text_state: ${state.slice(0, 40)}`]),
    ...(own === undefined || isPast ? [] : [`${own[0]} says ${own[2]}, and status says ${status}`]),
  ]
}

export function unreadStatus({ path, tree: { metadata = new Map(), decoded } }: ReadTree): readonly ReaderLoss[] {
  const isTitle = isPublished(metadata) && !/^[ \t]*(?![ \t#>])[^\p{L}\n]*\p{L}/mu.test(bodyOf(decoded))
  return [
    ...unreadStanding(metadata, dayInName(path, 'until') !== undefined),
    ...(isTitle ? ['no text below the title'] : []),
  ].map((name) => ({ name, count: 1, line: 1 }))
}

function bodyOf(decoded: string): string {
  return decoded.slice(Math.max(0, decoded.search(/(?<=\n(?:---|\.\.\.)[ \t]*\r?\n)/)))
}

/** Marks of other kinds of Markdown and of HTML: they stay in the text as written, and what they say is not read. */
const UNREAD = Object.entries(STANDING.markdown_marks).map(([name, mark]) => ({ name, mark: new RegExp(mark, 'im') }))

export function unreadMarks({ tree: { texts } }: ReadTree): readonly ReaderLoss[] {
  return texts.flatMap(({ parent, value, line }) =>
    parent.name === 'omitted'
      ? []
      : UNREAD.filter(({ mark }) => mark.test(value)).map(({ name }) => ({ name, count: 1, line })),
  )
}

const RULE_OF_STATE: Readonly<Record<string, DateRule>> = { as_enacted: 'publication', current: 'amendment-date' }

/** Fields of a collection of law; of what the file does not state none is made up. */
function publishedFields(metadata: ReadonlyMap<string, string>, path: string, text: string): DocumentFields {
  const from = dayInName(path, 'from') ?? inForceFrom(metadata)
  const until = dayInName(path, 'until')
  const end = until ?? (dayInName(path, 'from') === undefined ? lastDayOf(metadata) : undefined)
  const country = metadata.get('country') ?? ''
  return {
    title: metadata.get('title'),
    identifier: metadata.get('identifier'),
    language: languageTag(metadata.get('language') ?? metadata.get('lang')) ?? languageOf(country, bodyOf(text)),
    jurisdiction: foldCode(metadata.get('jurisdiction') ?? country) || undefined,
    url: metadata.get('source'),
    publishedAt: dated(dayIn(metadata.get('publication_date')) ?? dayInName(path, 'published')),
    effectiveFrom: dated(from, RULE_OF_STATE[stateOf(metadata) ?? '']),
    effectiveTo: dated(end, until === undefined ? undefined : 'next-version'),
  }
}

export function fieldsOf({ path, tree: { metadata = new Map(), decoded } }: ReadTree): DocumentFields {
  if (isPublished(metadata)) return publishedFields(metadata, path, decoded)
  const first = /^#\s+(.+)$/m.exec(decoded)?.[1]?.trim()
  const url = metadata.get('canonical_url') ?? metadata.get('redirect_to')
  const signed = dayIn(/^Ausfertigungsdatum\s*\r?\n:\s+(\d{4}-\d{2}-\d{2})/m.exec(decoded)?.[1])
  // Older files have the abbreviation in their heading alone.
  const code = metadata.get('jurabk') ?? (signed === undefined ? undefined : /\(([^()]+)\)$/.exec(first ?? '')?.[1])
  const isGerman = code !== undefined
  const slug = metadata.get('origslug') ?? metadata.get('slug') ?? ''
  const published = dayIn(metadata.get('published_at') ?? metadata.get('date'))
  return {
    title: metadata.get('title') ?? metadata.get('Title') ?? first,
    identifier: code ?? metadata.get('document') ?? url,
    language: languageTag(metadata.get('language') ?? metadata.get('lang')) ?? (isGerman ? 'de' : undefined),
    jurisdiction: metadata.get('jurisdiction') ?? (isGerman ? 'DE' : undefined),
    authority: metadata.get('authority'),
    url: url ?? (isGerman ? `https://www.gesetze-im-internet.de/${slug}/` : undefined),
    publishedAt: dated(signed, 'enactment') ?? dated(published),
    effectiveFrom:
      dated(dayIn(metadata.get('effective_at'))) ?? lastAmendment(decoded.slice(0, HEAD_CHARACTERS), signed),
    effectiveTo: dated(endIn(metadata.get('effective_to') ?? metadata.get('effective_until'), 1)),
  }
}

/** Countries by ISO 3166-1, with the languages in which they publish their law. */
const COUNTRIES: ReadonlyMap<string, string> = new Map(Object.entries(LANGUAGES.countries))
/** Short words of each language. A text counts as in one of them where its words say so. */
const SETS: ReadonlyMap<string, ReadonlySet<string>> = new Map(
  Object.entries(LANGUAGES.words).map(([language, words]) => [language, new Set(foldKey(words).split(' '))]),
)
const READ_CHARACTERS = 40_000
/** Share of the words of a text that its language's short words make at least. */
const SHARE_MIN = 0.05
/** A shorter text is in the language of its country where that has one. */
const COUNTED_WORDS_MIN = 60

const WORDS_MAX = 5_000
const wordsIn = memoized((run): readonly string[] => foldKey(run).match(/\p{L}+/gu) ?? [], WORDS_MAX)

/** Returns the language of its country that a text is in; undefined where the country is not known, or none fits. */
function languageOf(country: string, text: string): string | undefined {
  const languages = (COUNTRIES.get(foldKey(country)) ?? '').split(',')
  const words = text
    .slice(0, READ_CHARACTERS)
    .split(/[ \n\r\t]+/)
    .flatMap(wordsIn)
  if (languages.length === 1 && words.length < COUNTED_WORDS_MIN) return languages[0] || undefined
  const counts = languages.map((language) => {
    const own = SETS.get(language)
    return { language, count: words.filter((word) => own?.has(word)).length }
  })
  const [best, second] = counts.toSorted((a, b) => b.count - a.count)
  if (best === undefined || best.count <= words.length * SHARE_MIN) return undefined
  return best.count === second?.count ? undefined : best.language
}
