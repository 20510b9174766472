import { expect, test } from 'vitest'
import { readDocument } from '#law/readers/read.ts'
import type { Citation } from '#law/readers/document.ts'

async function citedIn(markup: string, path = 'a-file'): Promise<readonly Citation[]> {
  const read = await readDocument(path, Buffer.from(markup))
  return read.provisions.filter(({ text }) => text !== undefined).map((each) => read.cite(each))
}

/** What the versioner of the eCFR states of a file, escaped twice as it comes. */
function stated(citation: string): string {
  return `hierarchy_metadata="{&amp;quot;citation&amp;quot;:&amp;quot;${citation}&amp;quot;}"`
}

test.each([
  ['2.6', '§ 2.6 Unrestricted use.', '1 CFR 2.6', '1-cfr-2'],
  ['102-75.45', '§ 102-75.45 What does “not used” mean?', '41 CFR 102-75.45', '41-cfr-102-75'],
  ['52.212-3', '52.212-3 Representations.', '48 CFR 52.212-3', '48-cfr-52'],
])(
  'a file of one section of the eCFR is cited with the part that its number names: %s',
  async (N, head, own, document) => {
    const markup = `<DIV8 N="${N}" TYPE="SECTION" ${stated(own)}><HEAD>${head}</HEAD><P>Text.</P></DIV8>`
    const [, title = '', part = ''] = /^(\d+)-cfr-(.+)$/.exec(document) ?? []
    const named = { document, title: `${title} CFR Part ${part}`, act: `cfr:${title}/${part}` }
    expect(await citedIn(markup)).toEqual([expect.objectContaining({ ...named, label: own, reference: own })])
  },
)

test('a file of one appendix of the eCFR is cited with its part, and one of a subpart as no other document', async () => {
  const appendix = `<DIV9 N="Appendix I to Part 261" TYPE="APPENDIX" ${stated('Appendix I to Part 261, Title 40')}><HEAD>Appendix I to Part 261—Samples</HEAD><P>Text.</P></DIV9>`
  const subpart = `<DIV6 N="A" TYPE="SUBPART" ${stated('40 CFR Part 261 Subpart A')}><HEAD>Subpart A—General</HEAD><DIV8 N="261.1" TYPE="SECTION"><HEAD>§ 261.1 Scope.</HEAD><P>Text.</P></DIV8></DIV6>`
  const [first, second] = [...(await citedIn(appendix)), ...(await citedIn(subpart))]
  expect(first).toMatchObject({ label: '40 CFR Part 261, Appendix I', reference: '40 CFR Part 261, Appendix I' })
  expect(second).toMatchObject({ label: '40 CFR 261.1', document: first?.document, title: first?.title })
})

test('appendices of a subpart are not taken for those of its part, nor one without a letter for Appendix TO', async () => {
  const appendix = (name: string): string =>
    `<DIV9 N="${name}" TYPE="APPENDIX"><HEAD>${name}—Tests</HEAD><P>Text.</P></DIV9>`
  const names = [
    'Appendix A to Subpart GG of Part 63',
    'Appendix A to Part 63',
    'APPENDIX TO PART 63',
    'Appendix A-1 to Part 63',
  ]
  const part = `<DIV5 N="63" NODE="40:11.0.1.1.1" TYPE="PART"><HEAD>PART 63—SAMPLES</HEAD>${names.map(appendix).join('')}</DIV5>`
  const references = (await citedIn(part)).map(({ reference }) => reference)
  expect(references).toEqual([undefined, '40 CFR Part 63, Appendix A', undefined, '40 CFR Part 63, Appendix A-1'])
})

test('reserved parts are cited as a range, and a part of title 41 with both of its numbers', async () => {
  const part = (N: string, head: string): string => `<DIV5 N="${N}" TYPE="PART"><HEAD>${head}</HEAD></DIV5>`
  const parts = `${part('60-1', 'PART 60-1—DUTIES')}${part('61–99', 'PARTS 61–99 [RESERVED]')}`
  const labels = (await citedIn(`<DIV1 N="41" TYPE="TITLE"><HEAD>Title 41</HEAD>${parts}</DIV1>`)).map(
    ({ label }) => label,
  )
  expect(labels).toEqual(['41 CFR Part 60-1', '41 CFR Parts 61-99'])
})

test('a section of the eCFR that says no title is cited by its own words, with no part of an unknown title', async () => {
  const cited = await citedIn('<DIV8 N="2.101" TYPE="SECTION"><HEAD>2.101 Definitions.</HEAD><P>Text.</P></DIV8>')
  expect(cited[0]).toMatchObject({ label: '2.101 Definitions., section 2.101' })
  expect(cited[0]?.document).toBeUndefined()
})

test('a section that is not numbered by its part is cited by its own words and is no section of another part', async () => {
  const section = '<DIV8 N="Section 1" TYPE="SECTION"><HEAD>Section 1 Introduction</HEAD><P>Text.</P></DIV8>'
  const part = `<DIV5 N="241" NODE="14:4.0.1.1.28" TYPE="PART"><HEAD>PART 241—ACCOUNTS</HEAD>${section}</DIV5>`
  const [cited] = await citedIn(part)
  expect(cited).toMatchObject({ label: '14 CFR Part 241, Section 1' })
  expect(cited?.reference).toBeUndefined()
})

test.each([
  ['eCFR', '<DIV8 N="86.1" NODE="40:1" TYPE="SECTION"><HEAD>§ 86.1 A.</HEAD><P>TEXT</P></DIV8>'],
  ['CFR', '<CFRGRANULE><SECTION><SECTNO>§ 86.1</SECTNO><SUBJECT>A.</SUBJECT><P>TEXT</P></SECTION></CFRGRANULE>'],
])('raised and lowered letters of the %s are marked, and stay in their line', async (_, markup) => {
  const text = 'For 10<E T="51">5</E> tons<SU>1</SU> of CO<E T="52">2</E> a <E T="03">fee</E> is due.'
  const read = await readDocument('a-file', Buffer.from(markup.replace('TEXT', text)))
  expect(read.provisions.at(-1)?.text).toBe('For 10^5 tons^1 of CO_2 a fee is due.')
})

test('letters in the markup of pages, which the versioner uses too, stay in their line', async () => {
  const markup =
    '<DIV8 N="86.1" TYPE="SECTION"><HEAD>§ 86.1 A.</HEAD><P>The CO<sub>2</sub> of 10<sup>5</sup> <b>tons</b>.</P></DIV8>'
  const read = await readDocument('a-file', Buffer.from(markup))
  expect(read.provisions.at(-1)?.text).toBe('The CO_2 of 10^5 tons.')
})

test('a granule of the annual CFR is of the day that its metadata state', async () => {
  const markup =
    '<CFRGRANULE><FDSYS><CFRTITLE>12</CFRTITLE><DATE>2013-01-01</DATE></FDSYS><PART><HD SOURCE="HED">PART 1005—TRANSFERS</HD><SECTION><SECTNO>§ 1005.1</SECTNO><SUBJECT>A.</SUBJECT><P>Text.</P></SECTION></PART></CFRGRANULE>'
  const { fields } = await readDocument('a-file', Buffer.from(markup))
  expect(fields).toMatchObject({ identifier: '12 CFR', effectiveFrom: { day: '2013-01-01', rule: 'amendment-date' } })
})

test('what the versioner names in its path alone is cited with its title and part', async () => {
  const path = (rest: string): string =>
    `hierarchy_metadata="{&quot;path&quot;:&quot;/on/_SUBSTITUTE_DATE_/title-40/${rest}&quot;}"`
  const name = 'Appendix A-1 to Part 50'
  const appendix = `<DIV9 N="${name}" TYPE="APPENDIX" ${path(`part-50/appendix-${name}`)}><HEAD>${name}—Method</HEAD><P>Text.</P></DIV9>`
  const part = `<DIV5 N="9" TYPE="PART"><HEAD>PART 9—EXAMPLE</HEAD><DIV8 N="9.1" TYPE="SECTION" ${path('section-9.1')}><HEAD>§ 9.1 Scope.</HEAD><P>Text.</P></DIV8></DIV5>`
  expect((await citedIn(appendix))[0]?.reference).toBe('40 CFR Part 50, Appendix A-1')
  expect((await citedIn(part)).at(-1)?.reference).toBe('40 CFR 9.1')
})
