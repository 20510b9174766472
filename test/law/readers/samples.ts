import { docxOf, paragraph, pdfOf, tableOf } from './files.ts'
import { GII_NORM } from './gii-norm-sample.ts'
import type { Sample } from './sample.ts'

const xml = (text: string): Buffer => Buffer.from(`<?xml version="1.0" encoding="UTF-8"?>\n${text}`)

const AKN =
  xml(`<akomaNtoso xmlns="http://docs.oasis-open.org/legaldocml/ns/akn/3.0"><act><meta><identification source="#p">
<FRBRWork><FRBRuri value="/akn/za/act/2001/5"/><FRBRdate date="2001-05-01" name="Generation"/><FRBRcountry value="za"/></FRBRWork>
<FRBRExpression><FRBRdate date="2003-02-01" name="Generation"/><FRBRlanguage language="eng"/></FRBRExpression></identification></meta>
<preface><p><docTitle>Samples Act, 2001</docTitle></p></preface><body><chapter eId="chp_1"><num>1</num><heading>General</heading>
<section eId="sec_1"><num>1.</num><heading>Scope</heading><subsection eId="sec_1__1"><num>(1)</num><content><p>This Act applies to samples<authorialNote marker="1"><p>As amended.</p></authorialNote>.</p></content></subsection>
<subsection eId="sec_1__2"><num>(2)</num><intro><p>It does not apply to—</p></intro><paragraph eId="a"><num>(a)</num><content><p>tests;</p></content></paragraph><paragraph eId="b"><num>(b)</num><content><p>drafts.</p></content></paragraph></subsection></section>
<section eId="sec_2"><num>2.</num><heading>Fees</heading><content><table><tr><th>Kind</th><th>Fee</th></tr><tr><td>First</td><td>10</td></tr></table></content></section>
<section eId="sec_3"><num>3.</num><heading>Amendment</heading><content><p>Section 9 is replaced by <mod><quotedStructure><section eId="q"><num>9.</num><heading>Old</heading><content><p>New words.</p></content></section></quotedStructure></mod></p></content></section>
<section eId="sec_4"><num>4.</num><heading>[Repealed]</heading></section></chapter></body>
<attachments><attachment eId="att_1"><heading>First Schedule</heading><subheading>Tests</subheading><doc name="schedule"><mainBody><section eId="att_1__sec_1"><num>1.</num><content><p>A test is made once.</p></content></section></mainBody></doc></attachment></attachments></act></akomaNtoso>`)

/** As version 2 has schedules. */
const AKN_COMPONENTS =
  xml(`<akomaNtoso xmlns="http://www.akomantoso.org/2.0"><act><meta><identification><FRBRWork><FRBRuri value="/za/act/2001/6"/><FRBRalias value="Tests Act, 2001"/><FRBRdate date="2001-05-01" name="Generation"/></FRBRWork><FRBRExpression><FRBRdate date="2003-02-01" name="Generation"/><FRBRlanguage language="eng"/></FRBRExpression></identification></meta><body><section id="section-1"><num>1.</num><heading>Scope</heading><content><p>This Act applies to tests.</p></content></section></body></act>
<components><component id="component-schedule1"><doc name="schedule1"><meta><identification><FRBRWork><FRBRalias value="Schedule 1"/></FRBRWork></identification></meta><mainBody><section id="schedule1-1"><num>1.</num><content><p>A test is made twice.</p></content></section></mainBody></doc></component></components></akomaNtoso>`)

const CLML =
  xml(`<Legislation xmlns="http://www.legislation.gov.uk/namespaces/legislation" DocumentURI="http://www.legislation.gov.uk/ukpga/2001/5" RestrictStartDate="2003-02-01">
<ukm:Metadata xmlns:ukm="http://www.legislation.gov.uk/namespaces/metadata" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Samples Act 2001</dc:title><ukm:PrimaryMetadata><ukm:EnactmentDate Date="2001-05-01"/></ukm:PrimaryMetadata></ukm:Metadata>
<Primary><Body><Part id="part-1"><Number>Part I</Number><Title>General</Title><P1group><Title>Scope</Title><P1 id="section-1"><Pnumber>1</Pnumber><P1para>
<P2 id="section-1-1"><Pnumber>1</Pnumber><P2para><Text>This Act applies to samples<FootnoteRef Ref="f00001"/>.</Text></P2para></P2>
<P2 id="section-1-2"><Pnumber>2</Pnumber><P2para><Text>It does not apply to—</Text><P3 id="section-1-2-a"><Pnumber>a</Pnumber><P3para><Text>tests;</Text></P3para></P3><P3 id="section-1-2-b"><Pnumber>b</Pnumber><P3para><Text>drafts.</Text></P3para></P3></P2para></P2></P1para></P1></P1group>
<P1group><Title>Fees</Title><P1 id="section-2"><Pnumber>2</Pnumber><P1para><Tabular><table xmlns="http://www.w3.org/1999/xhtml"><tbody><tr><td>Kind</td><td>Fee</td></tr><tr><td>First</td><td>10</td></tr></tbody></table></Tabular></P1para></P1></P1group>
<P1group><Title>Amendment</Title><P1 id="section-3"><Pnumber>3</Pnumber><P1para><Text>Section 9 is replaced by—</Text><BlockAmendment><P1><Pnumber>9</Pnumber><P1para><Text>New words.</Text></P1para></P1></BlockAmendment></P1para></P1></P1group></Part></Body></Primary>
<Footnotes><Footnote id="f00001"><FootnoteText><Para><Text>As amended.</Text></Para></FootnoteText></Footnote></Footnotes></Legislation>`)

const ECFR =
  xml(`<DIV5 N="51" TYPE="PART" hierarchy_metadata="{&quot;path&quot;:&quot;/title-1/part-51&quot;,&quot;citation&quot;:&quot;1 CFR Part 51&quot;}"><HEAD>PART 51—SAMPLES</HEAD><AUTH><HED>Authority:</HED><PSPACE>5 U.S.C. 552(a).</PSPACE></AUTH>
<DIV8 N="51.1" TYPE="SECTION"><HEAD>§ 51.1 Scope.</HEAD><P>(a) This part applies to samples.</P><P>(b) It does not apply to tests.</P><CITA TYPE="N">[47 FR 34108, Aug. 6, 1982]</CITA></DIV8>
<DIV8 N="51.3" TYPE="SECTION"><HEAD>§ 51.3 Fees.</HEAD><TABLE><TR><TH>Kind</TH><TH>Fee</TH></TR><TR><TD>First</TD><TD>10<SU>2</SU></TD></TR></TABLE></DIV8>
<DIV8 N="51.5" TYPE="SECTION"><HEAD>§ 51.5 [Reserved]</HEAD></DIV8></DIV5>`)

const CFR =
  xml(`<CFRDOC><AMDDATE>December 26, 2014</AMDDATE><FMTR><TITLEPG><TITLENUM>Title 14</TITLENUM><SUBJECT>Samples</SUBJECT><PARTS>Part 1200 to End</PARTS><REVISED>Revised as of January 1, 2015</REVISED></TITLEPG></FMTR>
<TITLE><CHAPTER><PART><EAR>Pt. 1200</EAR><HD SOURCE="HED">PART 1200—SAMPLES</HD><CONTENTS><SECHD>Sec.</SECHD><SECTNO>1200.1</SECTNO><SUBJECT>Scope.</SUBJECT></CONTENTS><AUTH><HD SOURCE="HED">Authority:</HD><P>5 U.S.C. 552(a).</P></AUTH>
<SECTION><SECTNO>§ 1200.1</SECTNO><SUBJECT>Scope.</SUBJECT><P>(a) This part applies to samples.</P><PRTPAGE P="3"/><P>(b) It does not apply to tests.</P></SECTION>
<SECTION><SECTNO>§ 1200.2</SECTNO><SUBJECT>Fees.</SUBJECT><GPOTABLE><BOXHD><CHED>Kind</CHED><CHED>Fee</CHED></BOXHD><ROW><ENT>First</ENT><ENT>10</ENT></ROW></GPOTABLE></SECTION>
<SECTION><SECTNO>§ 1200.3</SECTNO><RESERVED>[Reserved]</RESERVED></SECTION></PART></CHAPTER></TITLE></CFRDOC>`)

const USLM =
  xml(`<uscDoc xmlns="http://schemas.gpo.gov/xml/uslm" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/" identifier="/us/usc/t98" xml:lang="en"><meta><dc:title>Title 98</dc:title><dcterms:created>2023-06-29T09:14:42</dcterms:created></meta>
<main><title identifier="/us/usc/t98"><num value="98">Title 98—</num><heading>SAMPLES</heading><toc><tocItem><column>1.</column></tocItem></toc>
<section identifier="/us/usc/t98/s1"><num value="1">§ 1.</num><heading>Scope</heading><subsection identifier="/us/usc/t98/s1/a"><num value="a">(a)</num><chapeau>This title applies to—</chapeau><paragraph identifier="/us/usc/t98/s1/a/1"><num value="1">(1)</num><content>samples;<ref class="footnoteRef" idref="f1">1</ref><footnote id="f1"><num>1</num> So in original.</footnote></content></paragraph><paragraph><num value="2">(2)</num><content>drafts.</content></paragraph></subsection><sourceCredit>(July 30, 1947.)</sourceCredit>
<notes><note topic="amendments"><heading>Amendments</heading><p>1951—Added <quotedContent><section><num>§ 7.</num><heading>Old</heading></section></quotedContent></p></note></notes></section>
<section identifier="/us/usc/t98/s2" status="repealed"><num value="2">[§ 2.</num><heading>Repealed. Pub. L. 99–1]</heading></section></title></main></uscDoc>`)

const REGML =
  xml(`<regulation xmlns="eregs"><fdsys><cfrTitleNum>12</cfrTitleNum><date>2013-12-30</date><title>SAMPLES</title></fdsys><preamble><agency>Sample Bureau</agency><effectiveDate>2014-01-01</effectiveDate></preamble>
<part label="1099"><tableOfContents><tocSecEntry><sectionNum>1</sectionNum></tocSecEntry></tableOfContents><content><subpart label="1099-Subpart"><content>
<section label="1099-1" sectionNum="1"><subject>§ 1099.1 Scope.</subject><paragraph label="1099-1-a" marker="(a)"><title type="keyterm">Samples.</title><content>This part applies to samples.<footnote ref="1">As amended.</footnote></content><paragraph label="1099-1-a-1" marker="(1)"><content>It does not apply to tests.</content></paragraph></paragraph></section></content></subpart></content></part></regulation>`)

const FORMEX =
  xml(`<ACT xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="http://formex.publications.europa.eu/schema/formex-05.55-20141201.xd"><BIB.INSTANCE><DATE ISO="20160427">20160427</DATE><LG.DOC>EN</LG.DOC><NO.DOC FORMAT="YN" TYPE="OJ"><NO.CURRENT>679</NO.CURRENT><YEAR>2016</YEAR><COM>EU</COM></NO.DOC></BIB.INSTANCE><TITLE><TI><P>Regulation (EU) 2016/679</P><P>on samples</P></TI></TITLE>
<PREAMBLE><PREAMBLE.INIT>THE COUNCIL,</PREAMBLE.INIT><GR.CONSID><CONSID><NP><NO.P>(1)</NO.P><TXT>Samples matter.</TXT></NP></CONSID></GR.CONSID></PREAMBLE>
<ENACTING.TERMS><DIVISION><TITLE><TI><P>CHAPTER I</P></TI><STI><P>General</P></STI></TITLE><ARTICLE IDENTIFIER="001"><TI.ART>Article 1</TI.ART><STI.ART>Scope</STI.ART><PARAG IDENTIFIER="001.001"><NO.PARAG>1.</NO.PARAG><ALINEA>This Regulation applies to <QUOT.START CODE="2018"/>samples<QUOT.END CODE="2019"/><NOTE TYPE="FOOTNOTE"><P>OJ L 1.</P></NOTE>.</ALINEA></PARAG><PARAG IDENTIFIER="001.002"><NO.PARAG>2.</NO.PARAG><ALINEA><P>It does not apply to:</P><LIST TYPE="alpha"><ITEM><NP><NO.P>(a)</NO.P><TXT>tests;</TXT></NP></ITEM><ITEM><NP><NO.P>(b)</NO.P><TXT>drafts.</TXT></NP></ITEM></LIST></ALINEA></PARAG></ARTICLE>
<ARTICLE IDENTIFIER="002"><TI.ART>Article 2</TI.ART><STI.ART>Amendment</STI.ART><ALINEA><P>Article 9 is replaced:</P><QUOT.S LEVEL="1"><ARTICLE IDENTIFIER="009"><TI.ART>Article 9</TI.ART><ALINEA>New words.</ALINEA></ARTICLE></QUOT.S></ALINEA></ARTICLE>
<ARTICLE IDENTIFIER="003"><TI.ART>Article 3</TI.ART><ALINEA>It shall apply from 25 May 2018.</ALINEA></ARTICLE></DIVISION></ENACTING.TERMS></ACT>`)

const EUR_LEX =
  Buffer.from(`<!DOCTYPE html><html><head><title>L_1</title></head><body><p class="oj-hd-date">4.5.2016</p><div class="eli-main-title" id="tit_1"><p class="oj-doc-ti">REGULATION (EU) 2016/679</p></div>
<div class="eli-subdivision" id="rct_1"><table><tbody><tr><td><p class="oj-normal">(1)</p></td><td><p class="oj-normal">Samples matter.</p></td></tr></tbody></table></div>
<div id="cpt_I"><p class="oj-ti-section-1">CHAPTER I</p><div class="eli-subdivision" id="art_1"><p class="oj-ti-art">Article 1</p><div class="eli-title"><p class="oj-sti-art">Scope</p></div><div class="eli-subdivision" id="001.001"><p class="oj-normal">1.   It applies to samples.</p></div>
<table><tbody><tr><td><p>(a)</p></td><td><p>tests;</p></td></tr></tbody></table></div></div></body></html>`)

const EUR_LEX_PLAIN = Buffer.from(
  `<!DOCTYPE HTML><html lang="EN"><head><meta name="DC.description" content="Council Regulation (EC) No 6/2002 on samples"><meta name="DC.source" content="Official Journal L 003 , 05/01/2002 P. 0001; "><meta name="DC.identifier" content="http://x.example/LexUriServ.do?uri=CELEX:32002R0006:EN:HTML"><title>EUR-Lex</title></head><body><div id="banner"><p>Notice</p></div><h1>32002R0006</h1><div id="TexteOnly"><p><txt_te><p>HAS ADOPTED THIS REGULATION:</p><p>TITLE I</p><p>GENERAL PROVISIONS</p><p>Article 1</p><p>Scope</p><p>1. It applies to samples.</p><p>(a) tests;</p><p>Article 2</p><p>Article 1 does not apply to drafts.</p></txt_te></p></div></body></html>`,
)

const EUR_LEX_CONSOLIDATED = Buffer.from(
  `<!DOCTYPE html><html><head><title>Consolidated</title></head><body><p class="reference">2009L0065 — FR — 20.06.2013 — 003.001</p><p class="title-doc-first">DIRECTIVE 2009/65/CE</p><p class="title-article-norm">Article premier</p><p class="norm">Elle concerne les échantillons.</p></body></html>`,
)

const HTML = Buffer.from(
  `<!doctype html><html lang="en"><head><title>Guide</title><style>p{}</style></head><body><nav><a href="/">Home</a></nav><h1 id="top">Guide to samples</h1><p>Read this first.</p><h2 id="fees">Fees</h2><div><p>Fees are:</p><ol><li>ten;</li><li>twenty.</li></ol><table><tr><th>Kind</th><th>Fee</th></tr><tr><td>First</td><td>10</td></tr></table></div><script>let x = 1</script></body></html>`,
)

const GERMAN = Buffer.from(
  `---\nTitle: Mustergesetz\njurabk: MusterG 2020\nslug: musterg\n---\n\n# Mustergesetz (MusterG)\n\nAusfertigungsdatum\n:   2020-01-02\n\n## § 1 Anwendungsbereich\n\n(1) Dieses Gesetz gilt für\nMuster.\n\n(2) Es gilt nicht für\n\n1.  Versuche,\n\n2.  Entwürfe.\n\n*    *   Art\n        der Gebühr\n\n    *   Höhe\n\n\n*    *\n    *   10\n\n## (XXXX) §§ 2 bis 4 (weggefallen)\n\n## § 5 (weggefallen)\n`,
)

const DOCX = docxOf(
  [
    paragraph('Order on samples', 'H1'),
    paragraph('This order applies to samples', undefined, 2),
    paragraph('Fees', 'H2'),
    tableOf([
      ['Kind', 'Fee'],
      ['First', '10'],
    ]),
  ].join(''),
  { 2: 'As amended.' },
)

const PDF = pdfOf([
  [
    { text: 'Gazette of samples', y: 770 },
    { text: 'Order on samples', y: 720, size: 18 },
    { text: 'This order applies to samples that', y: 690 },
    { text: 'are kept.', y: 677 },
    { text: 'Section 1 Fees', y: 640 },
    { text: 'The fee is ten.', y: 615 },
    { text: 'Page 1 of 2', y: 30 },
  ],
  [
    { text: 'Gazette of samples', y: 770 },
    { text: 'Section 2 Duties', y: 720 },
    { text: '(a) Keep samples.', y: 700 },
    { text: '(b) Count samples.', y: 686 },
    { text: 'Page 2 of 2', y: 30 },
  ],
])

const LIST = '(2) It does not apply to—\n(a) tests;\n(b) drafts.'
const TABLE = 'Kind | Fee\nFirst | 10'

export const SAMPLES: readonly Sample[] = [
  {
    name: 'Akoma Ntoso',
    format: 'akoma-ntoso',
    bytes: AKN,
    kinds: { section: 5, subsection: 2, paragraph: 2, chapter: 1, schedule: 1 },
    title: 'Samples Act, 2001',
    from: '2003-02-01',
    passages: [
      `(1) This Act applies to samples[1].\n\n${LIST}\n\n[1] As amended.`,
      TABLE,
      'Section 9 is replaced by\n\n9. Old\nNew words.',
      '4. [Repealed]',
    ],
    cited: [
      'Samples Act, 2001, section 1',
      'Samples Act, 2001, section 4',
      'Samples Act, 2001, First Schedule, section 1',
    ],
  },
  {
    name: 'Akoma Ntoso with components',
    format: 'akoma-ntoso',
    bytes: AKN_COMPONENTS,
    kinds: { section: 2, schedule: 1 },
    title: 'Tests Act, 2001',
    from: '2003-02-01',
    passages: ['This Act applies to tests.', 'A test is made twice.'],
    cited: ['Tests Act, 2001, section 1', 'Tests Act, 2001, Schedule 1, section 1'],
  },
  {
    name: 'CLML',
    format: 'clml',
    bytes: CLML,
    kinds: { section: 3, subsection: 2, paragraph: 2, part: 1 },
    title: 'Samples Act 2001',
    from: '2003-02-01',
    passages: [`(1) This Act applies to samples[1].\n\n${LIST}`, TABLE],
    cited: ['Samples Act 2001, section 1'],
  },
  {
    name: 'eCFR',
    format: 'ecfr',
    bytes: ECFR,
    kinds: { section: 3, part: 1 },
    title: 'PART 51—SAMPLES',
    passages: [
      'Authority: 5 U.S.C. 552(a).',
      '(a) This part applies to samples.\n\n(b) It does not apply to tests.\n\n[47 FR 34108, Aug. 6, 1982]',
      'Kind | Fee\nFirst | 10^2',
      '§ 51.5 [Reserved]',
    ],
    cited: ['1 CFR 51.1', '1 CFR Part 51'],
  },
  {
    name: 'the annual CFR',
    format: 'cfr',
    bytes: CFR,
    kinds: { section: 3, part: 1 },
    title: 'Title 14 Samples Part 1200 to End',
    from: '2015-01-01',
    passages: ['(a) This part applies to samples.\n\n(b) It does not apply to tests.', TABLE, '§ 1200.3 [Reserved]'],
    cited: ['14 CFR 1200.1'],
  },
  {
    name: 'USLM',
    format: 'uslm',
    bytes: USLM,
    kinds: { section: 2, subsection: 1, paragraph: 2 },
    title: 'Title 98—SAMPLES',
    from: '2023-06-29',
    passages: ['[§ 2. Repealed. Pub. L. 99–1]'],
    cited: ['98 U.S.C. 1', '98 U.S.C. 1 note', '98 U.S.C. 2'],
  },
  {
    name: 'RegML',
    format: 'regml',
    bytes: REGML,
    kinds: { section: 1, paragraph: 2 },
    title: 'SAMPLES',
    from: '2014-01-01',
    passages: ['(a) Samples.\nThis part applies to samples.[1]\n(1) It does not apply to tests.\n\n[1] As amended.'],
    cited: ['12 CFR 1099.1'],
  },
  {
    name: 'Formex',
    format: 'formex',
    bytes: FORMEX,
    kinds: { article: 3, paragraph: 2, recital: 1, point: 2 },
    title: 'Regulation (EU) 2016/679 on samples',
    from: '2018-05-25',
    passages: [
      'Samples matter.',
      '1. This Regulation applies to ‘samples’[1].\n\n2. It does not apply to:\n(a) tests;\n(b) drafts.\n\n[1] OJ L 1.',
    ],
    cited: ['Regulation (EU) 2016/679, Article 1', 'Regulation (EU) 2016/679, recital 1'],
  },
  {
    name: 'EUR-Lex',
    format: 'eur-lex',
    bytes: EUR_LEX,
    kinds: { article: 1, recital: 1, paragraph: 1 },
    title: 'REGULATION (EU) 2016/679',
    passages: ['Samples matter.', '1. It applies to samples.\n\n(a) tests;'],
    cited: ['REGULATION (EU) 2016/679, Article 1'],
  },
  {
    name: 'EUR-Lex before 2004',
    format: 'eur-lex',
    bytes: EUR_LEX_PLAIN,
    kinds: { article: 2, division: 1 },
    title: 'Council Regulation (EC) No 6/2002 on samples',
    passages: ['1. It applies to samples.\n\n(a) tests;', 'Article 1 does not apply to drafts.'],
    cited: ['Council Regulation (EC) No 6/2002, Article 1', 'Council Regulation (EC) No 6/2002, Article 2'],
  },
  {
    name: 'EUR-Lex, consolidated',
    format: 'eur-lex',
    bytes: EUR_LEX_CONSOLIDATED,
    kinds: { article: 1 },
    title: 'DIRECTIVE 2009/65/CE',
    from: '2013-06-20',
    passages: ['Elle concerne les échantillons.'],
    cited: ['DIRECTIVE 2009/65/CE, Article premier'],
  },
  {
    name: 'a web page',
    format: 'html',
    bytes: HTML,
    kinds: { heading: 2 },
    title: 'Guide to samples',
    passages: ['Read this first.', `Fees are:\n\n1. ten;\n2. twenty.\n\n${TABLE}`],
    cited: ['Guide to samples, Fees'],
  },
  {
    name: 'German law in Markdown',
    format: 'markdown',
    bytes: GERMAN,
    kinds: { section: 2, sections: 1 },
    title: 'Mustergesetz',
    from: '2020-01-02',
    passages: [
      '(1) Dieses Gesetz gilt für\nMuster.\n\n(2) Es gilt nicht für\n\n1. Versuche,\n\n2. Entwürfe.\n\nArt der Gebühr | Höhe\n| 10',
      '§ 5 (weggefallen)',
    ],
    cited: ['§ 1 MusterG', '§ 5 MusterG'],
  },
  GII_NORM,
  {
    name: 'Word',
    format: 'docx',
    bytes: DOCX,
    kinds: { heading: 2 },
    title: 'Order on samples',
    passages: ['This order applies to samples[1]\n\n[1] As amended.', TABLE],
    cited: ['Order on samples, Fees'],
  },
  {
    name: 'PDF',
    format: 'pdf',
    bytes: PDF,
    kinds: { heading: 1, section: 2 },
    title: 'Order on samples',
    passages: [
      'This order applies to samples that are kept.',
      'The fee is ten.',
      '(a) Keep samples.\n\n(b) Count samples.',
    ],
    cited: ['Order on samples, Section 1'],
  },
]

/** A `source.yaml` that states what samples do not. */
export const SAMPLE_SOURCE_YAML = `
authority: Sample Office
jurisdiction: ZZ
language: en
canonical_url: https://law.example/
published_at: 2020-01-01
effective_at: 2020-02-01
`

/** The first sample of each format. */
export const ONE_OF_EACH: readonly Sample[] = SAMPLES.filter(
  ({ format }, at) => SAMPLES.findIndex((each) => each.format === format) === at,
)
