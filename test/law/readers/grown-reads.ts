import { readDocument } from '#law/readers/read.ts'
import { UnreadableFile } from '#law/readers/tree.ts'
import { docxOf, paragraph, pdfOf, zipOf } from './files.ts'
import { ONE_OF_EACH } from './samples.ts'

/** Reads files of every format that repeat one thing, and prints the names of those that cost too much, as JSON. */
const BYTES = 8_192
const GROWTH = 8
/** Of processor time: linear cost grows by 8, quadratic by 64. A shorter time than the second counts as that. */
const GROWTH_MAX = 24
const NOISE_MS = 8
const ATTEMPTS_MAX = 8
/** 5 s a MB. */
const MS_MAX = (5_000 * GROWTH * BYTES) / 2 ** 20

const times = (unit: string, bytes: number): string => unit.repeat(Math.max(1, Math.floor(bytes / unit.length)))
const numbered = (unit: (at: number) => string, bytes: number): string =>
  Array.from({ length: Math.floor(bytes / unit(9_999).length) }, (_, at) => unit(at)).join('')

/** An element of a sample that holds nothing but words. */
const LEAF = /<([\w.:-]+)(?:\s[^<>]*)?>[^<>]*\p{L}[^<>]* [^<>]*<\/\1>/gu
/** What stands for the last such element of a file: it, what it holds or what holds it is repeated. */
const KINDS: Readonly<Record<string, (leaf: string, tag: string, bytes: number) => string>> = {
  elements: (leaf, _, bytes) => times(leaf, bytes),
  ids: (_, tag, bytes) => numbered((at) => `<${tag} id="i${at}" eId="e${at}">a word</${tag}>`, bytes),
  'one text': (_, tag, bytes) => `<${tag}>${times('a word. ', bytes)}</${tag}>`,
  'small nodes': (_, tag, bytes) => `<${tag}>${times('a<b/><!-- a --><?a b?>&#228; ', bytes)}</${tag}>`,
  attributes: (_, tag, bytes) => `<${tag} ${numbered((at) => `a${at}="b" `, bytes)}>a word</${tag}>`,
  'one attribute': (_, tag, bytes) => `<${tag} class="${times('a ', bytes)}">a word</${tag}>`,
  nests: (_, tag, bytes) => `${times(`<${tag}>`, bytes / 2)}a word${times(`</${tag}>`, bytes / 2)}`,
  'shallow nests': (_, tag, bytes) => times(`<${tag}>${'<i>'.repeat(40)}a${'</i>'.repeat(40)}</${tag}>`, bytes),
  'list items': (_, tag, bytes) => `<ol>${times('<li>a word</li>', bytes)}</ol><${tag}>a</${tag}>`,
  cells: (_, tag, bytes) => `<table><tr>${times('<td>a</td>', bytes)}</tr></table><${tag}>a</${tag}>`,
}
const LINES = ['disposiciones emitidas ', 'disposición a', '**Art. 1**', 'Artículo 2 bis ', '* modificado ', '§ 1 a ']
const RUN = '<w:r><w:t>a</w:t></w:r>'
const WORD = [
  paragraph('A word.'),
  paragraph('Section 1', 'H2'),
  '<w:r><w:footnoteReference w:id="1"/></w:r>',
  `<w:r><w:rPr><w:color w:val="ff0000"/></w:rPr>${RUN}</w:r>`,
  RUN,
  `<w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>${RUN}</w:p>`,
  `<w:tbl><w:tr><w:tc>${paragraph('a')}</w:tc></w:tr></w:tbl>`,
]
const DRAWN = [
  'q Q ',
  'q ',
  '1 1 m 2 2 l S ',
  '1 1 2 2 re f ',
  '/F1 9 Tf ',
  'BT /F1 9 Tf [(a) 1 (b) 2] TJ ET ',
  '[',
  '(',
]

/** A file of about so many bytes, by its name. */
function* grown(): Generator<readonly [string, (bytes: number) => Uint8Array]> {
  for (const { name, bytes } of ONE_OF_EACH) {
    const text = Buffer.from(bytes).toString('utf8')
    const [leaf, tag = ''] = [...text.matchAll(LEAF)].at(-1) ?? []
    if (!text.startsWith('<') || leaf === undefined) continue
    const [before, after] = [text.slice(0, text.lastIndexOf(leaf)), text.slice(text.lastIndexOf(leaf) + leaf.length)]
    for (const [kind, grow] of Object.entries(KINDS))
      yield [`${name}: ${kind}`, (size) => Buffer.from(before + grow(leaf, tag, size) + after)]
  }
  for (const unit of LINES)
    yield [`Markdown: ${unit}`, (bytes) => Buffer.from(`# A\n\nArtículo 1.\n\nArtículo 2.\n\n${times(unit, bytes)};\n`)]
  for (const unit of WORD) {
    const whole = (bytes: number): string =>
      unit.startsWith('<w:r>') ? `<w:p>${times(unit, bytes)}</w:p>` : times(unit, bytes)
    yield [`Word: ${unit}`, (bytes) => docxOf(`${paragraph('Law', 'H1')}${whole(bytes)}`, { 1: 'A note.' })]
  }
  yield ['Word: bomb', (bytes) => zipOf({ 'word/document.xml': Buffer.alloc(bytes * 400), '[Content_Types].xml': 'a' })]
  for (const unit of DRAWN)
    yield [`PDF: ${unit}`, (bytes) => pdfOf([[{ text: 'A word.', y: 700, after: times(unit, bytes) }]])]
  const line = (_: unknown, at: number) => ({ text: `word ${at}`, y: 760 - at / 100 })
  yield ['PDF: lines', (bytes) => pdfOf([Array.from({ length: bytes / 80 }, line)])]
}

/** @returns the processor time of a read; a file may be refused with a sentence. */
async function costMs(bytes: Uint8Array): Promise<number> {
  const before = process.cpuUsage()
  await readDocument('law', bytes).catch((error: unknown) => {
    if (!(error instanceof UnreadableFile) || error.message === '') throw error
  })
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

let files = 0
const slow: string[] = []
for (const [name, grow] of grown()) {
  const [short, long] = [grow(BYTES), grow(BYTES * GROWTH)]
  let [shortMs, longMs] = [NOISE_MS, Infinity]
  // Other load on the machine adds to a time.
  for (let attempt = 1; longMs > Math.min(GROWTH_MAX * shortMs, MS_MAX) && attempt <= ATTEMPTS_MAX; attempt++) {
    longMs = Math.min(longMs, await costMs(long))
    if (longMs <= GROWTH_MAX * NOISE_MS) break
    const againMs = await costMs(short)
    shortMs = Math.max(NOISE_MS, attempt === 1 ? againMs : Math.min(shortMs, againMs))
  }
  files++
  if (longMs > Math.min(GROWTH_MAX * shortMs, MS_MAX)) slow.push(`${name}: ${shortMs} to ${longMs} ms`)
}
process.stdout.write(JSON.stringify({ files, slow, megabytes: process.resourceUsage().maxRSS / 1_024 }))
