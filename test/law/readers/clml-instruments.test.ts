import { expect, test } from 'vitest'
import { readDocument, type ReadDocument } from '#law/readers/read.ts'

const NAMES = 'xmlns="http://www.legislation.gov.uk/namespaces/legislation"'
const META =
  'xmlns:ukm="http://www.legislation.gov.uk/namespaces/metadata" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dct="http://purl.org/dc/terms/"'

async function instrument(root: string, metadata: string, body: string): Promise<ReadDocument> {
  const uri = 'DocumentURI="http://www.legislation.gov.uk/uksi/2019/419"'
  const named = `<dc:title>The Samples Regulations 2019</dc:title>${metadata}`
  const all = `<Legislation ${NAMES} ${uri} ${root}><ukm:Metadata ${META}>${named}</ukm:Metadata><Secondary>${body}</Secondary></Legislation>`
  return await readDocument('a-file', Buffer.from(all))
}

const MADE = '<ukm:SecondaryMetadata><ukm:Made Date="2019-02-28"/></ukm:SecondaryMetadata>'

/** @param attributes of the group around it. */
function provision(id: string, number: string, text = 'Text.', attributes = ''): string {
  const named = id === '' ? '' : `id="${id}"`
  return `<P1group ${attributes}><P1 ${named}><Pnumber>${number}</Pnumber><P1para><Text>${text}</Text></P1para></P1></P1group>`
}

function labelsOf(read: ReadDocument): readonly string[] {
  const passages = read.provisions.filter(({ text }) => text !== undefined)
  return passages.map((each) => read.cite(each).label.replace('The Samples Regulations 2019, ', ''))
}

test('a provision is called what its id says, also in the only schedule, a part of one, and before the first', async () => {
  const parts = `<Part><Number>Part II</Number>${provision('schedule-1-part-II-paragraph-3', '3')}</Part>`
  const schedules = `<Schedules><Schedule id="schedule-1"><Number>SCHEDULE 1</Number><ScheduleBody>${parts}</ScheduleBody></Schedule><Schedule id="schedule"><Number>SCHEDULE</Number><ScheduleBody>${provision('schedule-paragraph-4', '4')}</ScheduleBody></Schedule></Schedules>`
  const read = await instrument('', MADE, `<Body>${provision('regulation-A1', 'A1')}</Body>${schedules}`)
  expect(labelsOf(read)).toEqual(['regulation A1', 'SCHEDULE 1, paragraph 3', 'SCHEDULE, paragraph 4'])
  const references = read.provisions.filter(({ kind }) => kind === 'section').map((each) => read.cite(each).reference)
  expect(references).toEqual(['regulation A1', 'Schedule 1, paragraph 3', 'paragraph 4 of the Schedule'])
})

test('a file without ids calls its provisions by the kind of instrument, and those of schedules paragraphs', async () => {
  const metadata = `<ukm:DocumentMinorType Value="order"/>${MADE}`
  const schedule = `<Schedules><Schedule><Number>SCHEDULE 1</Number><ScheduleBody>${provision('', '2')}</ScheduleBody></Schedule></Schedules>`
  const read = await instrument('', metadata, `<Body>${provision('', '1')}</Body>${schedule}`)
  expect(labelsOf(read)).toEqual(['Article 1', 'SCHEDULE 1, paragraph 2'])
})

test('a fragment is in force from its own day, and never ends before it begins', async () => {
  const days = 'RestrictStartDate="2025-02-27" RestrictEndDate="2019-03-29"'
  const { fields } = await instrument(days, `<dct:valid>2019-02-28</dct:valid>${MADE}`, provision('regulation-5', '5'))
  expect([fields.effectiveFrom?.day, fields.effectiveTo?.day]).toEqual(['2019-02-28', '2019-03-29'])
  const later = await instrument(days, MADE, provision('regulation-5', '5'))
  expect([later.fields.effectiveFrom?.day, later.fields.effectiveTo]).toEqual(['2025-02-27', undefined])
})

test('prospective provisions are named, and a file of them alone has no day in force', async () => {
  const prospective = provision('regulation-6', '6', 'Not yet.', 'Status="Prospective"')
  const some = await instrument('', MADE, `<Body>${provision('regulation-5', '5')}${prospective}</Body>`)
  expect(some.fields.effectiveFrom?.day).toBe('2019-02-28')
  expect(some.warnings).toMatchObject([{ message: expect.stringMatching(/^prospective provisions, .*: 1,/), line: 1 }])
  const all = await instrument('', MADE, `<Body>${prospective}</Body>`)
  expect(all.fields).toMatchObject({ publishedAt: { day: '2019-02-28' }, effectiveFrom: undefined })
})

test('the dots of a repealed provision are said to be one', async () => {
  const repealed = provision('regulation-7', '7', '. . . . . . . .', 'Status="Repealed"')
  const read = await instrument(
    '',
    MADE,
    `<Body>${repealed}${provision('regulation-8', '8', '. . . . . . . .')}</Body>`,
  )
  const texts = read.provisions.flatMap(({ text }) => text ?? [])
  expect(texts).toEqual(['[Repealed] . . . . . . . .', '. . . . . . . .'])
})
