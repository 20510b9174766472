import type { Draw } from '../draw.ts'
import type { MappingText } from '../sources.ts'
import { otherText, spelledOtherwise, withFile, type Alteration, type Altered, type Expectation } from './alteration.ts'

interface RecordText {
  readonly id: string
  readonly title: string
  readonly text: string
  readonly metadata: Readonly<Record<string, unknown>>
}

interface Target {
  readonly records: readonly RecordText[]
  /** One of them. */
  readonly record: RecordText
  /** The sources with these records in the file. */
  written(records: readonly Line[], what: string, expect?: readonly Expectation[]): Altered
  /** The sources with another record in the place of this one. */
  replaced(record: Line, what: string, expect?: readonly Expectation[]): Altered
}

type Line = RecordText | string

/** An alteration of the records of a corpus, at one of them. */
function ofRecords(row: string, name: string, alter: (target: Target, draw: Draw) => Altered | undefined): Alteration {
  return {
    name,
    row,
    alter(sources, draw) {
      if (sources.format !== 'jsonl') return undefined
      const [file, text] = draw.pick([...sources.files])
      const lines = text.trimEnd().split('\n')
      const records = lines.map((line) => JSON.parse(line) as RecordText)
      const at = draw.below(records.length)
      const record = records[at]
      const written: Target['written'] = (others, what, expect = []) => {
        const all = others.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
        return { sources: withFile(sources, file, `${all.join('\n')}\n`), what, expect }
      }
      const replaced: Target['replaced'] = (other, ...rest) =>
        written(
          records.map((each, index): Line => (index === at ? other : each)),
          ...rest,
        )
      return record === undefined ? undefined : alter({ records, record, written, replaced }, draw)
    },
  }
}

function withField(record: RecordText, name: string, value: unknown): RecordText {
  return { ...record, metadata: { ...record.metadata, [name]: value } }
}

const beginningOf = ({ text }: RecordText): string => (text.split('\n')[0] ?? '').slice(0, 60)
const textsOf = ({ metadata }: RecordText): readonly string[] =>
  Object.entries(metadata).flatMap(([name, value]) => (typeof value === 'string' && value !== '' ? [name] : []))

const LOST = ofRecords('losses', 'makes a record unreadable', ({ record, replaced }, draw) => {
  const [name, broken] = draw.pick<readonly [string, Line]>([
    ['no JSON', JSON.stringify(record).slice(0, -2)],
    ['a number for its text', JSON.stringify({ ...record, text: 7 })],
    ['no text', JSON.stringify({ ...record, text: undefined })],
    ['an empty text', { ...record, text: ' ' }],
    ['no metadata', JSON.stringify({ ...record, metadata: undefined })],
    ['no id', JSON.stringify({ ...record, id: undefined })],
    ['a lone surrogate', { ...record, text: `${record.text} \ud800` }],
    ['a zero byte', { ...record, text: `${record.text} \0` }],
    ...textsOf(record).map((field) => [`no ${field}`, withField(record, field, undefined)] as const),
    ...textsOf(record).map((field) => [`a long ${field}`, withField(record, field, 'x'.repeat(3_000))] as const),
  ])
  const isGone = ['an empty text', 'no text', 'a number for its text'].includes(name)
  return replaced(broken, `${record.id} has ${name}`, isGone ? [] : [{ kind: 'kept', fragment: beginningOf(record) }])
})

const REMOVED = ofRecords('losses', 'removes, moves or alters records', (target, draw) => {
  const { record, records, written, replaced } = target
  switch (draw.below(4)) {
    case 0:
      return written(records.toSpliced(records.indexOf(record), 1 + draw.below(3)), `records from ${record.id} removed`)
    case 1:
      return replaced({ ...record, text: otherText(record.text, draw) }, `${record.id} altered`)
    case 2:
      return replaced({ ...record, id: `${record.id}${draw.marker()}` }, `${record.id} renamed`)
    default:
      return replaced({ ...record, title: `${record.title} ${draw.marker()}` }, `title of ${record.id}`)
  }
})

const COPY = ofRecords('copies', 'repeats a record with another text', ({ record, records, written }, draw) => {
  const field = draw.pick(textsOf(record))
  const value = String(record.metadata[field])
  const spelled = draw.chance(0.4) ? { key: value, how: 'as written' } : spelledOtherwise(value, draw)
  if (spelled === undefined) return undefined
  const id = draw.chance(0.3)
    ? record.id
    : draw.chance(0.5)
      ? (spelledOtherwise(record.id, draw)?.key ?? record.id)
      : `${record.id}-copy`
  const copy = withField({ ...record, id, text: otherText(record.text, draw) }, field, spelled.key)
  const what = `${record.id} copied as ${id}, ${field} ${spelled.how}`
  return written(records.toSpliced(draw.below(records.length), 0, copy), what)
})

const END_KEYS =
  'Effective_to repealed_at valid_until expires end_date gueltig_bis fin_vigueur out_of_force status'.split(' ')

const END = ofRecords('ends', 'states an end in a field of its own', ({ record, replaced }, draw) => {
  const key = draw.pick(END_KEYS)
  const day = '2025-12-31'
  const value =
    key === 'status'
      ? draw.pick(['repealed', 'expired', 'aufgehoben'])
      : draw.pick([day, '31. Dezember 2025', '31 décembre 2025'])
  const expect: Expectation[] = isOpen(record) ? [{ kind: 'ends', fragment: beginningOf(record), day }] : []
  return replaced(withField(record, key, value), `${record.id} states ${key}: ${value}`, expect)
})

/** Whether the record states no end, so that its text is in force on the day of the alteration. */
function isOpen({ metadata }: RecordText): boolean {
  return (metadata['effective_to'] ?? metadata['to'] ?? '') === ''
}

const ODD_END = ofRecords('ends', 'states an end in another form', ({ record, replaced }, draw) => {
  const field = ['effective_to', 'to'].find((name) => name in record.metadata)
  if (field === undefined || !isOpen(record)) return undefined
  const value = draw.pick([
    '2025-12-31',
    '31. Dezember 2025',
    '31.12.2025',
    '2025-12-31T23:00:00-05:00',
    '12/31/2025',
    'repealed',
    'end of 2025',
  ])
  const expect: Expectation[] = [{ kind: 'ends', fragment: beginningOf(record), day: '2026-01-01' }]
  return replaced(withField(record, field, value), `${record.id} states ${field}: ${value}`, expect)
})

const TIME = ofRecords('times', 'states a time of day', ({ record, replaced }, draw) => {
  const fields = ['effective_from', 'from', 'effective_to', 'to'].filter((name) =>
    /^\d{4}-\d\d-\d\d$/.test(String(record.metadata[name])),
  )
  if (fields.length === 0) return undefined
  const field = draw.pick(fields)
  const day = String(record.metadata[field])
  const value = `${day}${draw.pick(['T23:30:00-05:00', 'T00:30:00+09:00', 'T12:00:00Z'])}`
  const expected: Expectation = { kind: field.endsWith('from') ? 'starts' : 'ends', fragment: beginningOf(record), day }
  return replaced(withField(record, field, value), `${record.id} states ${field}: ${value}`, [expected])
})

const FIELD = ofRecords('fields', 'alters a field of a record', ({ record, records, replaced }, draw) => {
  const field = draw.pick(textsOf(record))
  const other = draw.pick(records).metadata[field]
  const value = draw.pick([
    other,
    `${String(record.metadata[field])}${draw.marker()}`,
    spelledOtherwise(String(record.metadata[field]), draw)?.key,
  ])
  return replaced(withField(record, field, value), `${record.id}: ${field} is ${JSON.stringify(value)}`)
})

const UNSERVED = ofRecords(
  'unserved revisions',
  'adds a later revision elsewhere',
  ({ record, records, written }, draw) => {
    const from = ['effective_from', 'from'].find((name) => /^\d{4}/.test(String(record.metadata[name])))
    if (from === undefined || !('jurisdiction' in record.metadata) || !isOpen(record)) return undefined
    const metadata = { ...record.metadata, [from]: '2025-02-01', jurisdiction: 'XX' }
    const revision = { ...record, id: `${record.id}-2025`, text: otherText(record.text, draw), metadata }
    const expect: Expectation[] = [{ kind: 'stays', fragment: beginningOf(record) }]
    return written([...records, revision], `revision of ${record.id} in XX`, expect)
  },
)

const CUT = ofRecords('lead-ins', 'writes a list that is longer than a passage', ({ record, replaced }, draw) => {
  const [leadIn, items] = [draw.marker(), Array.from({ length: 26 }, () => draw.marker())]
  const list = items.map(
    (item, index) =>
      `(${String.fromCodePoint(97 + index)})\na practice of ${item} ${'by which another firm of the group is held and '.repeat(6)}ends;`,
  )
  const text = `The following practices ${leadIn} shall be prohibited:\n${list.join('\n')}`
  return replaced({ ...record, text }, `a list in ${record.id}`, [{ kind: 'led', items, leadIn }])
})

const UNSPACED = ofRecords('unspaced lines', 'writes a line without spaces', ({ record, replaced }, draw) => {
  const first = draw.pick([0x4e00, 0x0e01, 0x3042])
  const line = Array.from({ length: 180 + draw.below(300) }, (_, index) =>
    String.fromCodePoint(first + (index % 19)),
  ).join('')
  const what = `${record.id} has ${line.length} signs without a space`
  return replaced({ ...record, text: line }, what, [{ kind: 'kept', fragment: line.slice(60, 100) }])
})

/** The mapping decides how each record is read. */
const CONSTANT: Alteration = {
  name: 'maps a field to a constant',
  row: 'mappings',
  alter(sources, draw) {
    if (sources.mapping === undefined || sources.format !== 'jsonl') return undefined
    const fields = sources.mapping['fields'] as MappingText
    const constants: MappingText = {
      verification_status: draw.pick(['provisional', 'withdrawn']),
      authority: 'Another Authority',
      jurisdiction: draw.pick(['XX', 'eu', 'EU\u200b']),
      language: draw.pick(['de', 'en-GB']),
      subjects: 'other',
      title: 'One title',
      published_at: '2001-01-01',
      citation_fragment: '{id}',
      effective_to: '2027-12-31',
      document_key: 'one',
      aliases: 'EU,Act',
      heading: 'One heading',
    }
    const field = draw.pick(Object.keys(constants))
    const kept = Object.fromEntries(Object.entries(fields).filter(([name]) => name !== field))
    const removed = draw.chance(0.2)
    const altered = removed ? kept : { ...kept, [field]: constants[field] }
    const what = removed ? `no ${field}` : `${field}: ${String(constants[field])}`
    return { sources: { ...sources, mapping: { ...sources.mapping, fields: altered } }, what: `mapping ${what}` }
  },
}

/** The mapping decides which records are read. */
const RULE: Alteration = {
  name: 'alters a rule of the mapping',
  row: 'mappings',
  alter(sources, draw) {
    if (sources.mapping === undefined || sources.format !== 'jsonl') return undefined
    const [what, rules] = draw.pick<readonly [string, MappingText]>([
      [
        'skips what has "shall"',
        { skip_patterns: [{ pattern: '\\b(?:shall|must|muss|ist|est)\\b', reason: 'not wanted' }] },
      ],
      ['revises: document', { revises: 'document' }],
      ['revises: provision', { revises: 'provision' }],
    ])
    return { sources: { ...sources, mapping: { ...sources.mapping, ...rules } }, what: `mapping ${what}` }
  },
}

export const RECORD_ALTERATIONS: readonly Alteration[] = [
  LOST,
  REMOVED,
  COPY,
  END,
  ODD_END,
  TIME,
  FIELD,
  UNSERVED,
  CUT,
  UNSPACED,
  CONSTANT,
  RULE,
]
