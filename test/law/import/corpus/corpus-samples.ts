import { fileURLToPath } from 'node:url'
import { readMapping, type Mapping } from '#law/import/mapping/mapping.ts'

const MAPPINGS = new URL('../../../../law/import/corpus/mappings/', import.meta.url)

/** The mapping that is supplied for a corpus. */
export async function mappingOf(name: string): Promise<Mapping> {
  return await readMapping(fileURLToPath(new URL(`${name}.json`, MAPPINGS)))
}

const EU = {
  celex: '32016R0679',
  act: 'GDPR',
  act_title: 'General Data Protection Regulation',
  effective_from: '2018-05-25',
  url: 'https://eur-lex.example/?uri=CELEX:32016R0679',
  lang: 'en',
  jurisdiction: 'EU',
}

const MICA = {
  ...EU,
  celex: '32023R1114',
  act: 'MICA',
  act_title: 'Markets in Crypto-Assets Regulation',
  url: 'https://eur-lex.example/?uri=CELEX:32023R1114',
}

const CFPB = {
  part: '1003',
  type: 'regtext',
  effective_from: '2018-01-01',
  effective_to: '',
  fr_document: '2015-26607',
  jurisdiction: 'US',
  lang: 'en',
}

const DE = {
  act: 'BDSG 2018',
  act_title: 'Bundesdatenschutzgesetz',
  section: '1',
  enacted: '2017-06-30',
  last_amended: 'Art. 10 G v. 23.6.2021 I 1858',
  jurisdiction: 'DE',
  lang: 'de',
}

const FR = {
  article: '1240',
  path: 'Livre III/Titre III',
  effective_from: '2016-10-01',
  effective_to: '',
  amending_law: 'Modifié par Ordonnance n°2016-131 du 10 février 2016 - art. 2',
  jurisdiction: 'FR',
  lang: 'fr',
}

interface Sample {
  readonly id: string
  readonly metadata: object
  readonly label: string
  readonly anchor: string
  readonly from: string
  /** Canonical form of the provision it is found under. */
  readonly reference: string
}

/** Records of each corpus's shape, with texts of our own, and what a lawyer expects to see. */
export const SAMPLES: Readonly<Record<string, readonly Sample[]>> = {
  eu: [
    {
      id: '32016R0679#art_33.1',
      metadata: EU,
      label: 'Regulation (EU) 2016/679 Article 33(1)',
      reference: 'celex:32016R0679#33/1',
      anchor: '#art_33',
      from: '2018-05-25',
    },
    {
      id: '32016R0679#rct_85',
      metadata: EU,
      label: 'Regulation (EU) 2016/679 Recital 85',
      reference: 'celex:32016R0679#recital-85',
      anchor: '#rct_85',
      from: '2018-05-25',
    },
    {
      id: '32023R1114#art_149.4',
      metadata: { ...MICA, article: '149' },
      label: 'Regulation (EU) 2023/1114 Article 149(4) with closing formula and notes',
      reference: 'celex:32023R1114#149/4',
      anchor: '#art_149',
      from: '2018-05-25',
    },
    {
      id: '32023R1114#art_149.67',
      metadata: { ...MICA, article: '149' },
      label: 'Regulation (EU) 2023/1114, annexes, item 67',
      reference: 'celex:32023R1114',
      anchor: '#:~:text=',
      from: '2018-05-25',
    },
    {
      id: '02014R0910-20241018#art_48a.1',
      metadata: { ...EU, celex: '02014R0910-20241018', act: 'EIDAS2' },
      label: 'Regulation (EU) No 910/2014 Article 48a(1)',
      reference: 'celex:32014R0910#48a/1',
      anchor: '#:~:text=',
      from: '2024-10-18',
    },
    {
      id: '32022L2464#art_1.2~3',
      metadata: { ...EU, celex: '32022L2464', act: 'CSRD', article: '1' },
      label: 'Directive (EU) 2022/2464 Article 1, inserted text, item 2 [3]',
      reference: 'celex:32022L2464#1',
      anchor: '#:~:text=',
      from: '2018-05-25',
    },
    {
      id: '32024R1252#art_5.1',
      metadata: { ...EU, celex: '32024R1252', act: 'CRMA', effective_from: '' },
      label: 'Regulation (EU) 2024/1252 Article 5(1)',
      reference: 'celex:32024R1252#5/1',
      anchor: '#art_5',
      from: '2024-05-23',
    },
  ],
  cfpb: [
    {
      id: 'a',
      metadata: { ...CFPB, citation: '12 CFR 1003.2(g)' },
      label: '12 CFR 1003.2(g)',
      reference: 'cfr:12/1003#2/g',
      anchor: 'https://www.ecfr.gov/current/title-12/section-1003.2#p-1003.2(g)',
      from: '2018-01-01',
    },
    {
      id: 'b',
      metadata: { ...CFPB, citation: '12 CFR 1003.2(p1)' },
      label: '12 CFR 1003.2, unnumbered paragraph 1',
      reference: 'cfr:12/1003#2',
      anchor: 'section-1003.2#:~:text=',
      from: '2018-01-01',
    },
    {
      id: 'c',
      metadata: { ...CFPB, type: 'interp', citation: 'Comment 1003.2(g)-2' },
      label: '12 CFR Part 1003, Supplement I, Comment 1003.2(g)-2',
      reference: 'cfr:12/1003#comment/2/g/-2',
      anchor: '/part-1003#:~:text=',
      from: '2018-01-01',
    },
    {
      id: 'd',
      metadata: { ...CFPB, part: '1002', type: 'appendix', citation: '12 CFR 1002 Appendix C-II-h1-p12' },
      label: '12 CFR Part 1002, Appendix C-II, paragraph 12',
      reference: 'cfr:12/1002#appendix-c',
      anchor: '#:~:text=',
      from: '2018-01-01',
    },
    {
      id: 'e',
      metadata: {
        ...CFPB,
        citation: '12 CFR 1003.2(g)',
        effective_from: '2017-01-01',
        effective_to: '2018-01-01',
        fr_document: '2015-26607_20170101',
      },
      label: '12 CFR 1003.2(g)',
      reference: 'cfr:12/1003#2/g',
      anchor: 'https://www.federalregister.gov/d/2015-26607#:~:text=',
      from: '2017-01-01',
    },
  ],
  de: [
    {
      id: 'de-bdsg_2018-1',
      metadata: DE,
      label: 'BDSG § 1',
      reference: 'de:bdsg#1',
      anchor: 'https://www.gesetze-im-internet.de/bdsg_2018/__1.html#:~:text=',
      from: '2021-06-23',
    },
    {
      id: 'de-gg-12a',
      metadata: { ...DE, act: 'GG', act_title: 'Grundgesetz', section: '12a' },
      label: 'GG Art. 12a',
      reference: 'de:gg#12a',
      anchor: 'https://www.gesetze-im-internet.de/gg/art_12a.html#:~:text=',
      from: '2021-06-23',
    },
  ],
  fr: [
    {
      id: 'a',
      metadata: FR,
      label: 'Code civil, article 1240',
      reference: 'fr:code-civil#1240',
      anchor: 'LEGITEXT000006070721/2016-10-01/#:~:text=',
      from: '2016-10-01',
    },
    {
      id: 'b',
      metadata: { ...FR, effective_from: '', amending_law: 'Créé par Loi 1804-02-07 promulguée le 17 février 1804' },
      label: 'Code civil, article 1240',
      reference: 'fr:code-civil#1240',
      anchor: '/1804-02-17/#',
      from: '1804-02-17',
    },
    {
      id: 'c',
      metadata: {
        ...FR,
        effective_from: '',
        amending_law:
          'Créé par Loi 1803-03-17 promulguée le 27 mars 1803 Modifié par Loi n°64-1230 du 14 ' +
          'décembre 1964 - art. 2 JORF 15 décembre 1964 en vigueur le 15 juin 1965',
      },
      label: 'Code civil, article 1240',
      reference: 'fr:code-civil#1240',
      anchor: '/1965-06-15/#',
      from: '1965-06-15',
    },
  ],
  obliqa: [
    {
      id: 'a',
      metadata: {
        document_id: 1,
        document: 'AML_VER09.211223',
        short: 'AML',
        version_date: '2023-12-21',
        anchor: '1.1.1.(1)',
        jurisdiction: 'AE-ADGM',
        lang: 'en',
      },
      label: 'AML 1.1.1.(1)',
      reference: 'rulebook:aml#1/1/1/1',
      anchor: '#:~:text=',
      from: '2023-12-21',
    },
  ],
}

/** The text of every sample. */
export const TEXT = 'Whoever keeps bees registers every hive before the first of May. The register is public.'
