import { expect, test } from 'vitest'
import { readDocument, type ReadDocument } from '#law/readers/read.ts'

const BIB =
  '<BIB.INSTANCE><DOCUMENT.REF><COLL>L</COLL></DOCUMENT.REF><LG.DOC>EN</LG.DOC><NO.DOC FORMAT="YN"><NO.CURRENT>679</NO.CURRENT><YEAR>2016</YEAR></NO.DOC></BIB.INSTANCE>'

async function formexOf(root: string, title: string, rest: string): Promise<ReadDocument> {
  const file = `<${root}>${BIB}<TITLE><TI><P>${title}</P></TI></TITLE>${rest}</${root}>`
  return await readDocument('a-file', Buffer.from(file))
}

function passagesOf(read: ReadDocument): readonly (readonly [string, string | undefined])[] {
  return read.provisions.filter(({ text }) => text !== undefined).map((each) => [read.cite(each).label, each.text])
}

test('numbered paragraphs of an annex stand in their lines, and the title of a table above it', async () => {
  const numbered = (number: string, text: string): string => `<NP><NO.P>${number}</NO.P><TXT>${text}</TXT></NP>`
  const table =
    '<TBL><TITLE><TI><P>Fees</P></TI></TITLE><CORPUS><ROW><CELL>Bees</CELL><CELL>10</CELL></ROW></CORPUS></TBL>'
  const terms = '<DLIST><DLIST.ITEM><TERM>‘bee’</TERM><DEFINITION>means an insect;</DEFINITION></DLIST.ITEM></DLIST>'
  const contents = `<CONTENTS>${numbered('1.', 'Hives.')}${numbered('2.', 'Bees:')}${terms}${table}</CONTENTS>`
  expect(passagesOf(await formexOf('ANNEX', 'ANNEX I', contents))).toEqual([
    ['ANNEX I', '1. Hives.\n\n2. Bees:\n\n‘bee’ means an insect;\n\nFees\n\nBees | 10'],
  ])
})

test('a corrigendum has no number of the act that it corrects, and what it quotes is no provision', async () => {
  const wrong = '<ARTICLE IDENTIFIER="030"><TI.ART>Article 30</TI.ART><ALINEA>Old text.</ALINEA></ARTICLE>'
  const read = await formexOf(
    'CORR',
    'Corrigendum to Regulation (EU) 2016/679',
    `<CONTENTS.CORR><CORRECTION><DESCRIPTION><P>On page 50:</P></DESCRIPTION><OLD.CORR><P>for:</P>${wrong}</OLD.CORR><NEW.CORR><P>read: nothing.</P></NEW.CORR></CORRECTION></CONTENTS.CORR>`,
  )
  expect(read.fields.identifier).toBeUndefined()
  expect(passagesOf(read)).toEqual([
    ['Corrigendum to Regulation (EU) 2016/679, On page 50:', 'for:\nArticle 30 Old text.\n\nread: nothing.'],
  ])
})

test('a formula is one line with the brackets, fractions and exponents that its layout stands for', async () => {
  const power = '<HT TYPE="ITALIC">e</HT><IND LOC="SUP">– 50 · <HT TYPE="ITALIC">PD</HT></IND>'
  const fraction = `<EXPR><EXPR>1 – ${power}</EXPR><OVER/><EXPR>45</EXPR></EXPR>`
  const formula = `<FORMULA.S>R = 0.12 · ${fraction} + max<EXPR TYPE="BRACE">5,S<IND LOC="SUB">BE</IND></EXPR> · <ROOT/><EXPR>1 – R</EXPR></FORMULA.S>`
  const old = '<FORMULA><FRACTION><DIVIDEND>a</DIVIDEND><DIVISOR>b</DIVISOR></FRACTION></FORMULA>'
  const article = `<ARTICLE IDENTIFIER="001"><TI.ART>Article 1</TI.ART><ALINEA>It is:${formula}${old}</ALINEA></ARTICLE>`
  const read = await formexOf('ACT', 'Regulation (EU) 2016/679', `<ENACTING.TERMS>${article}</ENACTING.TERMS>`)
  expect(passagesOf(read).at(-1)?.[1]).toBe(
    'It is:\n\nR = 0.12 · (1 – e^(– 50 · PD)) / 45 + max{5,S_BE} · √(1 – R)\n\n(a) / (b)',
  )
})

test('a row goes on in its columns below a cell of several rows, and the notes of a table have their numbers', async () => {
  const rows =
    '<ROW><CELL COL="1">Code</CELL><CELL COL="2">Goods</CELL><CELL COL="3">Price<NOTE NOTE.REF="E0002" TYPE="TABLE"/></CELL></ROW>' +
    '<ROW><CELL COL="1" ROWSPAN="2">0207</CELL><CELL COL="2" ROWSPAN="2">Fowls</CELL><CELL COL="3">109</CELL></ROW>' +
    '<ROW><CELL COL="3">128</CELL></ROW><ROW><CELL COL="1" COLSPAN="2">All</CELL><CELL COL="3">237</CELL></ROW>'
  const notes = '<GR.NOTES><NOTE NOTE.ID="E0002" TYPE="TABLE"><P>In euro.</P></NOTE></GR.NOTES>'
  const read = await formexOf('ANNEX', 'ANNEX I', `<CONTENTS><TBL>${notes}<CORPUS>${rows}</CORPUS></TBL></CONTENTS>`)
  expect(passagesOf(read)[0]?.[1]).toBe(
    '(2) In euro.\n\nCode | Goods | Price(2)\n0207 | Fowls | 109\n| | 128\nAll | | 237',
  )
})

test('a consolidated act was published on the day of the issue that holds the basic act', async () => {
  const family =
    '<FAM.COMP><BIB.DATA><BIB.INSTANCE.CONS><DATE ISO="20140612"/></BIB.INSTANCE.CONS><DATE ISO="20140515"/></BIB.DATA></FAM.COMP>'
  const info = '<INFO.CONSLEG CONSLEG.REF="2014L0065" START.DATE="20200326" END.DATE="99999999"/>'
  const file = `<CONS.ACT>${info}<CONS.DOC><BIB.INSTANCE><DATE ISO="20200326"/><LG.DOC>EN</LG.DOC></BIB.INSTANCE>${family}<TITLE><TI><P>Directive 2014/65/EU</P></TI></TITLE></CONS.DOC></CONS.ACT>`
  expect((await readDocument('a-file', Buffer.from(file))).fields).toMatchObject({
    identifier: '32014L0065',
    publishedAt: { day: '2014-06-12' },
    effectiveFrom: { day: '2020-03-26' },
    effectiveTo: undefined,
  })
})
