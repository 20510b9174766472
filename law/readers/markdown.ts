import { firstIndex } from '#core/platform/first-index.ts'
import { READER_BOUNDS } from './bounds.ts'
import { commentsIn } from './comments.ts'
import { decode } from './decode.ts'
import { germanCitation } from './german-citation.ts'
import type { MarkupFormat } from './format.ts'
import { fieldsOf, isPublished, metadataOf, standingOf, unreadMarks, unreadStatus } from './markdown-fields.ts'
import { markdownBlocks } from './html-block.ts'
import { lineRole, lineTree, type LineText, type Block } from './line-tree.ts'
import { provisionKind, provisionMarks, SECTION, type ProvisionMark } from './provision-marks.ts'
import { FORCE_NOTE } from './standing.ts'
import { UnreadableFile, type MarkupTree } from './tree.ts'

/** A heading that names a provision: `§ 433 …`, `Art 1`. */
const PROVISION = /^(?:§|Art(?:ikel|icle)?\b\.?)\s*[§\s]*\d/

/** Repealed sections under one heading: `(XXXX) §§ 3 bis 6 (weggefallen)`. */
const REPEALED_RANGE = /^\([Xx-]+\)\s*(?:§|Art)/

/** Markdown of any kind: German federal law, and pages with front matter of their own. */
export const MARKDOWN: MarkupFormat = {
  format: 'markdown',
  parse: parseMarkdown,
  recognises: ({ kind, head, path }) =>
    kind !== 'pdf' &&
    kind !== 'zip' &&
    (/^---\r?\n/.test(head) ||
      /^ {0,3}#{1,6}\s/m.test(head) ||
      (kind === 'text' && /\.(?:md|markdown)$/i.test(path))) &&
    !head.trimStart().startsWith('{'),
  roles: () => (element) => lineRole(element, true),
  fields: fieldsOf,
  losses: (read) => [...unreadStatus(read), ...unreadMarks(read)],
  cite: germanCitation,
}

function parseMarkdown(bytes: Uint8Array, path: string): MarkupTree {
  if ((bytes[0] ?? 0) >= 0xfe) throw new UnreadableFile('Markdown in UTF-16: save it as UTF-8', { line: 1 })
  const decoded = decode(bytes, undefined)
  if (decoded.length > READER_BOUNDS.markdownFileBytesMax)
    throw new UnreadableFile(
      `larger than ${READER_BOUNDS.markdownFileBytesMax} characters: split it into several files`,
    )
  const starts = [0, ...Array.from(decoded.matchAll(/\r\n?|\n/g), (end) => end.index + end[0].length), decoded.length]
  const front = frontMatterEnd(decoded, starts)
  const metadata = metadataOf(decoded.slice(0, starts[front]))
  const headings = headingsOf(decoded.slice(starts[front]), front)
  const textsIn = createPieces(decoded, starts[front] ?? 0)
  const marks = marksIn(decoded, starts, headings)
  const blocks: Block[] = []
  const add: Add = (from, to, block) => {
    const texts = textsIn({ line: from, from: starts[from] ?? decoded.length, to: starts[to] ?? decoded.length })
    if (texts.some(({ value }) => value.trim() !== ''))
      blocks.push({ ...block, line: from + 1, texts: block.is === 'row' ? [] : texts })
  }
  const addMark = (line: number, mark: ProvisionMark): void => {
    for (const block of markBlocks(
      line,
      mark,
      decoded.slice(starts[line], starts[line + 1]),
      starts[line] ?? 0,
      textsIn,
    ))
      blocks.push(block)
  }
  const reader: LineReader = { decoded, starts, marks, textsIn, add, addMark, isNotice: isPublished(metadata) }
  add(0, front, { is: 'omitted', rule: 'front matter' })
  let at = front
  // Sections are divisions of an act that has articles.
  const hasArticles = headings.filter(({ text }) => provisionKind(text) === 'article').length > 1
  for (const { from, to, rank, text } of headings) {
    addParagraphs(reader, at, from)
    const anchor = /\{#([^\s{}]+)\}\s*$/.exec(text)?.[1]
    // The marks of a heading are no text.
    const start = decoded.indexOf(text, starts[from] ?? 0)
    const texts = textsIn({ line: from, from: start, to: start + text.length })
    const shown = texts.map(({ value, rule }) => (rule === undefined ? value : '')).join('')
    const isNumbered = reader.isNotice && rank === PUBLISHED_RANK && /^\d+[A-Z]{0,3}\.*\s/.test(shown)
    const kind = isNumbered ? 'section' : kindOf(shown, hasArticles)
    const named = anchor === undefined ? {} : { anchor }
    if (text !== '') blocks.push({ is: 'heading', rank, kind: kind ?? 'heading', line: from + 1, ...named, texts })
    at = to
  }
  addParagraphs(reader, at, starts.length - 1)
  const tree = lineTree(blocks, decoded, metadata, standingOf(metadata, path))
  return { ...tree, bytesBefore: bytes.length - Buffer.byteLength(decoded) }
}

/** Collections of law have provisions as headings of this level, by their number alone where their law has it so. */
const PUBLISHED_RANK = 5

function kindOf(heading: string, hasArticles: boolean): Block['kind'] {
  if (PROVISION.test(heading)) return 'section'
  if (REPEALED_RANGE.test(heading)) return 'sections'
  return hasArticles && SECTION.test(heading) ? undefined : provisionKind(heading)
}

interface LineRange {
  readonly line: number
  readonly from: number
  readonly to: number
}
type Pieces = (range: LineRange) => readonly LineText[]

/**
 * Returns a function that gives the texts of a range, with what is struck, hidden or a comment as parts of their own.
 * @throws UnreadableFile for one that never ends.
 */
function createPieces(decoded: string, start: number): Pieces {
  const { comments, openAt } = commentsIn(decoded.slice(start), 'markdown')
  if (openAt !== undefined)
    throw new UnreadableFile('a comment, or a struck or hidden element, without an end', {
      line: decoded.slice(0, start + openAt).split('\n').length,
    })
  const gone = comments.map((each) => ({ ...each, start: each.start + start, end: each.end + start }))
  return ({ line, from, to }) => {
    const texts: LineText[] = []
    const push = (first: number, last: number, rule?: string): void => {
      const source = { from: first, to: last }
      const text = { value: decoded.slice(first, last), line: line + 1, source }
      if (first < last) texts.push(rule === undefined ? text : { ...text, rule })
    }
    let at = from
    for (
      let index = firstIndex(gone.length, (each) => (gone[each]?.end ?? 0) > from);
      index < gone.length;
      index += 1
    ) {
      const { start: first, end, rule } = gone[index] ?? { start: to, end: to, rule: '' }
      if (first >= to) break
      push(at, first)
      push(Math.max(at, first), Math.min(end, to), rule)
      at = Math.min(end, to)
    }
    push(at, to)
    return texts
  }
}

/** The lines that begin provisions, where no headings do. */
function marksIn(
  decoded: string,
  starts: readonly number[],
  headings: readonly Heading[],
): ReadonlyMap<number, ProvisionMark> {
  if (headings.filter(({ text }) => PROVISION.test(text) || provisionKind(text) !== undefined).length > 1)
    return new Map()
  const taken = new Set(headings.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, line) => from + line)))
  return provisionMarks(
    starts.slice(0, -1).map((start, line) => (taken.has(line) ? undefined : decoded.slice(start, starts[line + 1]))),
  )
}

/** The blocks of a line that begins a provision: its number, its heading and its text; signs between them are omitted. */
function markBlocks(
  line: number,
  { kind, rank, label, heading, text }: ProvisionMark,
  written: string,
  start: number,
  textsIn: Pieces,
): readonly Block[] {
  const blocks: Block[] = []
  let at = 0
  const add = (
    span: { readonly from: number; readonly to: number } | undefined,
    block: Omit<Block, 'texts' | 'line'>,
  ): void => {
    if (span === undefined || span.to <= span.from) return
    for (const [from, to, each] of [
      [at, span.from, SIGNS],
      [span.from, span.to, block],
    ] as const)
      if (written.slice(from, to).trim() !== '')
        blocks.push({ ...each, line: line + 1, texts: textsIn({ line, from: start + from, to: start + to }) })
    at = span.to
  }
  if (kind === 'note') add(label, { is: 'omitted', rule: 'note of an editor' })
  else if (kind === 'title') add(heading, { is: 'title' })
  else {
    add(label, { is: 'heading', kind, rank, isNumber: true })
    add(heading, label.to > label.from ? { is: 'title' } : { is: 'heading', kind, rank })
    add(text, { is: 'paragraph' })
  }
  add({ from: written.length, to: written.length + 1 }, SIGNS)
  return blocks
}

const SIGNS = { is: 'omitted', rule: 'sign beside the number or the heading of a provision' } as const

type Add = (from: number, to: number, block: Omit<Block, 'texts' | 'line'>) => void

interface LineReader {
  readonly decoded: string
  readonly starts: readonly number[]
  readonly marks: ReadonlyMap<number, ProvisionMark>
  readonly textsIn: Pieces
  readonly add: Add
  readonly addMark: (line: number, mark: ProvisionMark) => void
  /** Whether what is quoted is a notice of the publisher. */
  readonly isNotice: boolean
}

function addParagraphs(
  { decoded, starts, marks, textsIn, add, addMark, isNotice }: LineReader,
  from: number,
  to: number,
): void {
  let first = from
  const flush = (line: number): void => {
    const quoted = decoded.slice(starts[first], starts[line])
    const isOmitted = isNotice && quoted.startsWith('>') && !FORCE_NOTE.test(quoted)
    add(first, line, isOmitted ? { is: 'omitted', rule: 'notice of the publisher' } : { is: 'paragraph' })
  }
  for (let line = from; line <= to; line += 1) {
    const row = line === first && line < to ? markdownRow(decoded, starts, line, to) : undefined
    if (row !== undefined) {
      add(line, row.end, { is: 'row', cells: row.cells.map(textsIn) })
      first = row.end
      line = row.end - 1
      continue
    }
    const mark = line < to ? marks.get(line) : undefined
    const text = line < to ? decoded.slice(starts[line], starts[line + 1]) : ''
    if (mark === undefined && text.trim() !== '') continue
    flush(line)
    if (mark !== undefined) addMark(line, mark)
    first = line + 1
  }
}

const ROW = /^\*[ \t]+\*(?:[ \t]+(?=\S)|[ \t]*$)/
const CELL = /^ {4}\*(?:[ \t]+(?=\S)|[ \t]*$)/
const MORE = /^ {8,}\S/

/**
 * Reads a row of a table as German federal law in Markdown has it: a list whose items are lists of cells. Returns
 * undefined where none begins.
 * @param starts offset of each line, and of the end of the file.
 */
function markdownRow(decoded: string, starts: readonly number[], from: number, to: number) {
  const lineAt = (line: number): string => decoded.slice(starts[line], starts[line + 1]).replace(/[\r\n]+$/, '')
  const [opened] = ROW.exec(lineAt(from)) ?? []
  if (opened === undefined) return undefined
  const cells = [
    { line: from, from: (starts[from] ?? 0) + opened.length, to: (starts[from] ?? 0) + lineAt(from).length },
  ]
  let end = from + 1
  for (let line = end; line < to; line += 1) {
    const text = lineAt(line)
    if (text.trim() === '') continue
    const [mark] = CELL.exec(text) ?? []
    const start = starts[line] ?? 0
    const last = cells.at(-1)
    if (mark !== undefined) cells.push({ line, from: start + mark.length, to: start + text.length })
    else if (MORE.test(text) && last !== undefined) last.to = start + text.length
    else break
    end = line + 1
  }
  return { end, cells }
}

interface Heading {
  readonly from: number
  readonly to: number
  readonly rank: number
  readonly text: string
}

function headingsOf(body: string, before: number): readonly Heading[] {
  const tokens = markdownBlocks(body)
  return tokens.flatMap((token, index) => {
    if (token.type !== 'heading_open' || token.level > 0 || token.map === null) return []
    const [from, to] = token.map
    const text = tokens[index + 1]?.content ?? ''
    return [{ from: from + before, to: to + before, rank: Number(token.tag.slice(1)), text }]
  })
}

/** Returns the line after the front matter, from 0. */
function frontMatterEnd(decoded: string, starts: readonly number[]): number {
  const [before] = /^\s*(?=---[ \t]*\r?\n)/.exec(decoded) ?? []
  if (before === undefined) return 0
  for (
    let line = starts.findIndex((start) => start > before.length);
    line < Math.min(starts.length - 1, 2_000);
    line += 1
  )
    if (/^(?:---|\.\.\.)\s*$/.test(decoded.slice(starts[line], starts[line + 1]))) return line + 1
  return 0
}
