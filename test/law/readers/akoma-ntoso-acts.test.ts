import { expect, test } from 'vitest'
import { readDocument } from '#law/readers/read.ts'

test('a Swiss act is cited by its articles and not by the notes of their numbers', async () => {
  const document = await read(swiss())
  const { fields, provisions } = document
  expect(fields).toMatchObject({
    title: 'Verordnung des EJPD über die Beiträge',
    identifier: 'https://fedlex.data.admin.ch/eli/cc/2014/522',
    url: 'https://fedlex.data.admin.ch/eli/cc/2014/522/20170301',
    jurisdiction: 'CH',
    language: 'de',
  })
  expect(fields.publishedAt).toEqual({ day: '2014-09-22', rule: 'enactment' })
  expect(fields.effectiveFrom).toEqual({ day: '2017-03-01' })
  const passages = provisions.flatMap((each) => {
    const { label, reference } = document.cite(each)
    return each.text === undefined ? [] : [[label, reference, each.text]]
  })
  expect(passages).toEqual([
    [
      'Verordnung des EJPD über die Beiträge, preface',
      undefined,
      'Verordnung des EJPD\nüber die Beiträge[1]\n\n[1] SR 1',
    ],
    [
      'Verordnung des EJPD über die Beiträge, Art. 6bis',
      'Art. 6bis',
      'Preise in m^2:\nFläche[1] | 1,7\n\nFassung gemäss Ziff. I.\n\n[1] Index.',
    ],
    ['Verordnung des EJPD über die Beiträge, Art. 7 und 8', 'Art. 7 und 8', 'Aufgehoben durch Ziff. II.'],
    [
      'Verordnung des EJPD über die Beiträge, Schlussbestimmungen zum XXVI. Titel',
      undefined,
      'Eingefügt durch Ziff. III.',
    ],
    [
      'Verordnung des EJPD über die Beiträge, Schlussbestimmungen zum XXVI. Titel, Art. 7',
      undefined,
      'Der Schlusstitel gilt.',
    ],
    ['Verordnung des EJPD über die Beiträge, Anhang 1, preface', undefined, 'Anhang 1[1]\n\n[1] Eingefügt.'],
    ['Verordnung des EJPD über die Beiträge, Anhang 1, 1. Abkommen', undefined, 'Die Abkommen gelten.'],
  ])
})

test('an act of Luxembourg has its country, its language and its days from authority tables', async () => {
  const { fields } = await read(luxembourgish())
  expect(fields).toMatchObject({ title: 'Loi relative aux essais', jurisdiction: 'LU', language: 'fr' })
  expect(fields.publishedAt).toEqual({ day: '2022-06-01' })
  expect(fields.effectiveFrom).toEqual({ day: '2022-06-05' })
})

test.each([
  [
    'the short title of the cover',
    '<coverPage><p><shortTitle>Groceries Bill</shortTitle></p></coverPage><preface><longTitle><p>Set up an Adjudicator.</p></longTitle></preface>',
    'Groceries Bill',
  ],
  [
    'the long title, where another title stands in quoted law or in an annex',
    '<preface><longTitle><p>An Act to amend the Seas Act.</p></longTitle></preface><body><section><num>1</num><content><p><mod><quotedStructure><p><docTitle>Seas Act</docTitle></p></quotedStructure></mod></p></content></section></body><components><component><doc name="annex"><preface><p><docTitle>Annex</docTitle></p></preface></doc></component></components>',
    'An Act to amend the Seas Act',
  ],
  [
    'the name of the work',
    '<body><section><num>1</num><content><p>Text.</p></content></section></body>',
    'Smith v Jones',
  ],
])('an act is named by %s', async (_, parts, title) => {
  const work = '<FRBRWork><FRBRuri value="/akn/uk/bill/2012/113"/><FRBRname value="Smith v Jones"/></FRBRWork>'
  const xml = `<akomaNtoso><bill><meta><identification>${work}</identification></meta>${parts}</bill></akomaNtoso>`
  expect((await read(xml)).fields.title).toBe(title)
})

test('the paragraphs of a schedule are cited by it, whatever headings stand between', async () => {
  const paragraph = (number: number) =>
    `<paragraph eId="schedule-1-paragraph-${number}"><num>${number}</num><content><p>Rule ${number}.</p></content></paragraph>`
  const section = '<section eId="section-1"><num>1</num><content><p>Text.</p></content></section>'
  const cross = `<part><num>PART 1</num><hcontainer name="crossheading"><heading>Rules</heading>${paragraph(1)}</hcontainer></part>`
  const schedules = `<hcontainer name="schedules"><hcontainer name="schedule" eId="schedule-1"><num>SCHEDULE 1</num><heading>Members</heading>${cross}${paragraph(2)}${section}</hcontainer></hcontainer>`
  const document = await read(
    `<akomaNtoso><act><preface><p><shortTitle>Seas Act</shortTitle></p></preface><body>${section}${schedules}</body></act></akomaNtoso>`,
  )
  const passages = document.provisions.filter(({ text }) => text !== undefined)
  expect(passages.slice(1).map((each) => document.cite(each).label)).toEqual([
    'Seas Act, section 1',
    'Seas Act, SCHEDULE 1, paragraph 1',
    'Seas Act, SCHEDULE 1, paragraph 2',
    'Seas Act, SCHEDULE 1, section 1',
  ])
})

test('an `hcontainer` that is a regulation is cited as one', async () => {
  const paragraph = '<paragraph eId="regulation-6-1"><num>(1)</num><content><p>Text.</p></content></paragraph>'
  const regulation = `<hcontainer name="regulation" eId="regulation-6"><num>6.</num><heading>Calls</heading>${paragraph}</hcontainer>`
  const work = '<FRBRWork><FRBRalias value="The Calls Regulations 2003"/></FRBRWork>'
  const document = await read(
    `<akomaNtoso><act><meta><identification>${work}</identification></meta><body>${regulation}</body></act></akomaNtoso>`,
  )
  const passages = document.provisions.filter(({ text }) => text !== undefined)
  expect(passages.map((each) => [document.cite(each).label, each.anchor, each.text])).toEqual([
    ['The Calls Regulations 2003, regulation 6', 'regulation-6', '(1) Text.'],
  ])
})

test('a paragraph of a judgment is cited by its number, under whatever heading it stands', async () => {
  const paragraph = (number: number, more = '') =>
    `<paragraph eId="para_${number}"><num>${number}.</num><content><p>Text.</p>${more}</content></paragraph>`
  const quoted = '<paragraph><num>“1.</num><content><p>The controller shall act.</p></content></paragraph>'
  const body = `<level><heading>The law</heading>${paragraph(62, quoted)}${paragraph(63)}</level>${paragraph(64)}`
  const work = '<FRBRWork><FRBRname value="Smith v Jones"/></FRBRWork>'
  const document = await read(
    `<akomaNtoso><judgment><meta><identification>${work}</identification></meta><judgmentBody><decision>${body}</decision></judgmentBody></judgment></akomaNtoso>`,
  )
  const passages = document.provisions.filter(({ text }) => text !== undefined)
  expect(passages.map((each) => document.cite(each).label)).toEqual([
    'Smith v Jones, paragraph 62',
    'Smith v Jones, paragraph 63',
    'Smith v Jones, paragraph 64',
  ])
})

async function read(xml: string) {
  return readDocument('a-file', Buffer.from(xml))
}

function swiss(): string {
  const days =
    '<FRBRdate date="2017-03-01" name="jolux:dateApplicability"/><FRBRdate date="2014-10-15" name="jolux:dateEntryInForce"/><FRBRdate date="2014-09-22" name="jolux:dateDocument"/>'
  const work = `<FRBRWork><FRBRuri value="https://fedlex.data.admin.ch/eli/cc/2014/522/20170301"/>${days}<FRBRcountry value="CH"/></FRBRWork>`
  const expression = `<FRBRExpression>${days}<FRBRlanguage language="de"/></FRBRExpression>`
  const preface =
    '<preface><p><docTitle>Verordnung des EJPD<br/>über die Beiträge<authorialNote><p>SR 1</p></authorialNote></docTitle></p></preface>'
  const table =
    '<table><tr><td><p>Fläche<sup><authorialNote><p>Index.</p></authorialNote></sup></p></td><td><blockList><item><num><placeholder>[tab]</placeholder></num><p>1,7</p></item></blockList></td></tr></table>'
  const articles = `<section eId="sec_1"><num>1. Abschnitt: </num><heading>Bereiche</heading><article eId="art_6_bis"><num><b>Art. 6</b><sup>bis</sup><authorialNote><p>Fassung gemäss Ziff. I.</p></authorialNote></num><paragraph><content><p>Preise in m<sup>2</sup>:</p>${table}</content></paragraph></article><article eId="art_7_8"><num><b>Art. 7</b> und <b>8</b><authorialNote><p>Aufgehoben durch Ziff. II.</p></authorialNote></num></article></section>`
  const added =
    '<proviso eId="disp_u17"><heading>Schlussbestimmungen <br/>zum XXVI. Titel<authorialNote><p>Eingefügt durch Ziff. III.</p></authorialNote></heading><article eId="disp_u17/art_7"><num>Art. 7</num><paragraph><content><p>Der Schlusstitel gilt.</p></content></paragraph></article></proviso>'
  const annex = `<components><component><doc name="annex"><meta><identification>${work}</identification></meta><preface><container name="headerOfAnnex"><block name="num">Anhang 1<authorialNote><p>Eingefügt.</p></authorialNote></block></container></preface><mainBody><level eId="annex_1/lvl_1"><num>1. </num><heading>Abkommen</heading><content><p>Die Abkommen gelten.</p></content></level></mainBody></doc></component></components>`
  return `<akomaNtoso><act name="publicLaw"><meta><identification>${work}${expression}</identification></meta>${preface}<body>${articles}${added}</body>${annex}</act></akomaNtoso>`
}

function luxembourgish(): string {
  const authority = 'http://publications.europa.eu/resource/authority'
  const work = `<FRBRWork><FRBRthis value="http://data.legilux.public.lu/eli/etat/leg/loi/2022/05/27/a250/jo"/><FRBRuri value=""/><FRBRdate date="2022-05-27" name=""/><FRBRcountry value="${authority}/country/LUX"/></FRBRWork>`
  const expression = `<FRBRExpression><FRBRdate date="2022-05-27" name=""/><FRBRlanguage language="${authority}/language/FRA"/></FRBRExpression>`
  const stated =
    '<scl:jolux scl:name="dateEntryInForce">2022-06-05</scl:jolux><scl:jolux scl:name="publicationDate">2022-06-01</scl:jolux>'
  return `<akomaNtoso xmlns:scl="http://www.scl.lu"><act name=""><meta><identification>${work}${expression}</identification><scl:JOLUXWork>${stated}</scl:JOLUXWork></meta><preface><longTitle><p>Loi relative aux essais.</p></longTitle></preface><body><article id="art_1er"><num>Art. 1<sup>er</sup></num><alinea><content><p>Texte.</p></content></alinea></article></body></act></akomaNtoso>`
}
