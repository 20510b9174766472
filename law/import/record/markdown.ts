import { isUtf8 } from 'node:buffer'
import { readFile, stat } from 'node:fs/promises'
import { foldKey } from '#core/identity/fold.ts'
import { READER_BOUNDS } from '#law/readers/bounds.ts'
import { IMPORT_BOUNDS } from '../bounds.ts'
import { frontMatterOf, type FrontMatter } from './markdown/front-matter.ts'
import { cutAtHeadings, type Section } from './markdown/headings.ts'
import { contextOf } from '#core/index/passages/selector.ts'
import type { TextRange } from '#law/readers/comments.ts'
import { createByteCounter, type PlaceOf } from '#law/readers/places.ts'
import type { SourceFault, SourceItem } from './record.ts'
import { isBlank, unstorable } from '#law/readers/text.ts'
import { UnreadableFile } from '#law/readers/tree.ts'

/** Yields the records of one Markdown file; see `markdownItems`. */
export async function* markdownRecords(path: string, known: ReadonlySet<string>): AsyncGenerator<SourceItem> {
  const { size } = await stat(path)
  if (size > READER_BOUNDS.markdownFileBytesMax) {
    yield fault(1, `file larger than ${READER_BOUNDS.markdownFileBytesMax} bytes`)
    return
  }
  const bytes = await readFile(path)
  if (!isUtf8(bytes)) {
    const lines = bytes.toString('latin1').split('\n')
    yield fault(lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1'))) + 1, 'not valid UTF-8')
    return
  }
  const text = new TextDecoder().decode(bytes)
  yield* markdownItems(text, known, bytes.length - Buffer.byteLength(text))
}

/**
 * Yields the records of a Markdown text: YAML front matter between two `---` lines, then one record per heading with
 * the text below it. `section.fragment` is the anchor written after the heading (`{#anchor}`), where no earlier heading
 * has the same one. `section.path` is title › chapter › heading. `section.reference` is the number that starts with the
 * front matter's `citation_prefix`; a section below a numbered heading has `section.within` and `section.below`.
 * @param known the fields of front matter that the mapping reads or ignores; any other one refuses the file.
 * @param bytesBefore bytes of the file before the text: its byte order mark.
 */
export function* markdownItems(
  text: string,
  known: ReadonlySet<string>,
  bytesBefore: number = 0,
): Generator<SourceItem> {
  try {
    yield* itemsOf(text, known, bytesBefore)
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    yield fault(error.line ?? 1, error.message)
  }
}

function* itemsOf(text: string, known: ReadonlySet<string>, bytesBefore: number): Generator<SourceItem> {
  const { yaml, body, bodyLine } = partsOf(text)
  const front = frontMatterOf(yaml, known)
  const cut = cutAtHeadings(body, bodyLine)
  for (const { line, message } of cut.warnings) yield { kind: 'warning', line, message }
  const metadata = new Map(
    [...front].flatMap(([name, { text: value }]) => (value === '' ? [] : [[`metadata.${name}`, value] as const])),
  )
  const prefix = metadata.get('metadata.citation_prefix')
  for (const section of cut.sections) assertReferencesClear(section, prefix)
  const places = createMarkdownPlaces(text, text.length - body.length, bytesBefore)
  for (const omission of cut.omissions) yield { kind: 'omission', ...omission }
  for (const section of cut.sections) {
    const { line, anchor: id, repeatsLine, kept } = section
    if (repeatsLine !== undefined) {
      const message = `the headings on lines ${repeatsLine} and ${line} have the same anchor: the second is imported as ${id}`
      yield { kind: 'warning', line, id, message }
    }
    yield itemOf(section, metadata, front, places(kept))
  }
}

const LINE = /([^\r\n]*)(\r\n?|\n|$)/y

/** Separates front matter and body: a line `---`, lines of YAML, a line `---` or `...`, and the rest. */
function partsOf(text: string) {
  const yaml: string[] = []
  LINE.lastIndex = 0
  for (let number = 1; ; number += 1) {
    const [, line = '', end = ''] = LINE.exec(text) ?? []
    if (number === 1 ? line.trimEnd() !== '---' : end === '' && line === '')
      throw new UnreadableFile('no front matter', { line: 1 })
    if (number > 1 && /^(?:---|\.\.\.)\s*$/.test(line))
      return { yaml: yaml.join('\n'), body: text.slice(LINE.lastIndex), bodyLine: number + 1 }
    if (number > 1) yaml.push(line)
  }
}

function fault(line: number, reason: string): SourceFault {
  return { kind: 'fault', line, reason }
}

function itemOf(
  section: Section,
  metadata: ReadonlyMap<string, string>,
  stated: FrontMatter,
  place: PlaceOf,
): SourceItem {
  const { line, heading, anchor, text } = section
  const path = pathOf(section, metadata.get('metadata.title') ?? '')
  // No passage shows the headings above it, unless another one below them does.
  const lost = { line, text: `${path}\n${text}` }
  if (isBlank(text)) return { kind: 'fault', ...lost, id: anchor, reason: 'heading without text' }
  const flaw = unstorable(text) ?? unstorable(section.source)
  if (flaw !== undefined) {
    const id = unstorable(anchor) === undefined ? anchor : `line-${line}`
    return { kind: 'fault', ...lost, id, reason: flaw }
  }
  const values = new Map([
    ...metadata,
    ...provisionOf(section, metadata.get('metadata.citation_prefix')),
    ['section.path', path],
  ])
  if (section.fragment !== undefined) values.set('section.fragment', section.fragment)
  const captured = { format: 'markdown', text: section.below, place } as const
  return { kind: 'record', line, id: anchor, title: heading, text, captured, values, stated }
}

/** Shortens to one character above the bound of the whole, so that a long heading is not copied often. */
function shortened(heading: string): string {
  return heading.slice(0, IMPORT_BOUNDS.headingCharactersMax * 2 + 1)
}

function pathOf({ parents, heading }: Section, title: string): string {
  return [title, ...parents, heading]
    .filter((part, index, all) => part !== '' && part !== all[index - 1])
    .map(shortened)
    .join(' › ')
}

/**
 * Returns the provision that a section belongs to: its own (`COB-M 2.1`), or that of the nearest heading above it, and
 * then the headings from there on (`Exception`).
 */
function provisionOf(section: Section, prefix: string | undefined): readonly (readonly [string, string])[] {
  const headings = [section.heading, ...section.parents.toReversed()]
  for (const [above, heading] of headings.entries()) {
    const { reference } = headingReference(heading, prefix)
    if (reference === undefined) continue
    if (above === 0) return [['section.reference', reference]]
    const below = headings.slice(0, above).toReversed().map(shortened).join(', ')
    return [
      ['section.within', reference],
      ['section.below', below],
    ]
  }
  return []
}

/** @throws UnreadableFile for a heading, or a line below it, that names a provision in an unclear way. */
function assertReferencesClear({ heading, parents, text, line }: Section, prefix: string | undefined): void {
  for (const each of [heading, ...parents]) {
    const { fault: reason } = headingReference(each, prefix)
    if (reason !== undefined) throw new UnreadableFile(reason, { line })
  }
  if (prefix !== undefined && text.split('\n').some((each) => isBoldHeading(each, prefix)))
    throw new UnreadableFile('a numbered line in bold below this heading: write # before it', { line })
}

/**
 * Returns a function that gives the places of sections in the bytes of their file. Sections are asked for in order.
 * @param file the decoded text, without a byte order mark. @param bodyStart where the body begins in it.
 * @param bytesBefore bytes of the byte order mark.
 */
function createMarkdownPlaces(
  file: string,
  bodyStart: number,
  bytesBefore: number,
): (kept: readonly TextRange[]) => PlaceOf {
  const byteOf = createByteCounter(file, bytesBefore)
  return (kept) => {
    let offsets: ((index: number) => number) | undefined
    return (start, end) => {
      offsets ??= offsetsOf(file, bodyStart, kept)
      const [first, last] = [offsets(start), offsets(end - 1) + 1]
      const range = { type: 'DataPositionSelector' as const, start: byteOf(first) }
      const omits = kept.slice(1).flatMap((next, index) => {
        const gap = { start: bodyStart + (kept[index]?.end ?? 0), end: bodyStart + next.start }
        const isWithin = gap.start < gap.end && gap.start >= first && gap.end <= last
        return isWithin ? [{ start: byteOf(gap.start), end: byteOf(gap.end) }] : []
      })
      const context = contextOf(file, first, last)
      return { ...range, end: byteOf(last), ...(omits.length === 0 ? {} : { omits }), ...context }
    }
  }
}

/** Returns a function that gives the offset in the file of each unit of a section's text, CRLF read as LF, trimmed. */
function offsetsOf(file: string, bodyStart: number, kept: readonly TextRange[]): (index: number) => number {
  const joined = kept.map(({ start, end }) => file.slice(bodyStart + start, bodyStart + end)).join('')
  const offsets = new Uint32Array(joined.length)
  let [count, at] = [0, 0]
  for (const { start, end } of kept)
    for (let offset = start; offset < end; offset += 1, at += 1)
      if (joined[at] !== '\r' || joined[at + 1] !== '\n') offsets[count++] = bodyStart + offset
  const text = joined.replaceAll('\r\n', '\n')
  const trimmed = text.length - text.trimStart().length
  return (index) => offsets[trimmed + index] ?? 0
}

/** The provision that a heading names, or why its number is not understood; neither: it names none. */
interface HeadingReference {
  readonly reference?: string
  readonly fault?: string
}

/**
 * The number of a provision after the prefix: `2.1`, `§ 12a`, `3 (2)`, `4 bis`, `5-1(a)`. A group in brackets has at
 * most 5 characters, and letters after a point at most 3, so that a word is no part of a number.
 */
const NUMBER =
  /^[\s.]*(?:§+\s*)?\d[\p{L}\p{N}^]*(?:[.\-‐‑–/]+(?:\d[\p{L}\p{N}]*|\p{L}{1,3}(?!\p{L}))|\s?\([\p{L}\p{N}.]{1,5}\)|(?<=\))[\p{L}\p{N}]{1,5}|\s(?:bis|ter|quater|quinquies|sexies|septies|octies|nonies|novies|decies)(?![\p{L}\p{N}]))*/iu

/** What may follow a number: nothing, or words that no reader takes for more of it. */
const AFTER_NUMBER = /^(?:[.:,;]?\s*$|\s*[:—]\s*\S|[.,;]?\s+(?:[-–|]\s+)?(?:[^\p{N}\s([\\.,;/\-‐‑–—]|\([^)]{4,}))/u

/** Units of a heading beyond its prefix that are read; a long heading stands above many. */
const READ_MAX = 200

/** Returns the reference of a heading, whose escapes are resolved, under the prefix of its document's citations. */
function headingReference(written: string, prefix: string | undefined): HeadingReference {
  if (prefix === undefined) return {}
  const heading = written.slice(0, 2 * prefix.length + READ_MAX)
  const number = heading.startsWith(prefix) ? NUMBER.exec(heading.slice(prefix.length))?.[0] : undefined
  if (number !== undefined)
    return AFTER_NUMBER.test(heading.slice(prefix.length + number.length))
      ? { reference: `${prefix}${number}` }
      : { fault: UNCLEAR_NUMBER }
  const [whole, start] = [folded(heading), folded(prefix)]
  const looksNumbered = start !== '' && whole.startsWith(start) && /^[.§]*\d/.test(whole.slice(start.length))
  return looksNumbered ? { fault: UNCLEAR_PREFIX } : {}
}

const UNCLEAR_NUMBER =
  'the number of the heading is not understood: write it as in "2.1(a)", and ": " between it and words that begin with a digit'
const UNCLEAR_PREFIX = 'the heading begins like "citation_prefix", but is written otherwise: write both the same'

/** A key without markup and white space. */
function folded(text: string): string {
  return foldKey(text).replaceAll(/[\s*_'~[\]\\]/gu, '')
}

/** True for a line of text that is a numbered heading in bold. */
function isBoldHeading(line: string, prefix: string): boolean {
  if (!/^\s*(?:\*\*|__)/.test(line) || !/(?:\*\*|__)\s*$/.test(line)) return false
  const { reference, fault: reason } = headingReference(line.replaceAll(/[*_]/g, '').trim(), prefix)
  return (reference ?? reason) !== undefined
}
