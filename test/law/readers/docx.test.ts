import { expect, test } from 'vitest'
import { readDocument } from '#law/readers/read.ts'
import { docxOf, paragraph, zipOf } from './files.ts'
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

test('lines in the styles of a table of contents are omitted by that rule', async () => {
  const parts = Object.fromEntries(unpacked(docxOf(paragraph('Fees 3', 'H2') + paragraph('Ten.')), () => true))
  const styles = String(parts['word/styles.xml']).replace('heading 2', 'toc 2')
  const read = await readDocument('a-file', zipOf({ ...parts, 'word/styles.xml': styles }))
  expect(read.provisions.map(({ text }) => text)).toEqual(['Ten.'])
  expect(read.omitted.map(({ rule }) => rule)).toEqual(['table of contents'])
})
