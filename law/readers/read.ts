import { open } from 'node:fs/promises'
import { AKOMA_NTOSO } from './akoma-ntoso.ts'
import { READER_BOUNDS } from './bounds.ts'
import { CFR } from './cfr.ts'
import { CLML } from './clml.ts'
import { coverageOf, type Coverage } from './coverage.ts'
import { aroundOf } from './document.ts'
import type { DocumentFields, Omitted, Provision, ReaderFormat, ReaderLoss, ReaderWarning } from './document.ts'
import { DOCX } from './docx.ts'
import { ECFR } from './ecfr.ts'
import { EUR_LEX } from './eur-lex.ts'
import { FORMEX } from './formex.ts'
import { dayIn, type MarkupFormat, type Probe } from './format.ts'
import { GII_NORM } from './gii-norm.ts'
import { HTML } from './html-page.ts'
import { MARKDOWN } from './markdown.ts'
import { PDF } from './pdf.ts'
import { provisionName } from './provision-marks.ts'
import { REGML } from './regml.ts'
import { beginsGone, saysGone, saysNoForce } from './standing.ts'
import { UnreadableFile, descendants, textOf, type MarkupElement, type MarkupTree } from './tree.ts'
import { USLM } from './uslm.ts'
import { markStanding } from './vocabulary.ts'
import { walk } from './walk.ts'
import { parseXml } from './xml.ts'

/** The formats in the order in which they are tried. */
const FORMATS: readonly MarkupFormat[] = [
  AKOMA_NTOSO,
  USLM,
  CLML,
  REGML,
  ECFR,
  CFR,
  FORMEX,
  GII_NORM,
  EUR_LEX,
  HTML,
  PDF,
  DOCX,
  MARKDOWN,
]

export interface ReadDocument {
  readonly format: ReaderFormat
  readonly fields: DocumentFields
  readonly provisions: readonly Provision[]
  readonly omitted: readonly Omitted[]
  readonly tree: Pick<MarkupTree, 'texts' | 'decoded' | 'bytesBefore' | 'metadata'>
  readonly coverage: Coverage
  readonly warnings: readonly ReaderWarning[]
  /** What it states and the reader does not understand. */
  readonly losses: readonly ReaderLoss[]
  readonly cite: (provision: Provision) => ReturnType<MarkupFormat['cite']>
}

/**
 * Reads a file in the format that its content shows.
 * @throws UnreadableFile with a sentence, and the line where there is one.
 */
export async function readDocument(path: string, bytes: Uint8Array): Promise<ReadDocument> {
  return await readMarkup(formatOf(path, bytes), path, bytes)
}

/** Returns the format that the content of a file shows; undefined for one of no format of law. */
export function recognised(path: string, bytes: Uint8Array): ReaderFormat | undefined {
  const probe = probeOf(path, bytes)
  return FORMATS.find((each) => each.recognises(probe))?.format
}

/** Parses a file again, as `readDocument` does, without reading it. @throws UnreadableFile as it does. */
export async function parseDocument(path: string, bytes: Uint8Array): Promise<MarkupTree> {
  return await formatOf(path, bytes).parse(bytes, path)
}

/** First bytes of Compound File Binary: Office files before DOCX, and encrypted ones. */
const OLD_OFFICE = [0xd0, 0xcf, 0x11, 0xe0]

/** What to do with a file that has no format of law, by the ending of its name. */
const HINTS = [
  ['.jsonl', 'records of JSONL, of which "operator import init FOLDER" proposes how they become passages'],
  ['.txt', 'plain text, which marks no provisions: save it as .md with "#" before each heading'],
] as const

function formatOf(path: string, bytes: Uint8Array): MarkupFormat {
  if (bytes.length === 0) throw new UnreadableFile('the file is empty', { line: 1 })
  if (bytes.length > READER_BOUNDS.fileBytesMax)
    throw new UnreadableFile(`larger than ${READER_BOUNDS.fileBytesMax} bytes: split it into several files`)
  const probe = probeOf(path, bytes)
  const format = FORMATS.find((each) => each.recognises(probe))
  if (format !== undefined) return format
  if (probe.kind === 'xml') parseXml(bytes)
  if (OLD_OFFICE.every((byte, at) => bytes[at] === byte))
    throw new UnreadableFile('an old or an encrypted Office file: save it as DOCX, without a password')
  const why = HINTS.find(([ending]) => path.endsWith(ending))?.[1]
  const tag = `no format of law is recognised (first tag: ${probe.root.slice(0, 40) || 'none'})`
  throw new UnreadableFile(why ?? tag, { line: 1 })
}

async function readMarkup(format: MarkupFormat, path: string, bytes: Uint8Array): Promise<ReadDocument> {
  const tree = await format.parse(bytes, path)
  const read = { tree, path }
  const vocabulary = format.vocabulary?.(read)
  const unknown = vocabulary === undefined ? [] : markStanding(tree.root, vocabulary)
  const walked = walk(tree.root, format.roles(read), vocabulary?.changeOf)
  const { omitted } = walked
  const provisions = walked.provisions.map(withLabel)
  const fields = format.fields(read)
  return {
    format: format.format,
    fields,
    provisions,
    omitted,
    tree,
    coverage: coverageOf(tree, provisions, omitted),
    warnings: [...(format.warnings?.(read) ?? []), ...unreadDates(tree.root)],
    losses: counted([
      ...unknown,
      ...walked.losses,
      ...(format.losses?.(read) ?? []),
      ...unmarked(format.format, provisions, fields.title ?? ''),
    ]),
    cite: (provision) => format.cite({ ...provision, around: aroundOf(provision, provisions) }, fields),
  }
}

/** One loss for each name. */
function counted(losses: readonly ReaderLoss[]): readonly ReaderLoss[] {
  const names = new Map(losses.map((each) => [each.name, { ...each, count: 0 }]))
  for (const { name, count, line } of losses.toReversed()) {
    names.set(name, { name, count: count + (names.get(name)?.count ?? 0), line })
  }
  return [...names.values()]
}

/** Kinds that hold provisions, or stand beside them. */
const NO_PROVISIONS = /^(?:document|act|heading|division|part|chapter|title|preamble|preface|introduction|notes?|body)$/
const UNMARKED_CHARACTERS_MAX = 20_000

/** A long text in which nothing names a provision is no reading of an act, nor is one that says that it is gone. */
function unmarked(format: ReaderFormat, provisions: readonly Provision[], title: string): readonly ReaderLoss[] {
  const written = provisions.filter(({ text }) => text !== undefined)
  const whole = (name: string): ReaderLoss => ({ name, count: 1, line: 1 })
  const isShell =
    format === 'eur-lex' && !written.some(({ kind }) => /^(?:article|recital|annex|correction)$/.test(kind))
  if (isShell) return [whole('page of an act without a provision')]
  const titled = saysGone(title) && written.length > 0 ? [whole('title that says the act is gone')] : []
  const found = written.flatMap(({ kind, standing, label, heading, path, text = '', line }) => {
    // The heading may be the text; a source in brackets is none.
    const isText = standing === undefined && !saysNoForce(text) && !/^\[[^[\]]*\]$/.test(text)
    const isGone = path.some(saysGone) || (saysGone(`${label} ${heading}`) && !text.includes(heading || label))
    const begins = standing === undefined && beginsGone(text, NO_PROVISIONS.test(kind))
    const names = [
      /[\u0335-\u0338]/.test(text) && 'struck characters',
      isGone && isText && 'text below a heading that says it is gone',
      begins && 'text below a line that says it is gone',
    ]
    return names.flatMap((name) => (name === false ? [] : { name, count: 1, line }))
  })
  const said = [...titled, ...found]
  const length = written.reduce((sum, { text = '' }) => sum + text.length, 0)
  if (length <= UNMARKED_CHARACTERS_MAX) return said
  if (written.some(({ kind, label }) => label !== '' || !NO_PROVISIONS.test(kind))) return said
  return [...said, whole(`no mark of a provision in more than ${UNMARKED_CHARACTERS_MAX} characters`)]
}

/** Reads the whole of a file, if it is not larger than a reader takes. */
export async function readBytes(path: string): Promise<Uint8Array> {
  await using file = await open(path, 'r')
  const { size } = await file.stat()
  if (size > READER_BOUNDS.fileBytesMax)
    throw new UnreadableFile(`larger than ${READER_BOUNDS.fileBytesMax} bytes: split it into several files`)
  return await file.readFile()
}

const NUMBER =
  /^(?:\([Xx-]+\)\s*)?((?:§§?|Art(?:ikel|icle)?\.?|Section|SECTION|SEC\.|Sec\.|Anlage|Annex|ANNEX|Anhang|Appendix|Schedule|SCHEDULE|Chapter|CHAPTER|Part|PART|Rule)\s*[\dIVXLC]+[\d.–-]*\s?[a-z]?(?![\p{L}])(?:\s(?:bis|und|to|and)\s\d+\s?[a-z]?(?![\p{L}]))?[⁰¹²³⁴-⁹]*|\d+(?:\.\d+)*(?:[A-Z]{1,3}(?=[.\s]))?\.{0,2}(?=\s))[.:—–-]?\s*/u

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹'

/** `§ 40<sup>1</sup>` is another number than `§ 401`. */
function withSuperscripts(heading: string): string {
  return heading.replaceAll(/(?<=\d)<sup>\s*(\d{1,3})\s*<\/sup>/g, (_, digits: string) =>
    Array.from(digits, (digit) => SUPERSCRIPTS[Number(digit)]).join(''),
  )
}

/** A heading that begins with a number gives the label too. */
function withLabel(read: Provision): Provision {
  const provision = { ...read, heading: withSuperscripts(read.heading) }
  if (provision.label !== '') return provision
  const [all = '', label = ''] = NUMBER.exec(provision.heading) ?? []
  const short = label.replace(/[.:\s]+$/u, '')
  // `Article 15 bis`, `Article L. 412-3`, `2 a §`
  const named = provisionName(provision.heading)
  if (named !== undefined && named.label.length > short.length) return { ...provision, ...named }
  return { ...provision, label: short, heading: provision.heading.slice(all.length).trim() }
}

const DATE_NAME = /date|^(?:start|end|valid|from|until)$/i
/** A whole date in numbers. One that begins with 9999 is open. In an attribute the day may come first. */
const DATE = /^\s*(?!9999)(?:\d{4}-\d{2}-\d{2}|\d{8}\s*$)/
const DAY_FIRST = /^\s*\d{1,2}[./-]\d{1,2}[./-]\d{4}\s*$/

/** Warns of dates that a file states and that are no day, such as 31 April, or may be two, such as 02/03/2024. */
function unreadDates(root: MarkupElement): readonly ReaderWarning[] {
  const warnings: ReaderWarning[] = []
  for (const element of descendants(root)) {
    for (const written of datesOf(element)) {
      if (dayIn(written) !== undefined) continue
      const { line } = element
      warnings.push({ message: `the date "${written.trim()}" is not read: state the day as YYYY-MM-DD`, line })
      if (warnings.length >= READER_BOUNDS.warningsMax) return warnings
    }
  }
  return warnings
}

function datesOf(element: MarkupElement): readonly string[] {
  const written: string[] = []
  for (const [name, value] of element.attributes)
    if (DATE_NAME.test(name) && (DATE.test(value) || DAY_FIRST.test(value))) written.push(value)
  const isDate = DATE_NAME.test(element.name) && element.children.every(({ kind }) => kind === 'text')
  const text = isDate ? textOf(element) : undefined
  if (text !== undefined && DATE.test(text)) written.push(text)
  return written
}

/** Looks at the first bytes of a file. Nothing is decided by its name. */
function probeOf(path: string, bytes: Uint8Array): Probe {
  const start = Buffer.from(bytes.subarray(0, READER_BOUNDS.probeBytes))
  const head = headOf(start)
  const none = { path, root: '', tag: '', head }
  if (start.subarray(0, 1024).includes('%PDF-')) return { ...none, kind: 'pdf' }
  if (start[0] === 0x50 && start[1] === 0x4b) return { ...none, kind: 'zip' }
  const tag = firstTag(head)
  if (tag === undefined) return { ...none, kind: 'text' }
  const root = /^<(?:[\w.-]+:)?([\w.-]+)/.exec(tag)?.[1] ?? ''
  const isHtml = /^html$/i.test(root) || (/<!doctype html/i.test(head.slice(0, 1_000)) && !head.startsWith('<?xml'))
  return { path, root, tag, head, kind: isHtml || HTML_ROOT.test(root) ? 'html' : 'xml' }
}

const HTML_ROOT = /^(?:html|head|body|meta|div|p|h1|main)$/i

function headOf(start: Buffer): string {
  const mark = start.toString('latin1', 0, 2)
  return new TextDecoder(mark === 'ÿþ' ? 'utf-16le' : mark === 'þÿ' ? 'utf-16be' : 'utf-8').decode(start)
}

/** The first start tag, after declarations, comments and a document type; undefined where text comes first. */
function firstTag(head: string): string | undefined {
  let from = 0
  for (const [part] of head.matchAll(PROLOGUE)) from += part.length
  if (!/^<[^!?]/.test(head.slice(from, from + 2))) return undefined
  const end = head.indexOf('>', from)
  return head.slice(from, end === -1 ? undefined : end + 1)
}

const PROLOGUE = /\s+|<!--[^]*?-->|<\?[^]*?\?>|<!(?!--)[^>]*>|\][^>]*>/gy
