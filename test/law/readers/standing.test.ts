import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { AKOMA_NTOSO } from '#law/readers/akoma-ntoso.ts'
import { CLML } from '#law/readers/clml.ts'
import { readDocument } from '#law/readers/read.ts'
import { USLM } from '#law/readers/uslm.ts'
import { parseXml } from '#law/readers/xml.ts'

/** A format: how it writes a section, with a heading and lines of text, and what strikes or hides words in them. */
interface Marks {
  readonly format: string
  readonly file: (sections: string) => string
  readonly section: (number: number, heading: string, text: string, attributes?: string) => string
  readonly table: (cell: string) => string
  /** Around words, each before and after. */
  readonly words: readonly (readonly [before: string, after: string])[]
  /** Of a whole section. */
  readonly attributes: readonly string[]
}

const SPANS = [
  ['<span style="color:red; TEXT-DECORATION : underline LINE-THROUGH !important">', '</span>'],
  ['<span style="display:none">', '</span>'],
  ['<span style="font-size: 0pt">', '</span>'],
  ['<span class="a LegRepeal">', '</span>'],
  ['<span class="text-strikethrough">', '</span>'],
  ['<span><i><del>', '</del></i></span>'],
] as const
const htmlTable = (cell: string): string => `<table><tr><td>Boat</td><td>${cell}</td></tr></table>`

const FORMATS: readonly Marks[] = [
  {
    format: 'akoma-ntoso',
    file: (sections) =>
      `<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act contains="singleVersion"><meta><identification><FRBRWork><FRBRuri value="/akn/xx/act/2001/1"/></FRBRWork><FRBRExpression><FRBRdate date="2002-01-01" name="Generation"/></FRBRExpression></identification><temporalData><temporalGroup eId="over"><timeInterval start="#e1" end="#e2"/></temporalGroup><temporalGroup eId="next"><timeInterval start="#e3"/></temporalGroup></temporalData><lifecycle><eventRef eId="e1" date="2001-01-01" type="generation"/><eventRef eId="e2" date="2001-12-01" type="amendment"/><eventRef eId="e3" date="2003-01-01" type="amendment"/></lifecycle></meta><body>${sections}</body></act></akomaNtoso>`,
    section: (number, heading, text, attributes = '') =>
      `<section eId="s${number}" ${attributes}><num>${number}.</num><heading>${heading}</heading><content><p>${text}</p></content></section>`,
    table: htmlTable,
    words: [
      ...SPANS,
      ['<del>', '</del>'],
      ['<strike>', '</strike>'],
      ['<span status="removed">', '</span>'],
      ['<authorialNote><p><del>', '</del></p></authorialNote>'],
      ['<inline name="x" period="#over">', '</inline>'],
    ],
    attributes: [
      'status="removed"',
      'status="temporarilyRemoved"',
      'period="#over"',
      'period="#next"',
      'class="repealed"',
    ],
  },
  {
    format: 'clml',
    file: (sections) =>
      `<Legislation xmlns="http://www.legislation.gov.uk/namespaces/legislation" DocumentURI="http://www.legislation.gov.uk/ukpga/2001/5"><ukm:Metadata xmlns:ukm="http://www.legislation.gov.uk/namespaces/metadata" xmlns:dct="http://purl.org/dc/terms/"><dct:valid>2010-01-01</dct:valid></ukm:Metadata><Primary><Body>${sections}</Body></Primary></Legislation>`,
    section: (number, heading, text, attributes = '') =>
      `<P1group ${attributes}><Title>${heading}</Title><P1 id="section-${number}"><Pnumber>${number}</Pnumber><P1para><Text>${text}</Text></P1para></P1></P1group>`,
    table: (cell) => `</Text><Tabular>${htmlTable(cell)}</Tabular><Text>`,
    words: [
      ['<Repeal ChangeId="c">', '</Repeal>'],
      ['<Strike>', '</Strike>'],
      ['<Emphasis><Repeal ChangeId="c" RetainText="true" Extent="S">', '</Repeal></Emphasis>'],
    ],
    attributes: [
      'Status="Repealed"',
      'Status="Prospective"',
      'Status="Dead"',
      'RestrictEndDate="2009-12-01"',
      'RestrictStartDate="2011-01-01"',
    ],
  },
  {
    format: 'uslm',
    file: (sections) =>
      `<bill xmlns="http://schemas.gpo.gov/xml/uslm" xmlns:dc="http://purl.org/dc/elements/1.1/"><meta><dc:title>118 S 9 RS: Fees</dc:title><date>2020-01-01</date></meta><main>${sections}</main></bill>`,
    section: (number, heading, text, attributes = '') =>
      `<section identifier="/us/bill/s${number}" ${attributes}><num value="${number}">SEC. ${number}.</num><heading>${heading}</heading><content>${text}</content></section>`,
    table: htmlTable,
    words: [
      ...SPANS,
      ['<deletedText>', '</deletedText>'],
      ['<del>', '</del>'],
      ['<inline changed="deleted">', '</inline>'],
      ['<footnote><p><del>', '</del></p></footnote>'],
    ],
    attributes: [
      'changed="deleted"',
      'status="repealed"',
      'status="pending"',
      'status="suspended"',
      'status="hadItsEffect"',
      'status="expired"',
      'inEffect="false"',
      'endPeriod="2019-01-01"',
    ],
  },
  {
    format: 'html',
    file: (sections) =>
      `<!doctype html><html lang="en"><head><style>@media screen { .c1 > b, #x .c2 { display: none } } /* .keep{display:none} */ .c3{color:red;text-decoration-line:line-through} @media print { .keep { display:none } }</style></head><body><h1>Harbour Order</h1><div id="x">${sections}</div></body></html>`,
    section: (number, heading, text, attributes = '') =>
      `<section ${attributes}><h2>Section ${number} ${heading}</h2><p class="keep">${text}</p></section>`,
    table: (cell) => `</p>${htmlTable(cell)}<p>`,
    words: [
      ...SPANS,
      ['<del>', '</del>'],
      ['<s>', '</s>'],
      ['<strike>', '</strike>'],
      ['<span hidden>', '</span>'],
      ['<span hidden="until-found">', '</span>'],
      ['<span aria-hidden="true">', '</span>'],
      ['<span style="visibility:hidden">', '</span>'],
      ['<em class="sr-only">', '</em>'],
      ['<i class="c1"><b>', '</b></i>'],
      ['<i class="c2">', '</i>'],
      ['<i class="c3">', '</i>'],
    ],
    attributes: ['hidden', 'aria-hidden="true"', 'style="display:none"', 'class="c3"', 'class="c2"'],
  },
]

async function readText(text: string): ReturnType<typeof readDocument> {
  return await readDocument('a-file', Buffer.from(text))
}

describe.each(FORMATS)('standing in $format', ({ format, file, section, table, words, attributes }) => {
  test.each(words)(
    'words between %s and %s are left out by a named rule, wherever they stand',
    async (before, after) => {
      const gone = `${before}gone${after}`
      const {
        provisions,
        omitted,
        fields,
        coverage,
        format: found,
      } = await readText(
        file(
          [
            section(1, `Fees ${gone}due`, `The fee is ${gone} twenty crowns.`),
            section(2, 'Boats', `Here${before} gone ${after}after. ${table(gone)} Kept.`),
          ].join(''),
        ),
      )
      const texts = provisions
        .map((each) => `${each.label} ${each.heading} ${each.path.join(' ')} ${each.text}`)
        .join('\n')
      expect(found).toBe(format)
      expect(`${texts}${fields.title}`).not.toContain('gone')
      for (const kept of ['The fee is twenty crowns.', 'Fees due', 'Here after.', 'Boat', 'Kept.'])
        expect(texts).toContain(kept)
      expect(omitted.filter(({ rule }) => /struck|hidden|not in force/.test(rule)).length).toBeGreaterThanOrEqual(4)
      expect(coverage.uncovered).toBe(0)
    },
  )

  test.each(attributes)('a provision with %s is named, and has no text', async (stated) => {
    const { provisions, coverage, losses } = await readText(
      file(
        section(1, 'Fees', 'The fee is due.') +
          section(2, 'Boats', 'Gone boats pay.', stated) +
          section(3, 'Lights', 'Lit.'),
      ),
    )
    const texts = provisions.flatMap(({ text }) => text ?? [])
    expect(texts.join('\n')).not.toMatch(/Gone|Boats/)
    expect(texts).toEqual(expect.arrayContaining([expect.stringContaining('The fee is due.'), 'Lit.']))
    expect(losses).toEqual([])
    expect(coverage.uncovered).toBe(0)
  })

  test('a provision that says of itself that it is repealed keeps that word', async () => {
    const stated = { clml: 'Status="Repealed"', uslm: 'status="repealed"', 'akoma-ntoso': 'status="removed"' }[format]
    const { provisions } = await readText(file(section(1, 'Boats', '[Repealed by Act 5]', stated)))
    expect(provisions.flatMap(({ text }) => text ?? []).join(' ')).toContain('[Repealed by Act 5]')
  })

  test('what its vocabulary lacks is a loss by name, counted once for all places', async () => {
    const odd = section(1, 'Fees', `<odd>A</odd> <odd>B</odd> <span ended="x">C</span>`, 'data-status="x"')
    const { losses } = await readText(file(odd))
    expect(losses).toEqual(
      expect.arrayContaining([
        { name: 'element odd', count: 2, line: 1 },
        { name: 'attribute ended', count: 1, line: 1 },
        { name: 'attribute data-status', count: 1, line: 1 },
      ]),
    )
  })
})

test.each([
  ['akoma-ntoso', 'status="unknown"', 'status="unknown"'],
  ['akoma-ntoso', 'period="#none"', 'period of unknown times'],
  ['akoma-ntoso', 'name="repealed"', 'name="repealed"'],
  ['clml', 'Status="Odd"', 'Status="Odd"'],
  ['uslm', 'status="unknown"', 'status="unknown"'],
  ['html', 'class="a" role="revoked"', 'role="revoked"'],
  ['html', 'data-state="old"', 'data-state="old"'],
  ['html', 'title="Repealed by Act 5"', 'title="Repealed by Act 5"'],
])('in %s, %s says something of standing that is not understood', async (format, stated, name) => {
  const marks = FORMATS.find((each) => each.format === format)
  const { losses } = await readText(marks?.file(marks.section(1, 'Fees', 'Due.', stated)) ?? '')
  expect(losses.map((each) => each.name)).toEqual([name])
})

test.each([
  ['clml', 'RestrictEndDate="2011-01-01"', '<P2 RestrictStartDate="2010-06-01">', '</P2>', '2010-06-01'],
  ['uslm', 'endPeriod="2021-01-01"', '<inline endPeriod="2020-06-01">', '</inline>', '2020-06-01'],
  ['akoma-ntoso', 'start="2001-01-01" end="2004-01-01"', '<inline name="x" period="#next">', '</inline>', '2003-01-01'],
] as const)('in %s, a text holds until the day on which it, or a part of it, changes', async (...row) => {
  const [format, stated, before, after, day] = row
  const marks = FORMATS.find((each) => each.format === format)
  const [whole, other] = [marks?.section(1, 'Fees', 'Due.', stated), marks?.section(2, 'Costs', 'Due.')]
  const inPart = marks?.section(3, 'Dues', `Due.${before} Late.${after}`)
  const { provisions } = await readText(marks?.file(`${whole}${other}${inPart}`) ?? '')
  const ends = provisions.filter(({ text }) => text !== undefined).map(({ until }) => until)
  expect(ends).toEqual([/end\w*="(.*)"/i.exec(stated)?.[1], undefined, day])
})

test('days of a provision are a loss where the file has no day to compare them with', async () => {
  for (const [format, from] of [
    ['uslm', 'startPeriod="2099-01-01"'],
    ['clml', 'RestrictStartDate="2099-01-01"'],
  ] as const) {
    const marks = FORMATS.find((each) => each.format === format)
    const file = marks?.file(marks.section(1, 'Fees', 'Due.', from)) ?? ''
    const { losses } = await readText(file.replace(/<date>.*<\/date>|<dct:valid>.*<\/dct:valid>/, ''))
    expect(losses.map(({ name }) => name)).toEqual([`attribute ${from.split('=')[0]}`])
  }
})

test('a rule of style that hides and is not understood is a loss; states of a page in use hide nothing', async () => {
  const style = '<style>p:nth-child(2n){display:none} a:hover, p::after{display:none}</style>'
  const { losses } = await readText(
    `<!doctype html><html><head>${style}</head><body><h1>Order</h1><p>Text.</p></body></html>`,
  )
  expect(losses).toEqual([{ name: 'style rule p:nth-child(2n)', count: 1, line: 1 }])
})

test('a column of a table that is hidden is a loss', async () => {
  const table = '<table><col><col style="visibility:collapse"><tr><td>Boat</td><td>ten</td></tr></table>'
  const { losses } = await readText(`<!doctype html><html><body><h1>Order</h1>${table}</body></html>`)
  expect(losses).toEqual([{ name: 'hidden column of a table', count: 1, line: 1 }])
})

test('white text is a loss, unless something around it colours the ground', async () => {
  const text =
    '<p style="color: #FFF">A</p><p><font color="white">B</font></p><div style="background:navy"><p style="color:white">C</p></div>'
  const { losses } = await readText(`<!doctype html><html><body><h1>Order</h1>${text}</body></html>`)
  expect(losses).toEqual([{ name: 'white text', count: 2, line: 1 }])
})

test.each([
  ['<img src="a.png" alt="map of\nthe harbour"/>', 'The [picture: map of the harbour] ends.', 'picture'],
  ['<graphic src="a"/>', 'The [picture] ends.', 'picture'],
  [
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><mtable><mi>a</mi></mtable></math>',
    'The [formula] a ends.',
    'formula with mtable',
  ],
  [
    '<math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac><msup><mi>x</mi><mn>2</mn></msup><annotation>y</annotation></math>',
    'The ((a+b) / c)x^2 ends.',
    undefined,
  ],
])('what has no letters is a mark and a loss, and a formula is in one line: %s', async (drawn, text, loss) => {
  for (const { file, section } of FORMATS) {
    const { provisions, losses } = await readText(file(section(1, 'Harbour', `The ${drawn} ends.`)))
    expect(provisions.flatMap((each) => each.text ?? []).join('\n')).toContain(text)
    expect(losses.find(({ name }) => name === loss)?.count).toBe(loss === undefined ? undefined : 1)
  }
})

test('a struck heading begins a provision without force; a hidden one names none, and ends the one before', async () => {
  const heading = (inner: string): string => `<h2>${inner}</h2>`
  const { provisions } = await readText(
    `<!doctype html><html><body><h1>Order</h1>${heading('Section 1')}<p>One.</p>${heading('<s>Section 2</s>')}<p>Two.</p>${heading('<span hidden>Section 3</span>')}<p>Three.</p></body></html>`,
  )
  expect(provisions.flatMap(({ label, text }) => (text === undefined ? [] : [[label, text]]))).toEqual([
    ['Section 1', 'One.'],
    ['', 'Three.'],
  ])
})

const schemasSchema = z.record(
  z.string(),
  z.object({ sha256: z.record(z.string(), z.string()), elements: z.string(), attributes: z.string() }),
)
/** Names that are a loss: text before a change, an alternative version, a status that holds in part, and days in a file without a day. */
const NEVER_UNDERSTOOD = new Set(
  'old previous alternativeTo partial startPeriod endPeriod RestrictStartDate RestrictEndDate'.split(' '),
)

test.each([AKOMA_NTOSO, CLML, USLM])(
  'the vocabulary of $format has every name of its schema',
  ({ format, vocabulary }) => {
    const schemas = schemasSchema.parse(JSON.parse(readFileSync(new URL('schema-names.json', import.meta.url), 'utf8')))
    const known = vocabulary?.({ tree: parseXml(Buffer.from('<none/>')), path: '' })
    const { elements = '', attributes = '' } = schemas[format] ?? {}
    expect(elements.split(' ').length).toBeGreaterThan(100)
    const elementNames = elements.split(' ').filter((name) => !NEVER_UNDERSTOOD.has(name))
    expect(elementNames.filter((name) => known?.elements.has(name) !== true)).toEqual([])
    const named = attributes.split(' ').filter((name) => !NEVER_UNDERSTOOD.has(name))
    expect(named.filter((name) => known?.attributes?.has(name) !== true && known?.values.has(name) !== true)).toEqual(
      [],
    )
  },
)
