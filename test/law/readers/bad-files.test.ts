import { deflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { READER_BOUNDS } from '#law/readers/bounds.ts'
import { createPlaces } from '#law/readers/places.ts'
import { readDocument } from '#law/readers/read.ts'
import { UnreadableFile } from '#law/readers/tree.ts'
import { docxOf, pdfOf, zipOf } from './files.ts'

async function faultOf(bytes: Uint8Array | string, path = 'file'): Promise<Pick<UnreadableFile, 'message' | 'line'>> {
  const error: unknown = await readDocument(path, Buffer.from(bytes)).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (!(error instanceof UnreadableFile)) throw new Error('the file is read', { cause: error })
  return { message: error.message, line: error.line }
}

const HEAD = '<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0">'
const BOMB = `<!DOCTYPE a [<!ENTITY x "xx"><!ENTITY y "&x;&x;">]>\n${HEAD}&y;</akomaNtoso>`

describe('a file that is not read is refused with a sentence and its line', () => {
  test.each([
    ['malformed XML', `${HEAD}\n<act>\n</akomaNtoso>`, 'not well-formed XML: unexpected close tag', 3],
    ['a tag without an end', `${HEAD}\n<act>`, 'not well-formed XML: unclosed tag: act', 2],
    ['an entity bomb', BOMB, 'its document type declares entities', 1],
    ['an entity without a declaration', `${HEAD}\n&nbsp;</akomaNtoso>`, 'not well-formed XML: undefined entity', 2],
    ['an empty file', '', 'the file is empty', 1],
    ['an unknown kind of XML', '<recipe>\n</recipe>', 'no format of law is recognised', 1],
    [
      'an unknown encoding',
      '<?xml version="1.0" encoding="klingon"?><akomaNtoso/>',
      'the encoding "klingon" is not known',
      1,
    ],
    ['a plain text', 'Keep the lamp lit.', 'save it as .md with "#" before each heading', 1, 'law.txt'],
    ['elements that nest too deep', `${HEAD}${'<p>'.repeat(READER_BOUNDS.depthMax)}`, 'elements nested deeper', 1],
  ])('%s', async (_name, bytes, message, line, path = 'file') => {
    const fault = await faultOf(bytes, path)
    expect(fault.message).toContain(message)
    expect(fault.line).toBe(line)
  })

  test('bytes that are not in the encoding of the file', async () => {
    const bytes = Buffer.concat([
      Buffer.from(`${HEAD}\n<act>\n<p>`),
      Buffer.from([0xe9, 0x20]),
      Buffer.from('</p></act></akomaNtoso>'),
    ])
    expect(await faultOf(bytes)).toEqual({ message: 'the bytes are not in its encoding utf-8', line: 3 })
  })

  test('bytes in UTF-8 that are stated to be in an older encoding, which would be read without a fault', async () => {
    const stated = `<?xml version="1.0" encoding="ISO-8859-1"?>${HEAD}<act><p>Règle</p></act></akomaNtoso>`
    expect(await faultOf(stated)).toMatchObject({ message: expect.stringContaining('its bytes are UTF-8'), line: 1 })
    const page = '<!doctype html><html><head><meta charset="windows-1252"></head><body><h1>Règle</h1></body></html>'
    expect((await faultOf(page)).message).toContain('it states the encoding windows-1252')
    expect((await readDocument('file', Buffer.from(page.replace('è', '\u00E8'), 'latin1'))).provisions).toHaveLength(2)
  })

  test('an Office file from before DOCX, or an encrypted one', async () => {
    const fault = await faultOf(Buffer.from('d0cf11e0a1b11ae1', 'hex'))
    expect(fault.message).toBe('an old or an encrypted Office file: save it as DOCX, without a password')
  })

  test('a text of more characters than a node may have', async () => {
    const fault = await faultOf(`${HEAD}<p>${'a'.repeat(READER_BOUNDS.nodeCharactersMax + 1)}</p></akomaNtoso>`)
    expect(fault.message).toContain(`a text of more than ${READER_BOUNDS.nodeCharactersMax} characters`)
  })

  test('a file of more bytes than a reader takes', async () => {
    expect((await faultOf(new Uint8Array(READER_BOUNDS.fileBytesMax + 1))).message).toContain(
      'split it into several files',
    )
  })

  test('a ZIP file that unpacks without end, one that is no Word document, and a torn one', async () => {
    const bomb = zipOf({ 'word/document.xml': Buffer.alloc(READER_BOUNDS.unpackedBytesMax + 1) })
    expect((await faultOf(bomb)).message).toContain('its parts unpack to more than')
    const parts = Object.fromEntries(
      Array.from({ length: READER_BOUNDS.unpackedPartsMax + 1 }, (_, part) => [part, '']),
    )
    expect((await faultOf(zipOf(parts))).message).toContain('a ZIP file of more than 4096 parts')
    expect((await faultOf(zipOf({ 'a.txt': 'text' }))).message).toBe('a ZIP file that is no Word document')
    expect((await faultOf(docxOf('').subarray(0, 200))).message).toContain('a broken ZIP file')
  })

  test('a PDF that asks for a password', async () => {
    const trailer = `/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <${'41'.repeat(32)}> /U <${'42'.repeat(32)}> >> /ID [<41><41>]`
    const plain = pdfOf([[{ text: 'Secret.', y: 700 }]]).toString('latin1')
    const encrypted = Buffer.from(plain.replace('trailer\n<< ', `trailer\n<< ${trailer} `), 'latin1')
    expect((await faultOf(encrypted)).message).toBe('an encrypted PDF: save it without a password')
  })

  test('a broken PDF, and one without text', async () => {
    expect((await faultOf('%PDF-1.4\nnothing')).message).toContain('a broken PDF')
    expect((await faultOf(pdfOf([[]]))).message).toContain('a scan without a text layer')
  })
})

test('a date that is no day, or may be two, is warned of with its line; an end that is no day refuses the file', async () => {
  const dated = (work: string, end = ''): string =>
    `${HEAD}\n<act><meta><identification><FRBRWork>\n<FRBRdate date="${work}" name="x"/></FRBRWork></identification>` +
    `<lifecycle><eventRef type="generation" date="9999-12-31"/>${end}</lifecycle></meta>` +
    '<body><section><num>1</num><content><p>Samples.</p></content></section></body></act></akomaNtoso>'
  for (const date of ['2024-04-31', '02/03/2024', '0000-01-01', '2023-02-29']) {
    const { warnings, fields } = await readDocument('file', Buffer.from(dated(date)))
    expect(warnings).toEqual([{ message: `the date "${date}" is not read: state the day as YYYY-MM-DD`, line: 3 }])
    expect(fields.publishedAt).toBe(undefined)
  }
  expect((await readDocument('file', Buffer.from(dated('2024-02-29')))).warnings).toEqual([])
  const ended = dated('2024-02-29', '\n<eventRef type="repeal" date="2024-04-31"/>')
  const message = 'it states the end "2024-04-31", which is no day: state it as YYYY-MM-DD'
  expect(await faultOf(ended)).toEqual({ message, line: 4 })
  expect((await faultOf('---\ntitle: T\neffective_to: 31 April 2024\n---\n# Rule\n\nSamples.\n')).message).toContain(
    'it states the end "31 April 2024"',
  )
})

test('an element of more parts than a call takes arguments, and the longest text in one node, are read in linear time', async () => {
  const section = (text: string): string =>
    `${HEAD}<act><body><section><num>1</num><content><p>${text}</p></content></section></body></act></akomaNtoso>`
  const words = 'word '.repeat(READER_BOUNDS.nodeCharactersMax / 8)
  const began = process.cpuUsage()
  await readDocument('file', Buffer.from(section(`Samples.${'<br/>'.repeat(200_000)}`)))
  const read = await readDocument('file', Buffer.from(section(words)))
  const [provision] = read.provisions.filter(({ text }) => text !== undefined)
  if (provision === undefined) throw new Error('no provision')
  const place = createPlaces(read)(provision)
  for (let at = 4_000; at < words.length; at += 4_000) expect(place(at, at + 4_000).prefix).toMatch(/word $/)
  expect(process.cpuUsage(began).user / 1_000).toBeLessThan(5_000)
})

/** Of each kind so many, that comparing each with all others would take tens of seconds. */
const MANY = Array.from({ length: 10_000 }, (_, at) => at + 1)

test.each([
  [
    'links before the headings of a page',
    `<!doctype html><html lang="en"><title>Bees</title><body><h1>Bees</h1>${'<a href="#x">to</a>'.repeat(MANY.length)}` +
      `${MANY.map((at) => `<h2>§ ${at}</h2><p>Keep bees.</p>`).join('')}</body></html>`,
    MANY.length,
  ],
  [
    'notes of a norm',
    '<dokumente><norm><metadaten><jurabk>BG</jurabk></metadaten></norm><norm><metadaten><enbez>§ 1</enbez></metadaten>' +
      `<textdaten><text><Content><P>${MANY.map((at) => `Bees<FnR ID="F${at}"/> `).join('')}</P></Content><Footnotes>` +
      `${MANY.map((at) => `<Footnote ID="F${at}">All.</Footnote>`).join('')}</Footnotes></text></textdaten></norm></dokumente>`,
    1,
  ],
  [
    'items of a numbered list',
    `<!doctype html><html lang="en"><title>Bees</title><body><h1>Bees</h1><h2>§ 1</h2><ol>` +
      `${'<li>Keep bees.</li>'.repeat(3 * MANY.length)}</ol><h2>§ 2</h2><p>All.</p>`,
    2,
  ],
])('many %s are read in linear time', async (_name, file, provisions) => {
  const began = process.cpuUsage()
  const read = await readDocument('file', Buffer.from(file))
  expect(read.provisions.filter(({ kind, text }) => kind === 'section' && text !== undefined)).toHaveLength(provisions)
  expect(process.cpuUsage(began).user / 1_000).toBeLessThan(5_000)
})

test('a byte order mark, UTF-16 and line ends of Windows change nothing', async () => {
  const text = `${HEAD}\r\n<act><body><section eId="s"><num>1</num>\r\n<content><p>Samples.</p></content></section></body></act></akomaNtoso>`
  const utf16 = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(text, 'utf16le')])
  for (const bytes of [Buffer.from(text), Buffer.from(`\uFEFF${text}`), utf16]) {
    const { provisions, coverage } = await readDocument('file', bytes)
    expect(provisions.map((each) => each.text)).toContain('Samples.')
    expect(coverage.uncovered).toBe(0)
  }
})

/** A PDF of one page with these contents, packed. */
function packedPdf(contents: string): Buffer {
  const packed = deflateSync(contents)
  const parts = [
    '%PDF-1.4\n1 0 obj\n<< /Type /Catalog /Pages 2 0 R >>\nendobj\n2 0 obj\n<< /Type /Pages /Kids [3 0 R] /Count 1 >>\nendobj\n' +
      '3 0 obj\n<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>\nendobj\n' +
      '5 0 obj\n<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>\nendobj\n' +
      `4 0 obj\n<< /Length ${packed.length} /Filter /FlateDecode >>\nstream\n`,
    packed,
    '\nendstream\nendobj\ntrailer\n<< /Size 6 /Root 1 0 R >>\n%%EOF\n',
  ]
  return Buffer.concat(parts.map((part) => Buffer.from(part)))
}

test('a PDF that unpacks to too much, or takes too long, ends in a sentence; one that is packed alike is read', async () => {
  const text = 'BT /F1 11 Tf 1 0 0 1 72 700 Tm (Keep bees.) Tj ET\n'
  const faultIn = async (contents: string): Promise<unknown> =>
    readDocument('a.pdf', packedPdf(contents)).catch((error: unknown) => error)
  const { provisions } = await readDocument('a.pdf', packedPdf(text))
  expect(provisions.map((each) => each.text).join('')).toContain('Keep bees.')
  const began = process.cpuUsage()
  expect(await faultIn(text + ' '.repeat(READER_BOUNDS.unpackedBytesMax))).toMatchObject({
    message: expect.stringContaining('it unpacks to more than'),
  })
  expect(await faultIn(text + 'q\n'.repeat(5_000_000))).toMatchObject({
    message: expect.stringContaining('it has more than 1000000 operators'),
  })
  // Each state of graphics that is left open adds to the cost of the next.
  expect(await faultIn(text + 'q '.repeat(8_000))).toMatchObject({
    message: expect.stringContaining('it has more than 1000000 operators'),
  })
  expect(
    (await readDocument('a.pdf', packedPdf(`${'q '.repeat(30)}${text}${'q Q '.repeat(8_000)}`))).provisions,
  ).toEqual(provisions)
  expect(process.cpuUsage(began).user / 1_000).toBeLessThan(15_000)
})
