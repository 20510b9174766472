import { expect, test } from 'vitest'
import { z } from 'zod'
import { readDocument, type ReadDocument } from '#law/readers/read.ts'
import ROWS from './provision-marks.json' with { type: 'json' }

const rows = z.array(z.tuple([z.string(), z.string(), z.string()]))

async function lawOf(text: string): Promise<ReadDocument> {
  return await readDocument('act.md', Buffer.from(`# Bee Act\n\n${text}\n`))
}

function namesIn({ provisions }: ReadDocument): readonly string[] {
  return provisions.flatMap(({ kind, label, heading, text }) =>
    text === undefined || kind === 'heading' ? [] : [`${label}|${heading}|${text}`],
  )
}

/** By language: what marks a provision, with the next two marks. */
test.each(rows.parse(ROWS.marks))(
  '%s, %s and %s on lines of their own, plain or bold, begin provisions',
  async (...marks) => {
    for (const around of ['', '**']) {
      const read = await lawOf(marks.map((mark, index) => `${around}${mark}${around}\n\nHive ${index}.`).join('\n\n'))
      const names = namesIn(read)
      expect(names.map((name) => name.split('|').at(-1))).toEqual(['Hive 0.', 'Hive 1.', 'Hive 2.'])
      for (const [index, name] of names.entries())
        expect(marks[index]?.startsWith(name.split('|', 1)[0] ?? '-')).toBe(true)
      expect(read.coverage.uncovered).toBe(0)
    }
  },
)

test('a mark has its heading, or its text, in its line; a sentence that begins like one is none', async () => {
  const read = await lawOf(
    [
      'TÍTULO I\nDE LAS COLMENAS',
      '**Artículo 1.- Objeto**\nLa ley regula las colmenas.',
      '**Artículo 2.-** El dueño inscribe cada colmena, conforme a la ley y dentro del plazo:\na) limpiar;',
      'Artículo 7 de la Ley 77 se aplica.',
      '* Artículo modificado por la Ley 950.',
      'Artículo 2-A.- Marca\nCada colmena lleva una marca.',
      'DISPOSICIONES FINALES',
      'Primera.- Vigencia\nEsta ley rige.',
      'ANEXO',
      'Artículo 1.- Formas\nSon dos.',
      'Artículo 2.- Colores\nEs uno.',
    ].join('\n\n'),
  )
  expect(namesIn(read)).toEqual([
    'Artículo 1|Objeto|La ley regula las colmenas.',
    'Artículo 2||El dueño inscribe cada colmena, conforme a la ley y dentro del plazo:\n\na) limpiar;\n\nArtículo 7 de la Ley 77 se aplica.',
    'Artículo 2-A|Marca|Cada colmena lleva una marca.',
    'Primera|Vigencia|Esta ley rige.',
    'Artículo 1|Formas|Son dos.',
    'Artículo 2|Colores|Es uno.',
  ])
  const cited = read.provisions.filter(({ text }) => text !== undefined).map((each) => read.cite(each).label)
  expect(cited).toEqual(
    expect.arrayContaining([
      'Bee Act, Artículo 2-A',
      'Bee Act, DISPOSICIONES FINALES, Primera',
      'Bee Act, ANEXO, Artículo 2',
    ]),
  )
  expect(read.omitted.map(({ rule }) => rule)).toContain('note of an editor')
})

/** A heading, its label and the reference that it is asked for by. */
test.each(rows.parse(ROWS.headings))(
  'the heading %s has the whole number of its provision',
  async (heading, label, reference) => {
    const read = await lawOf(`##### ${heading}\n\nHives.\n\n##### Article 99\n\nMore.`)
    const [found] = read.provisions.filter((each) => each.text === 'Hives.')
    expect([found?.label, found && read.cite(found).reference]).toEqual([label, reference])
  },
)

test('marks that do not count up, as in a quoted act, or stand in code, begin nothing', async () => {
  const read = await lawOf(
    'Article 1\n\nOne.\n\nArticle 90\n\nQuoted.\n\nArticle 2\n\nTwo.\n\nArticle 3\n\nThree.\n\n```\nArticle 4\n```',
  )
  expect(namesIn(read).map((name) => name.split('|')[0])).toEqual(['Article 1', 'Article 2', 'Article 3'])
})

test('a long text in which nothing names a provision is a loss by name', async () => {
  const words = 'Every hive is counted once a year by its keeper. '
  const { losses } = await lawOf(words.repeat(500))
  expect(losses).toEqual([{ name: 'no mark of a provision in more than 20000 characters', count: 1, line: 1 }])
  expect((await lawOf(words.repeat(300))).losses).toEqual([])
  expect((await lawOf(`## § 1 Hives\n\n${words.repeat(500)}`)).losses).toEqual([])
})

const front = (fields: string): string =>
  `---\ntitle: "Lamps Act"\nidentifier: "LEY-12"\ncountry: "xx"\nrank: "ley"\npublication_date: "1950-01-10"\nlast_updated: "1999-12-31"\nsource: "https://laws.invalid/12"\n${fields}\n---\n# Lamps Act\n\n> Notice.\n\n##### Artículo 1\n\nEvery house has a lamp.\n`

const repealedBy = (words: string): string => `status: in_force\nreferences_html: "${words} por:** Ley 3."`
const REPEALED_BY = 'references_html says repealed, and status says in_force'
test.each([
  ['status: "in_force"', undefined, [], 1, '1999-12-31'],
  ['status: partially_repealed\ntext_state: current', undefined, ['text_state: current'], 1, '1999-12-31'],
  ['status: "repealed"', 'repealed', [], 0, '1999-12-31'],
  ["status: 'annulled'", 'repealed', [], 0, '1999-12-31'],
  ['status: expired', 'ended', [], 0, '1999-12-31'],
  ['status: "odd"', undefined, ['status: odd'], 1, '1999-12-31'],
  ['', undefined, ['status: none is stated'], 1, '1999-12-31'],
  ['status: in_force\nentry_in_force: 2001-02-03', undefined, [], 1, '2001-02-03'],
  [repealedBy('Tax **derogada/o'), undefined, [], 1, '1999-12-31'],
  [repealedBy('**Derogada/o'), 'repealed', [REPEALED_BY], 0, '1999-12-31'],
  [repealedBy('x. **Declarada su nulidad absoluta'), 'repealed', [REPEALED_BY], 0, '1999-12-31'],
  [repealedBy('**Quedó sin efecto'), 'repealed', [REPEALED_BY], 0, '1999-12-31'],
  ['status: in_force\ntext_state: "as_enacted"', undefined, ['text_state: as_enacted'], 1, '1950-01-10'],
])('front matter with %s is law in force, or is named', async (fields, standing, losses, served, from) => {
  const read = await readDocument('act.md', Buffer.from(front(fields)))
  expect(read.losses.map(({ name }) => name)).toEqual(losses)
  expect(read.provisions.find(({ label }) => label === 'Artículo 1')?.standing).toBe(standing)
  expect(read.provisions.filter(({ text }) => text !== undefined)).toHaveLength(served)
  expect(read.fields).toMatchObject({ identifier: 'LEY-12', jurisdiction: 'XX', url: 'https://laws.invalid/12' })
  expect(read.fields.publishedAt?.day).toBe('1950-01-10')
  expect(read.fields.effectiveFrom?.day).toBe(from)
  expect(read.omitted.map(({ rule }) => rule)).toContain('notice of the publisher')
})

test.each([
  [String.raw`title: "A \"b\" c"`, 'A "b" c'],
  ["title: 'The keeper''s act'", "The keeper's act"],
  ['title: "An act\non hives"', 'An act on hives'],
])('the title of %s is the text of its scalar; a title alone is a loss', async (title, shown) => {
  const text = `${front('status: in_force').split('\n# ', 1)[0]}\n# Notice\n\n> Kept.\n`
  const { fields, losses } = await readDocument(
    'act.md',
    Buffer.from(text.replace('title: "Lamps Act"', title).replace('"xx"', '"uk"')),
  )
  expect([fields.title, fields.language, losses[0]?.name]).toEqual([shown, 'en', 'no text below the title'])
})

test.each([
  '~~gone~~',
  '<del>gone</del>',
  '<s class="x">go\nne</s>',
  '<span hidden>gone</span>',
  '<i style="display:none">gone</i>',
  '<!-- gone -->',
  '<del>gone <del>gone</del> gone</del>',
])('in Markdown %s is left out by a rule, and stays in code', async (gone) => {
  const read = await lawOf(
    `## § 1 Fees ${gone.replace('\n', '')}\n\nThe fee is ${gone} twenty crowns.\n\n## § 2 Marks\n\nWritten \`~~gone~~\`.`,
  )
  expect(namesIn(read)).toEqual(['§ 1|Fees|The fee is twenty crowns.', '§ 2|Marks|Written `~~gone~~`.'])
  expect(read.omitted.filter(({ rule }) => /struck|hidden|comment/.test(rule)).length).toBeGreaterThan(1)
  expect(read.coverage.uncovered).toBe(0)
})

test('a hidden block ends where its end stands, and what is struck in a heading hides no number', async () => {
  const read = await lawOf(
    '## Section 1 <del>gone</del> Fees\n\nTen.\n\n<div hidden>\n\ngone\n\n</div>\n\n## Section 2 Marks\n\nYellow.',
  )
  expect(namesIn(read)).toEqual(['Section 1|Fees|Ten.', 'Section 2|Marks|Yellow.'])
})

test('the only provision of a page is one', async () => {
  expect(namesIn(await pageOf('<h2>Section 1 Hives</h2><p>Every hive has a number.</p>'))).toEqual([
    'Section 1|Hives|Every hive has a number.',
  ])
})

async function pageOf(body: string): Promise<ReadDocument> {
  return await readDocument(
    'a.html',
    Buffer.from(`<!doctype html><html lang="en"><body><h1>Bee Act</h1>${body}</body></html>`),
  )
}

test('lines of a page without headings that count up begin provisions, plain or with their text in the same line', async () => {
  const lines = (...texts: readonly string[]): string => texts.map((text) => `<p>${text}</p>`).join('')
  const plain = await pageOf(
    lines(
      'Article 1',
      'One.',
      'Article 2 - Hives',
      'Two, as Article 9 says.',
      'Article 9',
      'Quoted.',
      'Article 3',
      'Three.',
    ),
  )
  expect(namesIn(plain).map((name) => name.split('|')[0])).toEqual(['Article 1', 'Article 2', 'Article 3'])
  const bold = await pageOf(
    lines('<b>Artículo 1.-</b> Una.', '<strong>Artículo 2-A.</strong> Dos.', '<b>Article 5</b> of the Act.'),
  )
  expect(namesIn(bold).map((name) => name.split('|').at(-1))).toEqual(['Una.', 'Dos.\n\nArticle 5 of the Act.'])
})

test('the heading of a division ends the section before it', async () => {
  const heading = (name: string, text: string): string =>
    `<p class="center"><span class="lbex${name}">${text}</span></p>`
  const { provisions } = await pageOf(
    `${heading('SectionLevelOLC', 'SEC. 8. Payment.')}<p>For payment.</p>${heading('DivisionLevelOLC', 'DIVISION A')}${heading('TitleLevelTrad', 'TITLE I')}${heading('HeaderApprop', 'Personnel')}<p>For pay.</p><p><span class="lbexInitialCapTrad">Sec. 101.</span> No ferries.</p>`,
  )
  expect(
    provisions.flatMap(({ label, path, text }) => (text === undefined ? [] : [[label, path.slice(1), text]])),
  ).toEqual([
    ['SEC. 8', [], 'For payment.'],
    ['', ['DIVISION A', 'TITLE I'], 'For pay.'],
    ['Sec. 101.', ['DIVISION A', 'TITLE I', 'Personnel'], 'No ferries.'],
  ])
})

test('items of a list have the marks that a browser prints', async () => {
  const list = (attributes: string, ...items: readonly string[]): string =>
    `<ol ${attributes}>${items.map((item) => `<li${item}</li>`).join('')}</ol>`
  const { provisions } = await pageOf(
    [
      list('type="a" start="3"', '>c', ' value="26">z', '>aa'),
      list('style="list-style-type: lower-roman"', '>i', '>ii'),
      list('type="A" reversed', '>B', '>A'),
      list('', ' type="I">I', '>2'),
      list('style="list-style: none"', '>(1) own'),
      `<style>ol.a{list-style:upper-roman}</style>${list('class="a" style="counter-reset:list-item 4"', '>V')}`,
    ].join(''),
  )
  expect(provisions.at(-1)?.text?.split(/\s*\n\s*/)).toEqual([
    'c. c',
    'z. z',
    'aa. aa',
    'i. i',
    'ii. ii',
    'B. B',
    'A. A',
    'I. I',
    '2. 2',
    '(1) own',
    'V. V',
  ])
})

const SCRIPT = '<script src="app.js"></script>'
test.each([
  ['<h1>Service</h1><p>The site is down for maintenance.</p>', 'page that says "maintenance"'],
  [
    `<noscript>You need to enable JavaScript.</noscript><div id="app"></div>${SCRIPT}`,
    'page that says "need to enable JavaScript"',
  ],
  [`<main id="root"></main>${SCRIPT}`, 'page whose text a script brings'],
])('a page that stands in place of an act is a loss: %s', async (body, name) => {
  const { losses } = await readDocument('a.html', Buffer.from(`<!doctype html><html><body>${body}</body></html>`))
  expect(losses.map((loss) => loss.name)).toContain(name)
})

test('a page of EUR-Lex without a provision is a loss; one whose text stands in a form is read', async () => {
  const page = (body: string): Buffer =>
    Buffer.from(`<!doctype html><html><body><p class="oj-doc-ti">Regulation (EU) 2016/679</p>${body}</body></html>`)
  const shell = await readDocument('a.html', page('<p>See the PDF.</p>'))
  expect(shell.losses.map(({ name }) => name)).toEqual(['page of an act without a provision'])
  const form = await readDocument(
    'a.html',
    page('<form><p class="oj-ti-art">Article 1</p><p>One.</p><h2>More</h2><select><option>x</option></select></form>'),
  )
  expect(form.losses).toEqual([])
  expect(form.provisions.find(({ kind }) => kind === 'article')?.text).toBe('One.')
})

test('an only article is article 1', async () => {
  const read = await lawOf('Artículo único.- Hive.')
  expect(read.provisions.filter(({ kind }) => kind === 'article').map((each) => read.cite(each).reference)).toEqual([
    'Article 1',
  ])
})
