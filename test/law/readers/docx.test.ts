import { expect, test } from 'vitest'
import { readDocument } from '#law/readers/read.ts'
import { docxOf, paragraph, zipOf } from './files.ts'
import CASES from './samples/word-cases.json' with { type: 'json' }
import { unpacked } from '#law/readers/zip.ts'

const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'

/** @param levels `[format, text, rest]` of each level of the list, whose first is that of the style `heading 1`. */
async function documentOf(body: string, levels: readonly (readonly string[])[] = []): Promise<readonly string[]> {
  const parts = Object.fromEntries(unpacked(docxOf(body), () => true))
  const written = levels.map(
    ([format, text, rest = ''], at) =>
      `<w:lvl w:ilvl="${at}"><w:start w:val="1"/>${rest}<w:numFmt w:val="${format}"/>${at === 0 ? '<w:pStyle w:val="H1"/>' : ''}<w:lvlText w:val="${text}"/></w:lvl>`,
  )
  const numbering = `<w:numbering xmlns:w="${WORD}"><w:abstractNum w:abstractNumId="7">${written.join('')}</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="7"/><w:lvlOverride w:ilvl="2"><w:startOverride w:val="1"/></w:lvlOverride></w:num></w:numbering>`
  const styles = String(parts['word/styles.xml']).replace(
    '<w:name w:val="heading 1"/>',
    '$&<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr>',
  )
  const read = await readDocument(
    'a-file',
    zipOf({
      ...parts,
      'word/numbering.xml': numbering,
      'word/styles.xml': levels.length > 0 ? styles : (parts['word/styles.xml'] ?? ''),
    }),
  )
  expect(read.coverage.remainder).toEqual([])
  expect(read.warnings).toEqual([])
  return read.provisions.flatMap(({ label, heading, text }) => [`${label} ${heading}: ${text ?? ''}`.trim()])
}

const listed = (text: string, level: number, list = 1, rest = ''): string =>
  `<w:p><w:pPr><w:numPr><w:ilvl w:val="${level}"/><w:numId w:val="${list}"/></w:numPr>${rest}</w:pPr><w:r><w:t>${text}</w:t></w:r></w:p>`

test('numbers that Word counts stand in headings and before their paragraphs, as their lists write them', async () => {
  const levels = [
    ['decimal', 'Article %1'],
    ['decimal', '%1.%2', '<w:lvlRestart w:val="0"/>'],
    ['lowerLetter', '(%3)'],
    ['lowerRoman', '%4.'],
    ['bullet', ''],
  ]
  const deleted = '<w:rPr><w:del w:id="1"/></w:rPr>'
  const body = [
    paragraph('Scope', 'H1'),
    listed('It applies to:', 1),
    listed('bees;', 2),
    listed('hives:', 2),
    listed('new', 3),
    listed('in wood', 4),
    listed('honey.', 2, 2),
    paragraph('Fees', 'H1'),
    listed('Ten', 1, 1, deleted),
    listed(' is the fee.', 1),
    listed('It is paid.', 0, 0),
  ]
  expect(await documentOf(body.join(''), levels)).toEqual(
    [
      ': ',
      'Article 1 Scope: 1.1 It applies to:\n\n(a) bees;\n\n(b) hives:\n\ni. new\n\n• in wood\n\n(a) honey.',
      'Article 2 Fees: 2.2 Ten is the fee.\n\nIt is paid.',
    ].map((each) => each.trim()),
  )
})

test('a text box is read and counted once, though the file has it twice', async () => {
  const mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
  const box = `<w:txbxContent>${listed('one', 1)}</w:txbxContent>`
  const both = `<w:p><w:r><mc:AlternateContent ${mc}><mc:Choice Requires="wps">${box}</mc:Choice><mc:Fallback><w:pict>${box}</w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>`
  const levels = [
    ['decimal', '%1.'],
    ['decimal', '%2)'],
  ]
  expect((await documentOf(`${both}${listed('two', 1)}`, levels)).join('')).toContain('1) one\n\n2) two')
})

test('text of a field is read, and what a change moves or deletes is read where it stands after the change', async () => {
  const run = (text: string, name = 't'): string => `<w:r><w:${name}>${text}</w:${name}></w:r>`
  const body = `<w:p><w:del w:id="1">${run('Old', 'delText')}</w:del><w:ins w:id="2">${run('New')}</w:ins>${run(' rule ')}<w:fldSimple w:instr="REF a">${run('5')}</w:fldSimple><w:moveFrom w:id="3">${run('moved')}</w:moveFrom></w:p><w:p><w:moveTo w:id="4">${run('moved')}</w:moveTo></w:p>`
  expect(await documentOf(body)).toEqual([': New rule 5\n\nmoved'])
  const ruby =
    '<w:p><w:r><w:ruby><w:rt><w:r><w:t>ho</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>法</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>'
  expect(await documentOf(ruby)).toEqual([': 法'])
})

test('a paragraph that only names a provision begins it, also without a style', async () => {
  const body = ['Article 1', 'Bees are counted.', 'Article 2a', 'As Article 1 says.'].map((text) => paragraph(text))
  expect(await documentOf(body.join(''))).toEqual([
    ':',
    'Article 1 : Bees are counted.',
    'Article 2a : As Article 1 says.',
  ])
})

test.each(Object.entries(CASES.joined))('a paragraph without its end joins one: %s', async (body, read) => {
  expect(await documentOf(body)).toEqual(read)
})

test('a table of contents, comments and heads of pages are omitted by their rules', async () => {
  const parts = Object.fromEntries(unpacked(docxOf(paragraph('Fees 3', 'H2') + paragraph('Ten.')), () => true))
  const styles = String(parts['word/styles.xml']).replace('heading 2', 'toc 2')
  const part = (name: string): string => `<w:${name} xmlns:w="${WORD}">${paragraph('Repealed')}</w:${name}>`
  const beside = { 'word/comments.xml': part('comments'), 'word/header1.xml': part('hdr') }
  const read = await readDocument('a-file', zipOf({ ...parts, ...beside, 'word/styles.xml': styles }))
  expect(read.provisions.map(({ text }) => text)).toEqual(['Ten.'])
  const rules = ['table of contents', 'comment of an editor', 'running head or page number']
  expect(read.omitted.map(({ rule }) => rule)).toEqual(rules)
})

const run = (text: string, properties = ''): string =>
  `<w:r><w:rPr>${properties}</w:rPr><w:t xml:space="preserve">${text}</w:t></w:r>`
const STYLES = `<w:style w:type="character" w:styleId="Gone"><w:name w:val="Gone"/><w:basedOn w:val="Base"/></w:style><w:style w:type="character" w:styleId="Base"><w:name w:val="Base"/><w:rPr><w:strike/></w:rPr></w:style><w:style w:type="paragraph" w:styleId="Draft"><w:name w:val="Draft"/><w:rPr><w:vanish/></w:rPr></w:style>`

async function styledDocument(body: string, own: string = STYLES): Promise<Awaited<ReturnType<typeof readDocument>>> {
  const parts = Object.fromEntries(
    unpacked(docxOf(body, { 2: `Note </w:t></w:r>${run('gone', '<w:strike/>')}<w:r><w:t>kept` }), () => true),
  )
  const styles = String(parts['word/styles.xml']).replace('</w:styles>', `${own}</w:styles>`)
  return await readDocument('a-file', zipOf({ ...parts, 'word/styles.xml': styles }))
}

test.each(CASES.styles)('a style of a %s with %s strikes, hides or is a loss: %s', async (...given) => {
  const [type, properties, body = '', loss] = given
  const style = `<w:style w:type="${type}" w:styleId="S"><w:name w:val="S"/>${properties}</w:style>`
  const { provisions, losses } = await styledDocument(body, style)
  expect(losses.map(({ name }) => name)).toEqual(loss === undefined ? [] : [loss])
  expect(provisions.some(({ text }) => text?.includes('gone') === true)).toBe(loss !== undefined)
})

test.each([
  run('gone ', '<w:strike/>'),
  run('gone ', '<w:dstrike w:val="true"/>'),
  run('gone ', '<w:vanish/>'),
  run('gone ', '<w:b/><w:specVanish w:val="1"/>'),
  run('gone ', '<w:rStyle w:val="Gone"/>'),
  run('gone ', '<w:sz w:val="1"/>'),
  `<w:hyperlink>${run('gone ', '<w:strike/>')}</w:hyperlink>`,
  `<w:del w:id="1"><w:r><w:delText xml:space="preserve">gone </w:delText></w:r></w:del>`,
  `<w:moveFrom w:id="1">${run('gone ')}</w:moveFrom>`,
  `<w:sdt><w:sdtContent>${run('gone ', '<w:strike w:val="on"/>')}</w:sdtContent></w:sdt>`,
  `<w:r><w:pict><w:txbxContent><w:p>${run('gone ', '<w:strike/>')}</w:p></w:txbxContent></w:pict></w:r>`,
  `<m:r xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"><m:rPr/>${run('gone ', '<w:rStyle w:val="Gone"/>').slice(5)}`.replace(
    '</w:r>',
    '</m:r>',
  ),
])('in Word %s is left out by a rule, in texts, headings, tables and notes', async (gone) => {
  const kept = run('is twenty', '<w:strike w:val="0"/>')
  const noted = '<w:r><w:footnoteReference w:id="2"/></w:r>'
  const line = (inner: string, style = ''): string => `<w:p><w:pPr>${style}</w:pPr>${inner}</w:p>`
  const read = await styledDocument(
    [
      line(`${run('Order ')}${gone}`, '<w:pStyle w:val="H1"/>'),
      line(`${run('Section 1 ')}${gone}${run('Fees')}`, '<w:pStyle w:val="H2"/>'),
      line(`${run('The fee ')}${gone}${kept}${noted}`),
      line(run('gone draft'), '<w:pStyle w:val="Draft"/>'),
      `<w:tbl><w:tr><w:tc>${line(run('Boat'))}</w:tc><w:tc>${line(gone)}</w:tc><w:tc>${line(run('10'))}</w:tc></w:tr><w:tr><w:trPr><w:del w:id="9"/></w:trPr><w:tc>${line(run('gone'))}</w:tc></w:tr></w:tbl>`,
    ].join(''),
  )
  const [section] = read.provisions.filter(({ text }) => text !== undefined)
  expect(section).toMatchObject({ kind: 'section', label: 'Section 1', heading: 'Fees' })
  expect(section?.text).toBe('The fee is twenty[1]\n\nBoat | | 10\n\n[1] Note kept')
  expect(read.fields.title).toBe('Order')
  expect(read.losses).toEqual([])
  expect(read.coverage.uncovered).toBe(0)
})

test('formulas are text in one line, and signs of other fonts are the signs that they show', async () => {
  const m = (name: string, inner: string): string =>
    `<m:${name} xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math">${inner}</m:${name}>`
  const t = (text: string): string => m('r', m('t', text))
  const fraction = m('f', `${m('num', t('length x width'))}${m('den', t('12'))}`)
  const power = m('sSup', `${m('e', t('a'))}${m('sup', t('2'))}`)
  const sign = '<w:r><w:sym w:font="Symbol" w:char="F0B3"/></w:r>'
  const body = `<w:p>${run('Fee ')}${m('oMath', fraction + power)}${run(' is ')}${sign}${run('5')}<w:r><w:noBreakHyphen/></w:r>${run('boat')}</w:p>`
  expect(await documentOf(body)).toEqual([': Fee (length x width) / 12a^2 is ≥5‑boat'])
})

test('what Word states and the reader does not know is a loss by name', async () => {
  const drawing =
    '<w:drawing><a:t xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">Lost</a:t></w:drawing>'
  const body = `<w:p><w:odd/>${run('A', '<w:gone/>')}<w:r><w:sym w:font="Odd" w:char="F0EE"/>${drawing}</w:r></w:p>`
  const { losses } = await styledDocument(body)
  const named = losses.map(({ name, count }) => `${name} ${count}`)
  expect(named).toEqual(['element odd 1', 'element gone 1', 'characters of drawings 4', 'sign f0ee 1'])
})
