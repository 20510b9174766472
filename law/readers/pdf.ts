import { constants, inflateSync } from 'node:zlib'
import { getDocumentProxy } from 'unpdf'
import { READER_BOUNDS } from './bounds.ts'
import { dated, dayIn, languageTag, type MarkupFormat, type ReadTree } from './format.ts'
import type { DocumentFields } from './document.ts'
import { lineRole, lineTree } from './line-tree.ts'
import { commonGutters, linesOfPage, printedOnce, rotatedLines, turned } from './pdf-columns.ts'
import type { PdfText } from './pdf-columns.ts'
import { markedTexts } from './pdf-marks.ts'
import { NAMED_RANK, blocksOf } from './pdf-lines.ts'
import { elementsOf, oneLine, textOf, UnreadableFile, type MarkupElement, type MarkupTree } from './tree.ts'
import { wordsCitation } from './words-citation.ts'

/** PDF with a text layer. Its structure is guessed from sizes and numbers; a draft corrects it. */
export const PDF: MarkupFormat = {
  format: 'pdf',
  parse: parsePdf,
  recognises: ({ kind }) => kind === 'pdf',
  roles: () => (element) => lineRole(element, false),
  fields: fieldsOf,
  cite: (provision, fields) => wordsCitation(provision, fields),
  warnings: ({ tree: { metadata } }) => {
    const page = Number(metadata?.get('empty page') ?? 0)
    return page === 0 ? [] : [{ message: 'a page without text: it may be a scan', page }]
  },
  losses: ({ tree: { metadata } }) =>
    (metadata?.get('unread') ?? '').split('\n').flatMap((name) => (name === '' ? [] : [{ name, count: 1, line: 1 }])),
}

type Pdf = Awaited<ReturnType<typeof getDocumentProxy>>

async function parsePdf(bytes: Uint8Array): Promise<MarkupTree> {
  assertUnpacked(bytes)
  if (!process.listeners('unhandledRejection').includes(passOverParser))
    process.on('unhandledRejection', passOverParser)
  await using opening = new AsyncDisposableStack()
  const pdf = opening.adopt(await opened(bytes), (it) => it.loadingTask.destroy())
  if (pdf.numPages > READER_BOUNDS.pagesMax) throw new UnreadableFile(`more than ${READER_BOUNDS.pagesMax} pages`)
  const [texts, unread]: [Awaited<ReturnType<typeof pageTexts>>[], string[]] = [[], []]
  const layers = await pdf.getOptionalContentConfig()
  const isShown = (layer: unknown): boolean => layers.isVisible(layer) === true
  const marked: Marked = (page, all) => markedTexts(page, all, isShown, (name) => unread.push(name))
  for (let number = 1; number <= pdf.numPages; number += 1) texts.push(await pageTexts(pdf, number, marked))
  const gutters = commonGutters(texts.map(({ along }) => along))
  const pages = texts.map(({ along, apart, turn }, index) => [
    ...linesOfPage(along, index + 1, turn, gutters).filter(({ text }) => text !== ''),
    ...rotatedLines(apart, index + 1, turn),
  ])
  const scanned = pages.findIndex((lines) => lines.length === 0)
  if (pages.every((lines) => lines.length === 0))
    throw new UnreadableFile('a scan without a text layer: recognise its text first (OCR)', { page: 1 })
  const metadata = await metadataOf(pdf)
  if (scanned !== -1) metadata.set('empty page', String(scanned + 1))
  metadata.set('unread', unread.join('\n'))
  return lineTree(blocksOf(pages), '', metadata)
}

/** Of a damaged file, the parser leaves rejections that nobody awaits; they end no process. Any other one does. */
function passOverParser(reason: unknown): void {
  if (!(reason instanceof Error && reason.stack?.includes('pdfjs') === true)) throw reason
}

/** Characters before a stream in which its dictionary says what it is. */
const DICTIONARY_BYTES = 1_000

/**
 * Unpacks what text may stand in, and counts its operators: the parser does both without a bound, and cannot be stopped
 * within a page. It unpacks no images.
 * @throws UnreadableFile for a file that holds too much for its size.
 */
function assertUnpacked(bytes: Uint8Array): void {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const operatorsMax = READER_BOUNDS.operatorsPerMb * megabytesBegun(bytes.length)
  let left: number = READER_BOUNDS.unpackedBytesMax
  let operators = 0
  for (let at = file.indexOf('stream'); at !== -1; at = file.indexOf('stream', at)) {
    const from = at + 'stream'.length + (file[at + 'stream'.length] === CARRIAGE_RETURN ? 2 : 1)
    const before = file.toString('latin1', Math.max(0, at - DICTIONARY_BYTES), at)
    const found = file.indexOf('endstream', from)
    const end = found === -1 ? file.length : found
    const dictionary = before.slice(before.lastIndexOf(' obj'))
    if (!/\/Image\b/.test(dictionary)) {
      const packed = file.subarray(from, end)
      const contents = /\/Fl(?:ateDecode)?\b/.test(dictionary) ? unpacked(packed, left) : packed
      left -= contents.length
      operators += operatorsIn(contents)
    }
    if (operators > operatorsMax)
      throw new UnreadableFile(`it has more than ${operatorsMax} operators: save it as a simpler PDF`)
    at = end === file.length ? end : end + 'endstream'.length
  }
}

/** @throws UnreadableFile for more than `max` bytes. A broken stream is left to the parser. */
function unpacked(packed: Uint8Array, max: number): Uint8Array {
  try {
    const options = { maxOutputLength: Math.max(1, max), finishFlush: constants.Z_SYNC_FLUSH }
    return inflateSync(packed, options)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')) return new Uint8Array()
    throw new UnreadableFile(`it unpacks to more than ${READER_BOUNDS.unpackedBytesMax} bytes`)
  }
}

const CARRIAGE_RETURN = 0x0d
const [SAVE, RESTORE] = [0x71, 0x51]
const OPERATOR_CHARACTERS_MAX = 3

/** Counts short words of letters between blanks, which operators are; a `q` for each that is open, as each costs so much. */
function operatorsIn(contents: Uint8Array): number {
  let [operators, letters, open, last] = [0, 0, 0, 0]
  let isWord = true
  for (const byte of contents) {
    if (byte <= 0x20) {
      if (isWord && letters > 0 && letters <= OPERATOR_CHARACTERS_MAX) operators++
      if (letters === 1 && last === SAVE) operators += open++
      else if (letters === 1 && last === RESTORE) open = Math.max(0, open - 1)
      letters = 0
      isWord = true
    } else {
      isWord &&= ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x7a) || byte === 0x2a
      letters++
    }
    last = byte
  }
  return operators
}

const megabytesBegun = (bytes: number): number => Math.ceil(bytes / 1_048_576)

async function opened(bytes: Uint8Array): Promise<Pdf> {
  try {
    // The parser takes the buffer as its own.
    return await getDocumentProxy(Uint8Array.from(bytes), { verbosity: 0 })
  } catch (error) {
    const name = error instanceof Error ? error.name : ''
    if (name === 'PasswordException') throw new UnreadableFile('an encrypted PDF: save it without a password')
    throw new UnreadableFile('a broken PDF: its structure cannot be read')
  }
}

type Marked = (page: Awaited<ReturnType<Pdf['getPage']>>, all: readonly TurnedText[]) => Promise<readonly TurnedText[]>

async function pageTexts(pdf: Pdf, number: number, marked: Marked) {
  try {
    const page = await pdf.getPage(number)
    const content = await page.getTextContent()
    const written = content.items.flatMap((item): readonly TurnedText[] => {
      if (!('str' in item)) return []
      const [a = 0, b = 0, , , x = 0, y = 0] = item.transform.map(Number)
      const size = Math.hypot(a, b) || item.height
      return [{ text: item.str, x, y, width: item.width, size, quarters: quartersOf(a, b) }]
    })
    const all = await marked(page, written)
    const texts = printedOnce(all.filter(({ text }) => text.trim() !== ''))
    const [left = 0, bottom = 0, right = 612, top = 792] = page.view
    page.cleanup()
    const quarters = mostQuarters(texts)
    const upright = ({ x, y, ...text }: TurnedText): PdfText => ({ ...text, ...turned(x, y, quarters) })
    const [low, high] = [turned(left, bottom, quarters).y, turned(right, top, quarters).y]
    const along = texts.filter((text) => text.quarters === quarters)
    const apart = texts.filter((text) => text.quarters !== quarters || text.standing !== undefined)
    return {
      // What is left out leaves its place, which is no gap between columns.
      along: along.map((text) => upright(text.standing === undefined ? text : { ...text, text: ' ' })),
      apart: apart.map(upright),
      turn: { quarters, bottom: Math.min(low, high), top: Math.max(low, high) },
    }
  } catch {
    throw new UnreadableFile('a broken PDF: the page cannot be read', { page: number })
  }
}

interface TurnedText extends PdfText {
  /** How it is turned, in quarters against the clock; undefined where it stands aslant. */
  readonly quarters: number | undefined
}

const ASLANT_MAX = 0.1

/** @param a, b the first column of the matrix of a text. */
function quartersOf(a: number, b: number): number | undefined {
  const quarters = (Math.atan2(b, a) * 2) / Math.PI
  return Math.abs(quarters - Math.round(quarters)) > ASLANT_MAX ? undefined : (Math.round(quarters) + 4) % 4
}

function mostQuarters(texts: readonly TurnedText[]): number {
  const counts = [0, 0, 0, 0]
  for (const { quarters, text } of texts)
    if (quarters !== undefined) counts[quarters] = (counts[quarters] ?? 0) + text.length
  return counts.indexOf(Math.max(...counts))
}

async function metadataOf(pdf: Pdf): Promise<Map<string, string>> {
  const found = await pdf.getMetadata().catch(() => undefined)
  const entries = Object.entries(found?.info ?? {}).flatMap(([name, value]) =>
    typeof value === 'string' && value.trim() !== '' ? [[name, value.trim()] as const] : [],
  )
  return new Map(entries)
}

const FILE_NAME = /^Microsoft Word|\.(?:docx?|fm|html?|indd|odt|pdf|qxd|rtf|tmp|txt|xml)$/i
const TITLE_CHARACTERS_MAX = 200

function fieldsOf({ tree: { metadata = new Map(), root } }: ReadTree): DocumentFields {
  const stated = metadata.get('Title')
  const isFileName = stated === undefined || FILE_NAME.test(stated)
  const made = /^D:(\d{8})/.exec(metadata.get('CreationDate') ?? metadata.get('ModDate') ?? '')?.[1]
  return {
    title: oneLine(isFileName ? (titleIn(root) ?? stated ?? '') : stated) || undefined,
    language: languageTag(metadata.get('Language')),
    publishedAt: dated(dayIn(made), 'processed'),
  }
}

/** The first heading that is larger than the text; without one, the first line of words. */
function titleIn(root: MarkupElement): string | undefined {
  const all = elementsOf(root)
  const heading = all.find(({ name, attributes }) => name === 'heading' && Number(attributes.get('rank')) < NAMED_RANK)
  const words = all.find((each) => each.name === 'paragraph' && /^[^|]*\p{L}{3,}[^|]*$/u.test(textOf(each) ?? ''))
  return textOf(heading) ?? textOf(words)?.slice(0, TITLE_CHARACTERS_MAX)
}
