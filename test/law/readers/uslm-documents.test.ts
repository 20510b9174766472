import { expect, test } from 'vitest'
import { shareOf } from '#law/readers/coverage.ts'
import { readDocument, type ReadDocument } from '#law/readers/read.ts'

const NAMES = 'xmlns="http://schemas.gpo.gov/xml/uslm" xmlns:dc="http://purl.org/dc/elements/1.1/" xml:lang="en"'

async function readOf(root: string, meta: string, rest: string): Promise<ReadDocument> {
  const read = await readDocument('a-file', Buffer.from(`<${root} ${NAMES}><meta>${meta}</meta>${rest}</${root}>`))
  expect(shareOf(read.coverage)).toBe(1)
  return read
}

/** Text of the passages by their citations. */
function passagesOf(read: ReadDocument): Readonly<Record<string, string>> {
  const passages: Record<string, string> = {}
  for (const each of read.provisions) if (each.text !== undefined) passages[read.cite(each).label] = each.text
  return passages
}

test('a compilation of statutes was enacted when its act was, and is of the day of the last act in it', async () => {
  const read = await readOf(
    'statuteCompilation',
    '<dc:title>SAMPLES ACT OF 1970</dc:title><citableAs>Public Law 91–5, as amended</citableAs><dc:creator>United States House of Representatives</dc:creator><processedDate>2021-05-25</processedDate><approvedDate>1970-12-29</approvedDate>',
    '<preface><editionNote>[As Amended Through P.L. 116–9, Enacted <date date="2019-12-20">December 20, 2019</date>]</editionNote></preface><main><section identifier="/us/sComp/91/5/s3"><heading>definitions</heading><num value="3">Sec. 3<ref idref="f1" class="footnoteRef">1</ref></num><content>Samples.<footnote id="f1"><p>So in original.</p></footnote></content></section></main>',
  )
  expect(read.fields).toMatchObject({
    identifier: 'Public Law 91–5, as amended',
    authority: 'United States House of Representatives',
    publishedAt: { day: '1970-12-29', rule: 'enactment' },
    effectiveFrom: { day: '2019-12-20', rule: 'amendment-date' },
  })
  // The mark of a footnote is no digit of a number.
  expect(passagesOf(read)['SAMPLES ACT OF 1970, Sec. 3']).toBe('Samples.[1]\n\n[1] So in original.')
})

test('a public law is of the day of its approval, and cited by its number; marginal notes follow the text', async () => {
  const read = await readOf(
    'pLaw',
    '<dc:title>Public Law 115–7: To inspire.</dc:title><docNumber>7</docNumber><citableAs>Public Law 115–7</citableAs><congress>115</congress><publicPrivate>public</publicPrivate>',
    '<preface><dc:type>Public Law</dc:type><docNumber>115–7</docNumber></preface><main><title><num>TITLE I—</num><heading>SAMPLES</heading><section><num value="4">SEC. 4. </num><sidenote><p>Deadline.</p></sidenote><heading>PLAN.</heading><content>A plan on <page>131 STAT. 14</page>samples.</content></section></title><action><actionDescription>Approved February 28, 2017.</actionDescription></action></main>',
  )
  const approved = { day: '2017-02-28', rule: 'enactment' }
  expect(read.fields).toMatchObject({
    title: 'Public Law 115–7: To inspire.',
    identifier: 'Public Law 115–7',
    url: 'https://www.govinfo.gov/link/plaw/115/public/7',
    publishedAt: approved,
    effectiveFrom: approved,
  })
  expect(passagesOf(read)).toEqual({
    'Public Law 115–7': 'Public Law\n\n115–7\n\nApproved February 28, 2017.',
    'Public Law 115–7, SEC. 4': '[1]\n\nA plan on samples.\n\n[1] Deadline.',
  })
})

test('a bill is of its last stage and not of its conversion; each appropriation is a passage', async () => {
  const read = await readOf(
    'bill',
    '<dc:title>116 HR 2 RH: Making appropriations.</dc:title><citableAs>116 HR 2 RH</citableAs><processedDate>2024-09-09</processedDate>',
    '<preface><slugLine>•HR 2 RH</slugLine><dc:title>Making appropriations.</dc:title><action><date date="2019-03-27">March 27, 2019</date><actionDescription>Introduced</actionDescription></action><action><date><inline>April </inline>3, 2019</date><actionDescription>Reported</actionDescription></action></preface><main><title><num>TITLE I</num><heading>AGRICULTURE</heading><appropriations level="small"><heading>Forests</heading><content>For forests, $4.</content></appropriations><section><num>Sec. 101. </num><content>First.</content></section></title><division><num>DIVISION B—</num><heading>OTHER</heading><section><num>SEC. 101. </num><content>Second.</content></section></division></main>',
  )
  expect(read.fields).toMatchObject({
    title: '116 HR 2 RH: Making appropriations.',
    publishedAt: { day: '2019-04-03' },
    effectiveFrom: { day: '2019-04-03', rule: 'expression' },
  })
  const { '116 HR 2 RH': head, ...passages } = passagesOf(read)
  expect(head).toContain('Making appropriations.\n\nMarch 27, 2019\n\nIntroduced')
  expect(passages).toEqual({
    '116 HR 2 RH, Forests': 'For forests, $4.',
    '116 HR 2 RH, Sec. 101': 'First.',
    '116 HR 2 RH, DIVISION B, SEC. 101': 'Second.',
  })
  const references = read.provisions.flatMap((each) => read.cite(each).reference ?? [])
  expect(references).toEqual(['Sec. 101'])
})

test('an issue of the Federal Register has a passage a document, no provisions of the CFR and no day of effect', async () => {
  const read = await readOf(
    'frDoc',
    '<dc:title>Federal Register Volume 82</dc:title><dc:date>2017-06-07</dc:date><processedDate>2019-05-29</processedDate>',
    '<main><collection><component><rule identifier="/us/fr/82/frdoc2017-11841"><preface><subject>Samples</subject></preface><main><section><num>§ 12.104</num><heading>Items.</heading><p>New words.</p></section></main></rule></component></collection></main>',
  )
  expect(read.fields).toMatchObject({ publishedAt: { day: '2017-06-07' }, effectiveFrom: undefined })
  expect(passagesOf(read)).toEqual({ 'Federal Register Volume 82, Samples': 'Samples\n§ 12.104 Items.\nNew words.' })
  expect(read.provisions.map(({ kind }) => kind)).toEqual(['document', 'rule'])
})

test('a section of an act in an appendix of the United States Code is cited with the appendix and the act', async () => {
  const read = await readOf(
    'uscDoc',
    '<dc:title>Title 5a</dc:title>',
    '<main><appendix identifier="/us/usc/t5a"><num>Title 5—</num><heading>APPENDIX</heading><compiledAct><heading>SAMPLES ACT</heading><section identifier="/us/usc/t5a/compiledAct/92-463/s1"><num>§ 1.</num><heading>Title</heading><content>Text.</content></section></compiledAct></appendix></main>',
  )
  expect(passagesOf(read)).toEqual({ '5 U.S.C. App., SAMPLES ACT, § 1. Title': 'Text.' })
})

test('an engrossed amendment has its own metadata, and is of the day of its chamber', async () => {
  const meta =
    '<dc:title>AMENDMENTS to 116 HR 2</dc:title><citableAs>116 HR 2 EAS</citableAs><processedDate>2024-09-09</processedDate>'
  const rest =
    '<amendPreface><action><date>November 12, 2019.</date></action></amendPreface><amendMain><amendmentInstruction><content>At the end, add:<amendmentContent><section><num>SEC. 9. </num><content>Text.</content></section></amendmentContent></content></amendmentInstruction></amendMain>'
  const all = `<engrossedAmendment ${NAMES}><amendMeta>${meta}</amendMeta>${rest}</engrossedAmendment>`
  const read = await readDocument('a-file', Buffer.from(all))
  expect(read.fields).toMatchObject({ title: 'AMENDMENTS to 116 HR 2', publishedAt: { day: '2019-11-12' } })
  expect(passagesOf(read)).toEqual({
    '116 HR 2 EAS': 'November 12, 2019.\n\nAt the end, add:',
    '116 HR 2 EAS, SEC. 9': 'Text.',
  })
})

test('a volume of the Statutes at Large cites each section by its law, and has no day for all of them', async () => {
  const law = (number: string): string =>
    `<component><pLaw><meta><citableAs>Public Law 113–${number}</citableAs></meta><main><section><num>SECTION 1. </num><content>Text ${number}.</content></section></main></pLaw></component>`
  const rest = `<collection>${law('1')}${law('2')}</collection>`
  const read = await readOf(
    'statutesAtLarge',
    '<dc:title>Volume 128</dc:title><processedDate>2020-01-01</processedDate>',
    rest,
  )
  expect(read.fields.effectiveFrom).toBeUndefined()
  expect(passagesOf(read)).toEqual({
    'Public Law 113–1, SECTION 1': 'Text 1.',
    'Public Law 113–2, SECTION 1': 'Text 2.',
  })
})

test('an enrolled bill without a citation has its number before its title', async () => {
  const read = await readOf(
    'resolution',
    '<dc:title>115 SJRES 1 ENR: Approving samples.</dc:title>',
    '<main><section><content>That samples are approved.</content></section></main>',
  )
  expect(read.fields).toMatchObject({ identifier: '115 SJRES 1 ENR', publishedAt: undefined, effectiveFrom: undefined })
  expect(passagesOf(read)).toEqual({ '115 SJRES 1 ENR, section': 'That samples are approved.' })
})

test('a range of sections is named by both ends, and so is its note', async () => {
  const section = '<section identifier="/us/usc/t16/s19...19c"><num>§§ 19 to 19c.</num><heading>Repealed</heading>'
  const note = '<notes><note topic="x"><heading>History</heading><p>Text.</p></note></notes>'
  const read = await readOf('uscDoc', '<dc:title>Title 16</dc:title>', `<main>${section}${note}</section></main>`)
  const references = read.provisions.map((each) => read.cite(each).reference)
  expect(references).toContain('16 U.S.C. 19; 16 U.S.C. 19c')
})
