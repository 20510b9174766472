import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { looksLikeEnd } from '#law/import/mapping/read-fields.ts'
import { metadataOf } from '#law/readers/markdown-fields.ts'
import { readDocument } from '#law/readers/read.ts'
import { beginsGone, saysGone } from '#law/readers/standing.ts'
import { docxOf, paragraph, pdfOf, type DrawnLine } from './files.ts'
import CASES from './samples/word-cases.json' with { type: 'json' }

interface Found {
  /** Whether a text that nobody sees, or that is law no more, is served. */
  readonly isServed: boolean
  readonly losses: readonly string[]
}

async function found(file: string | Buffer, name = 'a-file'): Promise<Found> {
  const { provisions, losses, coverage } = await readDocument(name, Buffer.from(file))
  const texts = provisions.map(({ text }) => text ?? '').join('\n')
  expect(texts).toContain('Kept')
  expect(coverage.uncovered).toBe(0)
  return { isServed: texts.includes('zqgone'), losses: losses.map((each) => each.name) }
}

const page = (head: string, body: string): string =>
  `<!doctype html><html lang="en"><head><title>Order</title>${head}</head><body><h1>Order</h1><h2>Section 1 Fees</h2><p>Kept.</p>${body}<h2>Section 2 End</h2><p>Last.</p></body></html>`
const HIDES = [
  'd\\69splay:none',
  'display:/* a */none',
  'opacity:0.01',
  'opacity:0e0',
  'font:0/0 a',
  'color:rgba(0,0,0,0)',
  'color:#0000',
  '-webkit-text-fill-color:transparent',
  'text-indent:-9999px',
  'left:-999em',
  'inset:-9999px',
  'transform:scale(0)',
  'transform:translateX(-9999px)',
  'clip:rect(1px,1px,1px,1px)',
  'zoom:0',
  'filter:opacity(0)',
]
const MAY_HIDE = ['height:0;overflow:hidden', 'clip-path:circle(0)', 'display:var(--d)', 'font-size:1px', 'mask:url(a)']

describe('a page', () => {
  test.each(HIDES)('leaves out a text with %s, by its attribute and by a rule', async (style) => {
    expect(await found(page('', `<p style="${style}">zqgone</p>`))).toEqual({ isServed: false, losses: [] })
    const rule = `body { .a { ${style} } p {}`
    expect(await found(page(`<style>${rule} }</style>`, '<p class="a">zqgone</p>'))).toMatchObject({ isServed: false })
  })

  test.each([
    ...MAY_HIDE.map((style) => `<p style="${style}">zqgone</p>`),
    ...MAY_HIDE.map((style) => `<style>.a{${style}}</style><p class="a">zqgone</p>`),
    '<style>@media (min-width:1px){.a{display:none}}</style><p class="a">zqgone</p>',
    '<style>@container (min-width:1px){.a{opacity:0}}</style><p class="a">zqgone</p>',
    '<style>.a::before{content:"not "}</style><p class="a">zqgone</p>',
    '<p style="color:#111;background:#111">zqgone</p>',
    '<p aria-hidden="TRUE">zqgone</p>',
    '<p v-if="false">zqgone</p>',
    '<p data-valid-until="2001-01-01">zqgone</p>',
    '<div class="old-version"><p>zqgone</p></div>',
    '<link itemprop="legislationLegalForce" href="http://schema.org/NotInForce"><p>zqgone</p>',
    '<details><summary>Old</summary><p>zqgone</p></details>',
    '<h2>Section 5 Boats [Repealed]</h2><p>zqgone boats pay a fee to the keeper.</p>',
    '<p>z\u0336zqgone</p>',
    `<style>${'a,b{'.repeat(30)}p{display:none}${'}'.repeat(30)}</style><p>zqgone</p>`,
    '<style>.a::after{content:"";position:absolute;top:50%;border-top:1px solid}</style><p class="a">zqgone</p>',
    '<meta name="status" content="no longer in force"><p>zqgone</p>',
    '<script type="application/ld+json">{"legislationLegalForce":"NotInForce"}</script><p>zqgone</p>',
    '<p>Fee <svg><text>ten</text></svg></p>',
    '<p>Fee <input value="ten"></p>',
    '<object data="fee.svg"></object>',
    '<iframe src="fee.html"></iframe>',
    `<p>${'The fee is paid. '.repeat(4)}</p><script type="math/tex">a</script>`,
  ])('loses by name what may hide a text: %s', async (body) => {
    expect((await found(page('', body))).losses).toHaveLength(1)
  })

  test('says nothing of rules for print, of states of use and of what shows no text', async () => {
    const rules =
      '@media print{p{display:none}} p:hover{opacity:0} p::after{content:""} @media (max-width:9px){.x{display:none}} p.a{display:block} .a{display:none}'
    const body = '<p style="height:0"></p><p class="a">zqgone</p>'
    expect(await found(page(`<style>${rules}</style>`, body))).toEqual({ isServed: true, losses: [] })
  })
})

describe('Markdown', () => {
  test.each([
    '~zqgone~',
    '~~zqgone\n\nzqgone~~',
    '{--zqgone--}',
    'zqgone {.repealed}',
    '::: repealed\nzqgone\n:::',
    String.raw`\sout{zqgone}`,
    '%% zqgone %%',
    '[//]: # (zqgone)',
    '<template>zqgone</template>',
    '<font color="white">zqgone</font>',
    'Fee <img src="fee.png">',
  ])('loses by name a mark that it does not read: %s', async (text) => {
    const { losses } = await found(`# Order\n\n## Section 1 Fees\n\nKept.\n\n${text}\n\n## Section 2 End\n\nLast.\n`)
    expect(losses.length).toBeGreaterThan(0)
  })

  test.each([
    'legal: {status: repealed}',
    'metadata:\n  status: repealed',
    'tags: [repealed]',
    'estado: derogado',
    'draft: true',
    'version: historical',
  ])('has front matter that may state an end: %s', (front) => {
    expect([...metadataOf(`---\n${front}\n---\n`)].some(([name, text]) => looksLikeEnd(name, text))).toBe(true)
  })

  test.each(['"status": repealed', 'status : repealed', 'status:\n  - repealed', 'status: repealed\nstatus: in_force'])(
    'is no law in force, or a loss, with %s',
    async (front) => {
      const text = `\n---\n${front}\n---\n# Order\n\n## Section 1 Fees\n\nzqgone\n`
      const { provisions, losses } = await readDocument('a.md', Buffer.from(text))
      expect(losses.length > 0 || provisions.every((each) => each.text === undefined)).toBe(true)
    },
  )
})

const rowsOf = (name: string): string[][] => {
  const text = readFileSync(new URL(name, import.meta.url), 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map((row) => row.split('\t'))
}

test.each(rowsOf('says-gone.tsv'))('a %s that says it is %s: %s', (kind, says, text = '') => {
  const isGone = kind === 'heading' ? saysGone(text) : beginsGone(text.replaceAll('||', '\n\n'), false)
  expect(isGone).toBe(says === 'gone')
})

const akn = (meta: string, attributes: string): string =>
  `<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act contains="singleVersion"><meta><identification><FRBRExpression><FRBRdate date="2002-01-01" name="x"/></FRBRExpression></identification><lifecycle><eventRef eId="e1" date="2001-12-01" type="amendment"/></lifecycle>${meta}</meta><body><section eId="s1"><num>1</num><content><p>Kept.</p></content></section><section eId="s2" ${attributes}><num>2</num><content><p>zqgone</p></content></section></body></act></akomaNtoso>`
const clml = (metadata: string, attributes: string): string =>
  `<Legislation xmlns="http://www.legislation.gov.uk/namespaces/legislation"><Metadata><valid>2010-01-01</valid>${metadata}</Metadata><Primary><Body><P1group><P1><Pnumber>1</Pnumber><P1para><Text>Kept.</Text></P1para></P1></P1group><P1group ${attributes}><P1><Pnumber>2</Pnumber><P1para><Text>zqgone</Text></P1para></P1></P1group></Body></Primary></Legislation>`

test.each(rowsOf('stated.tsv'))(
  'what an act states of its times, its extent and its changes is read, or a loss: %s %s %s %s %s',
  async (format, meta = '', attributes = '', text = '', loss = '') => {
    const file = (format === 'akn' ? akn : clml)(meta, attributes).replace('zqgone', text)
    const losses = ['', 'served'].includes(loss) ? [] : [loss]
    expect(await found(file)).toEqual({ isServed: loss !== '', losses })
  },
)

test.each(CASES.unseen)('a Word document loses by name what may not be seen: %s', async (text) => {
  const { losses } = await found(docxOf(`${paragraph('Section 1', 'H2')}${paragraph('Kept.')}<w:p>${text}</w:p>`))
  expect(losses).toHaveLength(1)
})

const GROUND = '60 630 400 25 re f'
test.each<readonly [isServed: boolean | string, line: Partial<DrawnLine>]>([
  [false, { before: 'q 400 400 9 9 re W n', after: 'Q' }],
  [true, { before: 'q 60 600 500 90 re W n', after: 'Q 60 630 400 25 re S' }],
  ['drawing over text', { after: '70 630 m 250 655 l S' }],
  ['picture', { after: '0 0 m 1000000000000 900000000000 l S' }],
  ['picture', { after: '70 300 m 100 340 l 130 300 l S' }],
  ['picture', { after: 'q 90 0 0 40 72 300 cm BI /W 1 /H 1 /CS /G /BPC 8 ID x EI Q' }],
  ['annotation Text', { struck: 300, annotation: 'Text' }],
  [false, { before: 'q 1 g', after: 'Q' }],
  [true, { before: `q 0 g ${GROUND} 1 g`, after: 'Q' }],
  [false, { after: `q 1 g ${GROUND} Q` }],
  [false, { after: 'q 60 644 m 400 644 l S Q' }],
  [true, { after: 'q 60 638 m 400 638 l S Q' }],
  [false, { size: 0.5 }],
  [false, { struck: 300, annotation: 'Redact' }],
  [true, { struck: 300, annotation: 'Highlight' }],
])('a PDF serves what is seen: %s with %j', async (isServed, line) => {
  const lines = [
    { text: 'Section 1 Fees', y: 700, size: 14 },
    { text: 'Kept is what everyone sees here.', y: 680 },
  ]
  expect(await found(pdfOf([[...lines, { text: 'zqgone boats pay', y: 640, ...line }]]))).toEqual({
    isServed: isServed !== false,
    losses: typeof isServed === 'string' ? [isServed] : [],
  })
})
