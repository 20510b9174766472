import type { Sample } from './sample.ts'

const norm = (id: string, metadata: string, text: string): string =>
  `<norm builddate="20200722212521" doknr="${id}"><metadaten><jurabk>MusterG 1995</jurabk>${metadata}</metadaten><textdaten>${text}</textdaten></norm>`

const text = (content: string): string => `<text format="XML"><Content>${content}</Content></text>`

const division = (place: string, name: string, title = ''): string =>
  `<gliederungseinheit><gliederungskennzahl>${place}</gliederungskennzahl><gliederungsbez>${name}</gliederungsbez>${title && `<gliederungstitel>${title}</gliederungstitel>`}</gliederungseinheit>`

const NORMS = [
  norm(
    'M',
    '<amtabk>MusterG</amtabk><ausfertigung-datum manuell="ja">1995-07-20</ausfertigung-datum><fundstelle typ="amtlich"><periodikum>BGBl II</periodikum><zitstelle>1995, 554</zitstelle></fundstelle><langue>Gesetz über Muster\nbei Versuchen</langue><standangabe checked="ja"><standtyp>Stand</standtyp><standkommentar>Zuletzt geändert durch Art. 191 V v. 19.6.2020 I 1328</standkommentar></standangabe>',
    '<fussnoten><Content><P><pre xml:space="preserve">(+++ Textnachweis ab: 27.7.1995 +++)</pre></P></Content></fussnoten>',
  ),
  norm('E', `${division('000', '-')}<enbez>Eingangsformel</enbez>`, text('<P>Der Bundestag hat beschlossen:</P>')),
  norm('T', '<enbez>Inhaltsübersicht</enbez>', '<text><TOC><P>§ 1 Zweck</P></TOC></text>'),
  norm('G1', division('010', 'Teil 1', 'Allgemeines'), text('<P/>')),
  norm('G2', division('010010', 'Kapitel 1', 'Anwendung'), text('<P/>')),
  norm(
    'P1',
    '<enbez>§ 1</enbez><titel format="parat">Zweck</titel>',
    '<text format="XML"><Content><P>(1) Muster sind<FnR ID="F1"/> <DL Font="normal" Type="arabic"><DT>1.</DT><DD Font="normal"><LA>Entwürfe,<DL Type="alpha"><DT>a)</DT><DD><LA>erste,</LA></DD></DL></LA></DD><DT>2.</DT><DD><LA>CO<SUB>2</SUB></LA></DD></DL>und mehr.</P></Content><Footnotes><Footnote ID="F1">Amtlicher Hinweis.</Footnote></Footnotes></text><fussnoten><Content><P>(+++ § 1: idF d. G +++)</P></Content></fussnoten>',
  ),
  norm('P2', '<enbez>(XXXX) §§ 2 bis 5</enbez><titel>(weggefallen)</titel>', text('<P/>')),
  norm('G3', division('020', 'Art 232', 'Übergang'), text('<P>Sie wird ermächtigt.</P>')),
  norm(
    'P3',
    `${division('020', 'Art 232')}<enbez>§ 1</enbez><titel>Frist</titel>`,
    text('<P>Die Frist ist ein Jahr.</P>'),
  ),
  norm(
    'A',
    '<enbez>Anlage 1</enbez><titel>(zu § 1)</titel>',
    text(
      '<P><table><Title>Gebühren</Title><tgroup cols="2"><colspec colname="c1"/><thead><row><entry>Art</entry><entry>Höhe</entry></row></thead><tbody><row><entry>Muster</entry><entry>10</entry></row></tbody></tgroup></table></P>',
    ),
  ),
]

/** German federal law as its publisher gives it in XML. */
export const GII_NORM: Sample = {
  name: 'German law in XML',
  format: 'gii-norm',
  bytes: Buffer.from(
    `<?xml version="1.0" encoding="UTF-8" ?><!DOCTYPE dokumente SYSTEM "gii-norm.dtd">\n<dokumente builddate="20200722212521" doknr="M">${NORMS.join('\n')}</dokumente>`,
  ),
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
}
