import { READER_BOUNDS } from './bounds.ts'
import { decode } from './decode.ts'
import { germanCitation, lastAmendment } from './german-citation.ts'
import type { DocumentFields } from './document.ts'
import { dated, dayIn, endIn, languageTag, type MarkupFormat, type ReadTree } from './format.ts'
import { markdownBlocks } from './html-block.ts'
import { lineRole, lineTree, type LineText, type Block } from './line-tree.ts'
import { oneLine, UnreadableFile, wordSet, type MarkupTree } from './tree.ts'

/** German federal law has what amended it before its provisions. */
const HEAD_CHARACTERS = 4_000

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
  cite: germanCitation,
}

function parseMarkdown(bytes: Uint8Array): MarkupTree {
  if ((bytes[0] ?? 0) >= 0xfe) throw new UnreadableFile('Markdown in UTF-16: save it as UTF-8', { line: 1 })
  const decoded = decode(bytes, undefined)
  if (decoded.length > READER_BOUNDS.markdownFileBytesMax)
    throw new UnreadableFile(
      `larger than ${READER_BOUNDS.markdownFileBytesMax} characters: split it into several files`,
    )
  const starts = [0, ...Array.from(decoded.matchAll(/\r\n?|\n/g), (end) => end.index + end[0].length), decoded.length]
  const front = frontMatterEnd(decoded, starts)
  const metadata = metadataOf(decoded.slice(0, starts[front]))
  const blocks: Block[] = []
  const add = (from: number, to: number, block: Omit<Block, 'texts' | 'line'>): void => {
    const range = { from: starts[from] ?? decoded.length, to: starts[to] ?? decoded.length }
    const text = textIn(decoded, { line: from, ...range })
    if (text.value.trim() !== '') blocks.push({ ...block, line: from + 1, texts: block.is === 'row' ? [] : [text] })
  }
  add(0, front, { is: 'omitted', rule: 'front matter' })
  let at = front
  for (const { from, to, rank, text } of headingsOf(decoded.slice(starts[front]), front)) {
    addParagraphs(decoded, starts, at, from, add)
    const kind = PROVISION.test(text) ? 'section' : REPEALED_RANGE.test(text) ? 'sections' : 'heading'
    const anchor = /\{#([^\s{}]+)\}\s*$/.exec(text)?.[1]
    // The marks of a heading are no text.
    const start = decoded.indexOf(text, starts[from] ?? 0)
    const source = { from: start, to: start + text.length }
    const named = anchor === undefined ? {} : { anchor }
    const heading = { is: 'heading', rank, kind, line: from + 1, ...named } as const
    if (text !== '') blocks.push({ ...heading, texts: [{ value: text, line: from + 1, source }] })
    at = to
  }
  addParagraphs(decoded, starts, at, starts.length - 1, add)
  return { ...lineTree(blocks, decoded, metadata), bytesBefore: bytes.length - Buffer.byteLength(decoded) }
}

function textIn(
  decoded: string,
  { line, from, to }: { readonly line: number; readonly from: number; readonly to: number },
): LineText {
  return { value: decoded.slice(from, to), line: line + 1, source: { from, to } }
}

type Add = (from: number, to: number, block: Omit<Block, 'texts' | 'line'>) => void

function addParagraphs(decoded: string, starts: readonly number[], from: number, to: number, add: Add): void {
  let first = from
  for (let line = from; line <= to; line += 1) {
    const row = line === first && line < to ? markdownRow(decoded, starts, line, to) : undefined
    if (row !== undefined) {
      add(line, row.end, { is: 'row', cells: row.cells.map((cell) => textIn(decoded, cell)) })
      first = row.end
      line = row.end - 1
      continue
    }
    const text = line < to ? decoded.slice(starts[line], starts[line + 1]) : ''
    if (text.trim() !== '') continue
    const block = decoded.slice(starts[first], starts[line]).trim()
    const isComment = /^<!--[\s\S]*-->$/.test(block) && block.indexOf('-->') === block.length - 3
    add(first, line, isComment ? { is: 'omitted', rule: 'HTML comment' } : { is: 'paragraph' })
    first = line + 1
  }
}

/** A row of a table: the ranges of its cells, by offsets in the file; an empty cell is an empty range. */
interface MarkdownRow {
  /** Line after the row, from 0. */
  readonly end: number
  readonly cells: readonly { readonly line: number; readonly from: number; readonly to: number }[]
}

const ROW = /^\*[ \t]+\*(?:[ \t]+(?=\S)|[ \t]*$)/
const CELL = /^ {4}\*(?:[ \t]+(?=\S)|[ \t]*$)/
const MORE = /^ {8,}\S/

/**
 * Reads a row of a table as German federal law in Markdown has it: a list whose items are lists of cells. Returns
 * undefined where none begins.
 * @param starts offset of each line, and of the end of the file.
 */
function markdownRow(decoded: string, starts: readonly number[], from: number, to: number): MarkdownRow | undefined {
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
  if (!/^---[ \t]*\r?\n/.test(decoded)) return 0
  for (let line = 1; line < Math.min(starts.length - 1, 2_000); line += 1)
    if (/^(?:---|\.\.\.)\s*$/.test(decoded.slice(starts[line], starts[line + 1]))) return line + 1
  return 0
}

/** The plain fields of front matter. A long value goes on in indented lines (YAML 1.2, plain and folded scalars). */
function metadataOf(front: string): ReadonlyMap<string, string> {
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
  'jurabk slug origslug canonical_url redirect_to published_at date title Title document language lang jurisdiction authority effective_at effective_to',
)

function fieldsOf({ tree: { metadata = new Map(), decoded } }: ReadTree): DocumentFields {
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
