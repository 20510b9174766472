import { foldCode } from '#core/identity/fold.ts'
import type { DocumentFields, ReaderLoss } from './document.ts'
import { dated, dayIn, endIn, languageTag, type ReadTree } from './format.ts'
import { lastAmendment } from './german-citation.ts'
import type { Standing } from './standing.ts'
import { oneLine, wordSet } from './tree.ts'

/** German federal law has what amended it before its provisions. */
const HEAD_CHARACTERS = 4_000

/** The plain fields of front matter. A long value goes on in indented lines (YAML 1.2, plain and folded scalars). */
export function metadataOf(front: string): ReadonlyMap<string, string> {
  const fields = front.matchAll(/^([A-Za-z_][\w-]*):[ \t]+(\S.*(?:\r?\n[ \t]+\S.*)*)$/gm)
  return new Map(
    Array.from(fields, ([, name = '', value = '']) => [
      name,
      oneLine(value.replace(/^[>|][+-]?\s+/, '')).replace(/^(["'])(.*)\1$/, '$2'),
    ]),
  )
}

/** Fields of front matter that the reader reads. */
export const FRONT_MATTER_READ = wordSet(
  'jurabk slug origslug canonical_url redirect_to published_at date title Title document language lang jurisdiction authority effective_at effective_to status text_state identifier country rank source publication_date last_updated effective_until',
)

/** What an act is as a whole, by the front matter of collections of law. */
export const STATUSES: ReadonlyMap<string, Standing> = new Map([
  ['repealed', 'repealed'],
  ['annulled', 'repealed'],
  ['expired', 'ended'],
])
const IN_FORCE: ReadonlySet<string> = new Set(['in_force', 'partially_repealed'])
/** Whether a text holds its amendments; `current` says not from when. */
const TEXT_STATES: ReadonlySet<string> = new Set(['point_in_time', 'current'])

/** Front matter of a collection that publishes one act a file (legalize, version 0.4). */
export function isPublished(metadata: ReadonlyMap<string, string>): boolean {
  return ['identifier', 'country', 'rank', 'source'].every((name) => metadata.has(name))
}

export function unreadStatus({ tree: { metadata = new Map() } }: ReadTree): readonly ReaderLoss[] {
  const [status, state] = [metadata.get('status'), metadata.get('text_state')]
  return [
    ...(status === undefined || STATUSES.has(status) || IN_FORCE.has(status) ? [] : [`status: ${status.slice(0, 40)}`]),
    ...(state === undefined || TEXT_STATES.has(state) ? [] : [`text_state: ${state.slice(0, 40)}`]),
  ].map((name) => ({ name, count: 1, line: 1 }))
}

/** Fields of a collection of law; of what the file does not state none is made up. */
function publishedFields(metadata: ReadonlyMap<string, string>): DocumentFields {
  const state = metadata.get('text_state') ?? 'point_in_time'
  return {
    title: metadata.get('title'),
    identifier: metadata.get('identifier'),
    language: languageTag(metadata.get('language') ?? metadata.get('lang')),
    jurisdiction: foldCode(metadata.get('jurisdiction') ?? metadata.get('country') ?? '') || undefined,
    url: metadata.get('source'),
    publishedAt: dated(dayIn(metadata.get('publication_date'))),
    effectiveFrom: state === 'point_in_time' ? dated(dayIn(metadata.get('last_updated'))) : undefined,
    effectiveTo: dated(endIn(metadata.get('effective_until'), 1)),
  }
}

export function fieldsOf({ tree: { metadata = new Map(), decoded } }: ReadTree): DocumentFields {
  if (isPublished(metadata)) return publishedFields(metadata)
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
    effectiveTo: dated(endIn(metadata.get('effective_to'), 1)),
  }
}
