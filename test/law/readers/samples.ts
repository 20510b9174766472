import { readFileSync } from 'node:fs'
import { docxOf, paragraph, pdfOf, tableOf } from './files.ts'
import type { Sample } from './sample.ts'

const file = (name: string): Buffer => readFileSync(new URL(`samples/${name}`, import.meta.url))

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
    bytes: file('akoma-ntoso.xml'),
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
    bytes: file('akoma-ntoso-components.xml'),
    kinds: { section: 2, schedule: 1 },
    title: 'Tests Act, 2001',
    from: '2003-02-01',
    passages: ['This Act applies to tests.', 'A test is made twice.'],
    cited: ['Tests Act, 2001, section 1', 'Tests Act, 2001, Schedule 1, section 1'],
  },
  {
    name: 'CLML',
    format: 'clml',
    bytes: file('clml.xml'),
    kinds: { section: 3, subsection: 2, paragraph: 2, part: 1 },
    title: 'Samples Act 2001',
    from: '2003-02-01',
    passages: [`(1) This Act applies to samples[1].\n\n${LIST}`, TABLE],
    cited: ['Samples Act 2001, section 1'],
  },
  {
    name: 'eCFR',
    format: 'ecfr',
    bytes: file('ecfr.xml'),
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
    bytes: file('cfr.xml'),
    kinds: { section: 3, part: 1 },
    title: 'Title 14 Samples Part 1200 to End',
    from: '2015-01-01',
    passages: ['(a) This part applies to samples.\n\n(b) It does not apply to tests.', TABLE, '§ 1200.3 [Reserved]'],
    cited: ['14 CFR 1200.1'],
  },
  {
    name: 'USLM',
    format: 'uslm',
    bytes: file('uslm.xml'),
    kinds: { section: 2, subsection: 1, paragraph: 2 },
    title: 'Title 98—SAMPLES',
    from: '2023-06-29',
    passages: ['[§ 2. Repealed. Pub. L. 99–1]'],
    cited: ['98 U.S.C. 1', '98 U.S.C. 1 note', '98 U.S.C. 2'],
  },
  {
    name: 'RegML',
    format: 'regml',
    bytes: file('regml.xml'),
    kinds: { section: 1, paragraph: 2 },
    title: 'SAMPLES',
    from: '2014-01-01',
    passages: ['(a) Samples.\nThis part applies to samples.[1]\n(1) It does not apply to tests.\n\n[1] As amended.'],
    cited: ['12 CFR 1099.1'],
  },
  {
    name: 'Formex',
    format: 'formex',
    bytes: file('formex.xml'),
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
    bytes: file('eur-lex.html'),
    kinds: { article: 1, recital: 1, paragraph: 1 },
    title: 'REGULATION (EU) 2016/679',
    passages: ['Samples matter.', '1. It applies to samples.\n\n(a) tests;'],
    cited: ['REGULATION (EU) 2016/679, Article 1'],
  },
  {
    name: 'EUR-Lex before 2004',
    format: 'eur-lex',
    bytes: file('eur-lex-plain.html'),
    kinds: { article: 2, division: 1 },
    title: 'Council Regulation (EC) No 6/2002 on samples',
    passages: ['1. It applies to samples.\n\n(a) tests;', 'Article 1 does not apply to drafts.'],
    cited: ['Council Regulation (EC) No 6/2002, Article 1', 'Council Regulation (EC) No 6/2002, Article 2'],
  },
  {
    name: 'EUR-Lex, consolidated',
    format: 'eur-lex',
    bytes: file('eur-lex-consolidated.html'),
    kinds: { article: 1 },
    title: 'DIRECTIVE 2009/65/CE',
    from: '2013-06-20',
    passages: ['Elle concerne les échantillons.'],
    cited: ['DIRECTIVE 2009/65/CE, Article premier'],
  },
  {
    name: 'a web page',
    format: 'html',
    bytes: file('page.html'),
    kinds: { heading: 2 },
    title: 'Guide to samples',
    passages: ['Read this first.', `Fees are:\n\n1. ten;\n2. twenty.\n\n${TABLE}`],
    cited: ['Guide to samples, Fees'],
  },
  {
    name: 'German law in Markdown',
    format: 'markdown',
    bytes: file('german.txt'),
    kinds: { section: 2, sections: 1 },
    title: 'Mustergesetz',
    from: '2020-01-02',
    passages: [
      '(1) Dieses Gesetz gilt für\nMuster.\n\n(2) Es gilt nicht für\n\n1. Versuche,\n\n2. Entwürfe.\n\nArt der Gebühr | Höhe\n| 10',
      '§ 5 (weggefallen)',
    ],
    cited: ['§ 1 MusterG', '§ 5 MusterG'],
  },
  {
    name: 'German law in XML',
    format: 'gii-norm',
    bytes: file('gii-norm.xml'),
    kinds: { section: 3, article: 1, annex: 1, division: 2 },
    title: 'Gesetz über Muster bei Versuchen',
    from: '2020-06-19',
    passages: [
      'Der Bundestag hat beschlossen:',
      '(1) Muster sind[1]\n\n1. Entwürfe,\n\na) erste,\n\n2. CO_2\n\nund mehr.\n\n[1] Amtlicher Hinweis.',
      '(XXXX) §§ 2 bis 5 (weggefallen)',
      'Die Frist ist ein Jahr.',
      'Gebühren\n\nArt | Höhe\n\nMuster | 10',
    ],
    cited: ['§ 1 MusterG', '§§ 2 bis 5 MusterG', 'Art. 232 MusterG', 'Art 232 § 1 MusterG', 'MusterG, Anlage 1'],
  },
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
