import { READER_BOUNDS } from '#law/readers/bounds.ts'
import { aroundOf, labelledHeading } from '#law/readers/document.ts'
import type { Citation, DocumentFields, Omitted, Provision, ReadDate, ReaderWarning } from '#law/readers/document.ts'
import { FRONT_MATTER_READ, isPublished, stateOf } from '#law/readers/markdown-fields.ts'
import { createPlaces } from '#law/readers/places.ts'
import { readBytes, readDocument, recognised, type ReadDocument } from '#law/readers/read.ts'
import { UnreadableFile } from '#law/readers/tree.ts'
import { CITED_TITLE_CHARACTERS_MAX } from '#law/readers/words-citation.ts'
import { HEADING_RULE } from '#law/readers/walk.ts'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { hasOwnFields } from './markdown/front-matter.ts'
import { slugOf } from '#law/readers/heading-anchors.ts'
import { markdownRecords } from './markdown.ts'
import { originalName, originalOf } from './originals.ts'
import type { SourceItem, SourceRecord, SourceSnapshot } from './record.ts'

/**
 * Returns a function that yields the records of a file of published law: one for each provision that a reader makes a
 * passage, and what it warns of, omits and does not account for. Markdown with documented front matter is read as
 * `markdownRecords` does. The original of a corrected draft yields nothing where the draft is one of it and gives
 * records: it holds its text.
 * @param known the fields of front matter that the mapping reads or ignores. @param snapshots all files of the import.
 */
export function createLawReader(
  known: ReadonlySet<string>,
  snapshots: readonly SourceSnapshot[],
): (snapshot: SourceSnapshot) => AsyncGenerator<SourceItem> {
  const drafts = new Map(snapshots.toReversed().map((draft) => [originalName(draft.sourceName), draft]))
  return (snapshot) => lawRecords(snapshot, drafts.get(snapshot.sourceName), known, snapshots)
}

async function* lawRecords(
  { path, sourceName }: SourceSnapshot,
  draft: SourceSnapshot | undefined,
  known: ReadonlySet<string>,
  snapshots: readonly SourceSnapshot[],
): AsyncGenerator<SourceItem> {
  let read: ReadDocument
  try {
    if (draft !== undefined && (await holdsRecords(draft, known, snapshots))) return
    const bytes = await readBytes(path)
    if (recognised(sourceName, bytes) === 'markdown' && hasOwnFields(bytes)) {
      yield* ownMarkdown({ path, sourceName }, known, bytes, snapshots)
      return
    }
    if (originalName(sourceName) !== undefined) throw new UnreadableFile('a draft without the front matter of one')
    read = await readDocument(sourceName, bytes)
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    yield { kind: 'fault', line: error.line ?? 1, reason: placed(error) }
    return
  }
  yield* itemsOf(read, sourceName)
}

/** Whether a draft is one of the file beside it, and gives a record. */
async function holdsRecords(
  draft: SourceSnapshot,
  known: ReadonlySet<string>,
  snapshots: readonly SourceSnapshot[],
): Promise<boolean> {
  try {
    const bytes = await readBytes(draft.path)
    if (!hasOwnFields(bytes)) return false
    for await (const { kind } of ownMarkdown(draft, known, bytes, snapshots)) if (kind === 'record') return true
    return false
  } catch (error) {
    if (error instanceof UnreadableFile) return false
    throw error
  }
}

type Warned = Pick<ReaderWarning, 'message' | 'xpath'> & { readonly page?: number | undefined }

/** Yields the records of Markdown with documented front matter; those of a draft name their place in the original. */
async function* ownMarkdown(
  { path, sourceName }: Pick<SourceSnapshot, 'path' | 'sourceName'>,
  known: ReadonlySet<string>,
  bytes: Uint8Array,
  snapshots: readonly SourceSnapshot[],
): AsyncGenerator<SourceItem> {
  const { place, holds } = await originalOf(sourceName, bytes, snapshots)
  for await (const item of markdownRecords(path, known)) {
    if (item.kind !== 'record') yield item
    else {
      const isOwn = holds(item.text)
      const message = `words that the original does not have, the editor's: "${item.text.slice(0, READER_BOUNDS.remainderCharactersMax)}"`
      if (!isOwn) yield { kind: 'warning', line: item.line, message }
      // What only the editor wrote is verified by no captured text.
      const text = isOwn ? item.captured.text : ''
      const captured = { ...item.captured, text, place: place(item.captured.place) }
      yield { ...item, captured, values: new Map([['metadata.file', sourceName], ...item.values]) }
    }
  }
}

function placed({ message, page, xpath }: Warned): string {
  const where = page === undefined ? (xpath === undefined ? '' : ` (${xpath})`) : ` (page ${page})`
  return `${message}${where}`
}

function* itemsOf(read: ReadDocument, sourceName: string): Generator<SourceItem> {
  for (const warning of read.warnings) yield { kind: 'warning', line: warning.line ?? 1, message: placed(warning) }
  for (const { name, count, line } of read.losses)
    yield { kind: 'not understood', line, name: `${read.format} ${name}`, count }
  yield { kind: 'coverage', coverage: read.coverage }
  const joined = read.tree.texts.map(({ value }) => value).join('')
  // The front matter of published law is read as fields.
  const isRead = isPublished(read.tree.metadata ?? new Map())
  yield* omissionsOf(isRead ? read.omitted.filter(({ rule }) => rule !== 'front matter') : read.omitted, joined)
  const metadata = metadataOf(read, sourceName)
  const stated = frontMatterOf(read)
  const placesOf = createPlaces(read)
  const named = namedProvisions(read)
  if (named.length === 0) yield { kind: 'warning', line: 1, message: 'the file holds no text of a provision' }
  for (const { provision, id, citation, cited } of named) {
    const { document, title, url, act, aliases, reference } = citation
    const text = provision.text ?? ''
    const path = [title ?? read.fields.title ?? '', ...provision.path, labelledHeading(provision)]
    yield {
      kind: 'record',
      line: provision.line,
      id,
      title: isNamed(provision, text, cited.untitled) ? provision.heading : '',
      text,
      captured: { format: 'law', text: capturedText(joined, provision), place: placesOf(provision) },
      values: new Map([
        ...metadata,
        ...valuesOf('metadata', {
          document,
          title,
          canonical_url: url,
          act,
          aliases,
          ...endOf(provision, read.fields),
        }),
        ...valuesOf('section', {
          ...cited,
          reference,
          fragment: isShort(provision.anchor) ? provision.anchor : undefined,
          path: path.filter((part, index) => part !== '' && part !== path[index - 1]).join(' › '),
        }),
      ]),
      stated,
    }
  }
}

/** Whether a provision has a heading of its own: not the title of its document, and not all of its text. */
function isNamed({ kind, heading }: Provision, text: string, untitled: string | undefined): boolean {
  return kind !== 'document' && untitled !== '' && heading !== text.trim()
}

/**
 * Returns the provisions that become records. The anchor that one alone has is its id; others have the names of those
 * above them. A citation that is no reference, such as a heading, is qualified by its ancestors where another one is the
 * same, then by a number; a reference that is used again stays, so that the import asks.
 */
function namedProvisions(read: ReadDocument) {
  const records = read.provisions.filter(({ text }) => text !== undefined && text.trim() !== '')
  const cited = records.map((provision) => ({ provision, citation: read.cite(provision) }))
  const anchors = countsOf(cited.map(({ provision: { anchor } }) => anchor))
  const ids = createNumbers('~')
  const labels = countsOf(cited.map(({ citation }) => keyOf(citation)))
  const numbers = createNumbers(', ')
  return cited.map(({ provision, citation }) => {
    const { anchor } = provision
    const isOwn = anchors.get(anchor ?? '') === 1 && read.format !== 'pdf' && isShort(anchor)
    const id = ids(isOwn ? (anchor ?? '') : pathId(read, provision))
    const isReference = citation.reference !== undefined && provision.label !== ''
    const isShared = !isReference && (labels.get(keyOf(citation)) ?? 0) > 1
    const { isTitled, rest } = withoutTitle(citation, read.fields)
    const ancestors = isShared ? provision.path.filter((heading) => heading !== read.fields.title).slice(-2) : []
    const [name, own] = isTitled ? ['', rest] : nameAndPlace(citation)
    const qualifiers = [name, ...ancestors, own].filter((part) => part !== '').join(', ')
    const label = qualifiers.slice(-IMPORT_BOUNDS.citationCharactersMax)
    const unique = isShared ? numbers(label) : label
    // `source.yaml` may state another title of the document than the citation begins with.
    return { provision, id, citation, cited: isTitled ? { untitled: unique } : { label: unique } }
  })
}

/** Separates a citation from the title of the document that it begins with, or would begin with. */
function withoutTitle({ label, title: own }: Citation, { title, identifier }: DocumentFields) {
  if (own === undefined && title === undefined && identifier === undefined) return { isTitled: true, rest: label }
  const name = (title ?? '').slice(0, CITED_TITLE_CHARACTERS_MAX).trim()
  const isTitled = own === undefined && name !== '' && (label === name || label.startsWith(`${name}, `))
  return { isTitled, rest: isTitled ? label.slice(name.length + 2) : label }
}

/** The name of the act with which a citation begins, and what follows it. */
function nameAndPlace({ label, name }: Citation): readonly [string, string] {
  return name !== undefined && label.startsWith(`${name}, `) ? [name, label.slice(name.length + 2)] : ['', label]
}

function isShort(anchor: string | undefined): boolean {
  return anchor !== undefined && anchor.length <= IMPORT_BOUNDS.sourceIdCharactersMax / 2
}

function keyOf({ label, document }: Citation): string {
  return `${document ?? ''} ${label}`
}

function countsOf(names: readonly (string | undefined)[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of names) if (name !== undefined) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** Returns a function that numbers a name from its second use on. */
function createNumbers(mark: string): (name: string) => string {
  const used = new Map<string, number>()
  return (name) => {
    const count = (used.get(name) ?? 0) + 1
    used.set(name, count)
    return count === 1 ? name : `${name}${mark}${count}`
  }
}

const STEP_CHARACTERS_MAX = 40

/** An id of the numbers, else the headings, of a provision and its ancestors. */
function pathId({ provisions }: ReadDocument, provision: Provision): string {
  const named = [provision, ...aroundOf(provision, provisions)].filter(({ kind }) => kind !== 'document').toReversed()
  const steps = named.map(
    ({ kind, label, heading }) => slugOf(label || heading).slice(0, STEP_CHARACTERS_MAX) || kind || 'text',
  )
  return steps.join('/').slice(0, IMPORT_BOUNDS.sourceIdCharactersMax / 2) || 'document'
}

/** What the reader took of the file for a provision, between what it added. */
function capturedText(joined: string, { pieces, text = '' }: Provision): string {
  let [written, at] = ['', 0]
  for (const piece of pieces) {
    written += `${text.slice(at, piece.at)}${joined.slice(piece.from, piece.to)}`
    at = piece.at + piece.length
  }
  return written + text.slice(at)
}

/** Omissions that follow each other by one rule are one. */
function* omissionsOf(omitted: readonly Omitted[], joined: string): Generator<SourceItem> {
  const found: { readonly rule: string; readonly line: number; text: string; to: number }[] = []
  for (const { rule, line, from, to } of omitted.toSorted((a, b) => a.from - b.from)) {
    const text = joined.slice(from, to).replaceAll(/\s+/g, ' ').trim()
    if (text === '' || rule === HEADING_RULE) continue
    const last = found.at(-1)
    if (last?.rule === rule && joined.slice(last.to, from).trim() === '') {
      last.text = `${last.text} ${text}`.slice(0, READER_BOUNDS.remainderCharactersMax)
      last.to = to
    } else found.push({ rule, line, text: text.slice(0, READER_BOUNDS.remainderCharactersMax), to })
  }
  for (const { rule, line, text } of found) yield { kind: 'omission', line, rule, text }
}

/** What the file states, by the names of front matter; a date that a rule gives has the rule in its name. */
function metadataOf({ fields, tree }: ReadDocument, sourceName: string): readonly PlaceholderValue[] {
  const { title, identifier, language, jurisdiction, authority, subjects = [], url } = fields
  return valuesOf('metadata', {
    file: sourceName,
    text_state: stateOf(tree.metadata),
    rank: tree.metadata?.get('rank'),
    country: tree.metadata?.get('country'),
    document: identifier,
    title,
    language,
    jurisdiction,
    authority,
    subject: subjects.map((each) => each.replaceAll(',', ' ')).join(','),
    canonical_url: url,
    ...dated('published_at', fields.publishedAt),
    ...dated('effective_at', fields.effectiveFrom),
  })
}

/** The end of a provision: its own, where it is the first. */
function endOf({ until }: Provision, { effectiveTo }: DocumentFields): Readonly<Record<string, string>> {
  const isOwn = until !== undefined && (effectiveTo === undefined || until < effectiveTo.day)
  return dated('effective_to', isOwn ? { day: until, rule: 'provision' } : effectiveTo)
}

type PlaceholderValue = readonly [placeholder: string, value: string]

function valuesOf(
  prefix: 'metadata' | 'section',
  values: Readonly<Record<string, string | undefined>>,
): readonly PlaceholderValue[] {
  return Object.entries(values).flatMap(([name, value = '']) =>
    value.trim() === '' ? [] : [[`${prefix}.${name}`, value.trim()] as const],
  )
}

function dated(name: string, date: ReadDate | undefined): Readonly<Record<string, string>> {
  if (date === undefined) return {}
  return { [date.rule === undefined ? name : `${name}-${date.rule}`]: date.day }
}

/** Front matter that the reader does not read, so that a field that looks like an end refuses the import. */
function frontMatterOf({ format, tree: { metadata } }: ReadDocument): SourceRecord['stated'] {
  if (format !== 'markdown') return new Map()
  return new Map(
    [...(metadata ?? [])].flatMap(([name, text]) =>
      FRONT_MATTER_READ.has(name) || text.trim() === '' ? [] : [[name, { text }] as const],
    ),
  )
}
