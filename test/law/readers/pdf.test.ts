import { expect, test } from 'vitest'
import { createPlaces } from '#law/readers/places.ts'
import { readDocument, type ReadDocument } from '#law/readers/read.ts'
import { pdfOf, type DrawnLine } from './files.ts'

const LEADING = 13

/** Lines below each other. */
function linesAt(top: number, texts: readonly string[], rest: Partial<DrawnLine> = {}): readonly DrawnLine[] {
  return texts.map((text, index) => ({ text, y: top - index * LEADING, ...rest }))
}

async function textOf(...pages: readonly (readonly DrawnLine[])[]): Promise<readonly [string, ReadDocument]> {
  const read = await readDocument('a-file', pdfOf(pages))
  expect(read.coverage.remainder).toEqual([])
  return [read.provisions.flatMap(({ text }) => text ?? []).join('\n\n'), read]
}

test('columns with a narrow gap are read one after the other, below what stands over both', async () => {
  const column = (name: string): readonly string[] =>
    Array.from({ length: 14 }, (_, index) => `${name} line ${index + 10} is as wide as its column`)
  const [text] = await textOf([
    { text: 'A line over both columns of this page which is longer than either of the two of them is.', y: 720 },
    ...linesAt(690, column('Left')),
    ...linesAt(690, column('Right'), { x: 262 }),
  ])
  expect(text).toMatch(
    /^A line over both .* them is\.\s+Left line 10 .* Left line 23 .* Right line 10 .* Right line 23 /,
  )
})

test('a word that lines part is one word; a hyphen of its own stays, and one that stands for a word stays apart', async () => {
  const [text] = await textOf(
    linesAt(700, ['The judg-', 'ment on cross-border fees is a cross-', 'border judg-', 'ment.']),
    linesAt(700, ['Ein-', 'und Ausfuhr der EU-', 'Staaten and CO-', 'BRA are self-', 'evident.']),
  )
  expect(text).toContain('The judgment on cross-border fees is a cross-border judgment.')
  expect(text).toContain('Ein- und Ausfuhr der EU-Staaten and COBRA are self-evident.')
})

test('notes at the foot of a page follow the paragraph that goes on on the next page', async () => {
  const [text] = await textOf(
    [
      ...linesAt(160, ['Fees under section 5', 'are paid by']),
      { text: '1', y: 164, x: 175, size: 6 },
      ...linesAt(90, ['1 As amended.', '2 See there.'], { size: 8 }),
      { text: 'Page 1', y: 30 },
    ],
    [...linesAt(700, ['bees each year.']), { text: 'Page 2', y: 30 }],
  )
  expect(text).toBe('Fees under section 5^1 are paid by bees each year.\n\n1 As amended.\n\n2 See there.')
})

test('lines of double-spaced text are one paragraph, and an indented line begins another', async () => {
  const wide = Array.from({ length: 10 }, (_, index) => `line ${index} of the opinion of the court goes on to the edge`)
  const lines = [...wide, 'and ends here.', 'A second one goes on to the edge of the page as well']
  const [text] = await textOf(
    lines.map((line, index) => ({ text: line, y: 700 - index * 26, x: line.startsWith('A second') ? 108 : 72 })),
  )
  expect(text.split('\n\n')).toEqual([`${wide.join(' ')} and ends here.`, lines.at(-1)])
})

test('a page that lies on its side is read, with places as the file has them; a mark across a page is left out', async () => {
  const up = Array.from({ length: 3 }, (_, index) => ({
    text: `Row ${index} runs up.`,
    x: 100 + index * 13,
    y: 72,
    up: true,
  }))
  const [text, read] = await textOf([...up, { text: 'DRAFT', y: 700 }])
  expect(text).toBe('Row 0 runs up. Row 1 runs up. Row 2 runs up.')
  expect(read.omitted.map(({ rule }) => rule)).toEqual(['text across the page'])
  const [provision] = read.provisions.filter((each) => each.text !== undefined)
  const place = provision && createPlaces(read)(provision)(0, 5)
  const [quad = []] = place?.type === 'PdfSelector' ? place.lines.map((line) => line.quad) : []
  const [xs, ys] = [quad.filter((_, index) => index % 2 === 0), quad.filter((_, index) => index % 2 === 1)]
  expect([Math.min(...xs), Math.max(...xs), Math.min(...ys)]).toEqual([91.2, 102.8, 72])
})

test('a sentence that begins with the name of a provision is no heading', async () => {
  const line = (text: string, y: number): DrawnLine => ({ text, y })
  const [, read] = await textOf([
    line('Part 1 provides the diagnosis', 700),
    line('Section 5(2) applies to bees', 650),
    line('Section 6 Fees', 600),
    line('Ten.', 570),
  ])
  expect(read.provisions.flatMap(({ kind, label }) => (kind === 'document' ? [] : label))).toEqual(['Section 6'])
})

test('a provision that begins in the line of its name has its text apart from its number', async () => {
  const [, read] = await textOf([
    ...linesAt(720, ['Sec. 2. Every hive is counted by the office once in each year that', 'follows.']),
    ...linesAt(680, ['§ 3. Short title.']),
    ...linesAt(640, ['Section 4. Fees']),
    ...linesAt(620, ['Ten.']),
  ])
  expect(read.provisions.flatMap(({ kind, label, text }) => (kind === 'section' ? [[label, text]] : []))).toEqual([
    ['Sec. 2', 'Every hive is counted by the office once in each year that follows.'],
    ['§ 3', 'Short title.'],
    ['Section 4', 'Ten.'],
  ])
})

test('a numbered paragraph whose first line is full, and a signature, are no headings', async () => {
  const first = '2. Where reference in this order is made to hives or to other homes of'
  const [, read] = await textOf([
    { text: 'Order on bees', y: 740 },
    { text: 'A. Fees', y: 700 },
    ...linesAt(670, [first, 'bees, it includes shares in them.']),
    { text: 'M. SMITH', y: 600 },
  ])
  expect(read.fields.title).toBe('Order on bees')
  expect(read.provisions.map(({ label, heading, text }) => [label, heading, text]).slice(1)).toEqual([
    ['', 'A. Fees', `${first} bees, it includes shares in them.\n\nM. SMITH`],
  ])
})

test('a text that is printed again over itself is one text', async () => {
  const twice = (text: string, y: number): readonly DrawnLine[] => [
    { text, y },
    { text, y, x: 72.3 },
    { text, y: y + 0.2, x: 72.2 },
  ]
  const [text, { provisions }] = await textOf([
    { text: 'Order', y: 740, size: 18 },
    ...twice('Section 1 Fees', 700),
    ...twice('A boat pays ten crowns, and ten crowns again.', 670),
  ])
  expect(text).toBe('A boat pays ten crowns, and ten crowns again.')
  expect(provisions.at(-1)).toMatchObject({ label: 'Section 1', heading: 'Fees' })
})

test('text without ink is left out, unless the page is a scan with its recognised text', async () => {
  const lines = [
    { text: 'Section 1 Fees', y: 700 },
    { text: 'The fee is', y: 670 },
    { text: 'ten gone', y: 670, x: 128, mode: 3 },
    { text: 'twenty crowns.', y: 670, x: 180 },
    { text: 'A line that nobody sees is gone.', y: 640, mode: 3 },
  ]
  const [text, { omitted }] = await textOf(lines)
  expect(text).toBe('The fee is twenty crowns.')
  expect(omitted.filter(({ rule }) => rule === 'hidden text')).toHaveLength(2)
  const [scanned] = await textOf(lines.map((line) => ({ ...line, mode: 3 })))
  expect(scanned).toContain('ten gone')
})

test('text that an annotation strikes through is left out', async () => {
  const [text, { omitted }] = await textOf([
    { text: 'Section 1 Fees', y: 700 },
    { text: 'Rowing boats pay no fee.', y: 670, struck: 200 },
    { text: 'Every boat pays.', y: 640 },
    { text: 'Gone, but not this.', y: 610, struck: 27 },
  ])
  expect(text.replaceAll(/\s+/g, ' ')).toBe('Every boat pays. but not this.')
  expect(omitted.map(({ rule }) => rule)).toContain('struck or deleted text')
})

test('a page of few rows has the columns of the other pages', async () => {
  const column = (x: number): readonly DrawnLine[] =>
    linesAt(
      690,
      Array.from({ length: 14 }, (_, index) => `line ${index + 10} of this column is as wide as it`),
      { x },
    )
  const [text] = await textOf(
    [...column(72), ...column(300)],
    [
      ...linesAt(690, ['(1) In the chapters on', 'limits, remove words.']),
      ...linesAt(690, ['(2) In the chapter on', 'work, add words.'], { x: 300 }),
    ],
  )
  expect(text).toContain('(1) In the chapters on limits, remove words.\n\n(2) In the chapter on work, add words.')
})
