import { expect, test } from 'vitest'
import { readDocument, type ReadDocument } from '#law/readers/read.ts'

async function pageOf(body: string): Promise<ReadDocument> {
  const page = `<!doctype html><html><head><title>L_2007001EN.01000101.xml</title></head><body>${body}</body></html>`
  return await readDocument('a-file', Buffer.from(page))
}

function passagesOf(read: ReadDocument): readonly (readonly [string, string | undefined])[] {
  return read.provisions.filter(({ text }) => text !== undefined).map((each) => [read.cite(each).label, each.text])
}

const lines = (name: string, ...texts: readonly string[]): string =>
  texts.map((text) => `<p class="${name}">${text}</p>`).join('')
const row = (...cells: readonly string[]): string =>
  `<table><tbody><tr>${cells.map((cell) => `<td>${cell}</td>`).join('')}</tr></tbody></table>`
const TITLE = lines('doc-ti', 'COUNCIL DIRECTIVE 2007/5/EC', 'of 3 May 2007', 'on samples')

test('headings begin recitals, articles, signatures, notes and annexes where no element holds them', async () => {
  const recitals = row(lines('normal', '(1)'), lines('normal', 'Samples matter.'))
  const parts = lines('ti-section-1', 'TITLE I') + lines('ti-section-2', 'RULES') + lines('ti-section-1', 'CHAPTER 1')
  const point = row('', lines('normal', '1.'), `<p class="normal">Tests:</p>${row('(a)', 'of bees;')}`)
  const read = await pageOf(
    `${TITLE}<p class="normal">Whereas:</p>${recitals}${parts}${lines('ti-art', 'Article 1')}${lines('normal', 'It applies.')}` +
      `<div class="final">${lines('normal', 'Done at Brussels.')}</div><hr class="note"/>${lines('note', '(1) OJ L 1.')}` +
      `${lines('doc-ti', 'ANNEX I')}${lines('ti-grseq-1', 'Lists')}${point}` +
      `${lines('doc-ti', 'ANNEX II')}${lines('ti-grseq-1', 'PART A')}${lines('normal', 'Fees.')}`,
  )
  expect(read.fields.title).toBe('COUNCIL DIRECTIVE 2007/5/EC of 3 May 2007 on samples')
  expect(passagesOf(read)).toEqual([
    ['COUNCIL DIRECTIVE 2007/5/EC', 'Whereas:'],
    ['COUNCIL DIRECTIVE 2007/5/EC, recital 1', 'Samples matter.'],
    ['COUNCIL DIRECTIVE 2007/5/EC, Article 1', 'It applies.'],
    ['COUNCIL DIRECTIVE 2007/5/EC, final', 'Done at Brussels.'],
    ['COUNCIL DIRECTIVE 2007/5/EC, notes', '(1) OJ L 1.'],
    ['COUNCIL DIRECTIVE 2007/5/EC, ANNEX I', '1. Tests:\n\n(a) of bees;'],
    ['COUNCIL DIRECTIVE 2007/5/EC, ANNEX II, PART A', 'Fees.'],
  ])
  expect(read.provisions.find(({ kind }) => kind === 'article')?.path).toEqual(['TITLE I RULES', 'CHAPTER 1'])
})

test('a consolidated act has its points in one line each, its annexes apart, and no marks of amendments', async () => {
  const point = (mark: string, text: string): string =>
    `<div class="grid-container grid-list"><div class="list grid-list-column-1"><span>${mark} </span></div><div class="grid-list-column-2">${text}</div></div>`
  const article =
    `<div class="eli-subdivision" id="art_1"><p class="title-article-norm">Article 1</p><div class="eli-title" id="art_1.tit_1"><p class="stitle-article-norm">Scope</p></div>` +
    `<div class="norm"><span class="no-parag">1.  </span><div class="norm inline-element">It applies to:${point('(a)', lines('norm', 'tests:') + point('(i)', lines('norm', 'of bees;')))}</div></div>` +
    `<p class="modref"><a title="32024R0001: REPLACED">▼M1</a></p></div>`
  const annex =
    `<div id="anx_I"><p class="title-annex-1">ANNEX I</p><p class="title-gr-seq-level-1">Lists</p><p class="norm">Of:</p>` +
    '<p class="title-gr-seq-level-1">A. Bees</p><p class="norm">Hives.</p></div>'
  const read = await pageOf(
    `<p class="reference">02016R0679 — DE — 04.05.2016 — 000.002</p><p class="toc-item">SECTION 1</p><div class="eli-main-title">${lines('title-doc-first', 'REGULATION (EU) 2016/679')}</div>${article}${annex}`,
  )
  expect(read.fields).toMatchObject({ identifier: '32016R0679', language: 'de', effectiveFrom: { day: '2016-05-04' } })
  expect(read.fields.url).toBe('https://eur-lex.europa.eu/legal-content/DE/TXT/?uri=CELEX:32016R0679')
  expect(passagesOf(read).slice(1)).toEqual([
    ['REGULATION (EU) 2016/679, Article 1', '1. It applies to:\n(a) tests:\n\n(i) of bees;'],
    ['REGULATION (EU) 2016/679, ANNEX I', 'Of:\n\nA. Bees\n\nHives.'],
  ])
})

test('an act consolidated before 2009 is known by its first line', async () => {
  const read = await pageOf(
    '<p style="x">1998F0699 — DE — 05.07.2001 — 001.001</p><table><tr><td><p><a href="x">►B</a></p></td><td><p>GEMEINSAME MAßNAHME</p><p>vom 3. Dezember 1998</p><p>betreffend Muster (98/699/JI)</p></td></tr></table>' +
      '<p><a href="x">▼B</a></p><p style="font-style: italic">Artikel 2</p><p>(1) Es gilt.</p>',
  )
  expect(read.fields).toMatchObject({
    title: 'GEMEINSAME MAßNAHME vom 3. Dezember 1998 betreffend Muster (98/699/JI)',
    identifier: '31998F0699',
    effectiveFrom: { day: '2001-07-05' },
  })
  expect(passagesOf(read).at(-1)).toEqual([
    'GEMEINSAME MAßNAHME vom 3. Dezember 1998 (98/699/JI), Artikel 2',
    '(1) Es gilt.',
  ])
})

test('a proposal is cited by its number, and what it quotes is no article of its own', async () => {
  const numbered = (style: string, number: string, text: string): string =>
    `<p class="li ${style}"><span class="num"><span>${number}</span></span><span>${text}</span></p>`
  const read = await pageOf(
    `${lines('Emission', 'Brüssel, den 21.4.2021')}${lines('Rfrenceinstitutionnelle', 'COM(2021) 206 final')}${lines('Typedudocument_cp', 'VERORDNUNG')}${lines('Titreobjet_cp', 'über Muster')}` +
      `${lines('Typedudocument', 'VERORDNUNG')}${lines('Titreobjet', 'über Muster')}${numbered('ManualConsidrant', '(1)', 'Muster zählen.')}` +
      `<p class="Titrearticle"><span>Artikel 1</span><span><br>Gegenstand</span></p>${numbered('Point0', 'a)', 'Muster von 2020<span class="FootnoteReference"><a class="footnoteRef">1</a></span>;')}${lines('Titrearticle', '„Artikel 5a')}` +
      `${lines('Annexetitre', 'ANHANG I<br>Listen')}${lines('Normal', 'Bienen.')}`,
  )
  expect(read.fields).toMatchObject({ title: 'VERORDNUNG über Muster', publishedAt: { day: '2021-04-21' } })
  expect(passagesOf(read).slice(1)).toEqual([
    ['COM(2021) 206 final, recital 1', 'Muster zählen.'],
    ['COM(2021) 206 final, Artikel 1', 'a) Muster von 2020[1];\n\n„Artikel 5a'],
    ['COM(2021) 206 final, ANHANG I Listen', 'Bienen.'],
  ])
})

test.each([
  [['COMMISSION DECISION', 'of 3 May 2007', 'amending Directive 2002/2/EC', '(2007/363/EC)'], '32007D0363'],
  [['COMMISSION DECISION', 'of 3 May 2007', 'amending Directive 2002/2/EC'], undefined],
  [['Corrigendum to Regulation (EU) 2016/679', 'of 27 April 2016'], undefined],
  [['Berichtigung der Verordnung (EU) 2016/679', 'vom 27. April 2016'], undefined],
  [['DIRECTIVE 95/46/EC', 'of 24 October 1995'], '31995L0046'],
  [['COUNCIL REGULATION (EEC) No 2658/87', 'of 23 July 1987'], '31987R2658'],
  [['Règlement (CE) n° 6/2002 du Conseil', 'du 12 décembre 2001'], '32002R0006'],
])('the title %j has the number %j, and never that of an act that it names', async (title, identifier) => {
  const end = '<p class="note">See <a href="http://data.europa.eu/eli/reg/2016/1/oj">another</a></p>'
  expect((await pageOf(lines('oj-doc-ti', ...title) + lines('oj-ti-art', 'Article 1') + end)).fields.identifier).toBe(
    identifier,
  )
})

test.each([
  ['in elements of their own', (text: string) => `<div class="eli-subdivision" id="art_1">${text}</div>`],
  ['below headings', (text: string) => text],
])('articles that an act inserts into another one are text of its own article, %s', async (_, wrapped) => {
  const inserted =
    lines('oj-ti-art', '‘Article 7a') + lines('oj-sti-art', 'Hives') + lines('oj-normal', 'They are counted.’')
  const article = `${lines('oj-ti-art', 'Article 1')}${lines('oj-sti-art', 'Amendments')}${row('(1)', `inserted:${inserted}`)}${inserted}`
  const read = await pageOf(lines('oj-doc-ti', 'REGULATION (EU) 2024/1') + wrapped(article))
  expect(
    read.provisions.filter(({ kind }) => kind === 'article').map(({ label, heading }) => [label, heading]),
  ).toEqual([['Article 1', 'Amendments']])
  const text = '‘Article 7a\n\nHives\n\nThey are counted.’'
  expect(passagesOf(read).at(-1)?.[1]).toBe(`(1) inserted:\n\n${text}\n\n${text}`)
})
