import { MARKDOWN_MAPPING } from '#law/import/mapping/mapping.ts'
import type { Draw } from '../draw.ts'
import { otherText, spelledOtherwise, withFile, type Alteration, type Expectation } from './alteration.ts'
import { beginningOf, fieldOf, headingAndText, parseMarkdown, withFields, writeMarkdown } from './markdown-file.ts'
import type { MarkdownFile } from './markdown-file.ts'
import { ofMarkdown } from './markdown-target.ts'

/** A day after the file takes effect and before today; undefined: there is none. */
function laterDay(file: MarkdownFile, draw: Draw): string | undefined {
  const days = ['2024-09-01', '2025-02-01', '2025-10-01'].filter((day) => day > (fieldOf(file, 'effective_at') ?? ''))
  return days.length === 0 ? undefined : draw.pick(days)
}

const ALIASES = ofMarkdown('aliases', 'names an act as another rulebook is cited', (target, draw, sources) => {
  const prefixes = [...sources.files.values()].map((text) => fieldOf(parseMarkdown(text), 'citation_prefix') ?? '')
  const name = draw.pick([...new Set(prefixes)].filter((prefix) => prefix !== ''))
  const spelled = draw.chance(0.5) ? { key: name, how: 'as written' } : spelledOtherwise(name, draw)
  if (spelled === undefined) return undefined
  const own = fieldOf(target.file, 'citation_prefix')
  const act = draw.chance(0.5) ? { act: `rulebook:${(own ?? 'x').toLowerCase()}` } : {}
  const aliases = draw.pick([spelled.key, `${own}, ${spelled.key}`, `[${own}, "${spelled.key}"]`])
  const what = `aliases: ${aliases} (${spelled.how})`
  return target.rewritten(withFields(target.file, { ...act, aliases }), what)
})

const COPY = ofMarkdown('copies', 'copies a provision with another text', (target, draw, sources) => {
  const { file, at, provision } = target
  const document = fieldOf(file, 'document') ?? ''
  const [heading, text] = headingAndText(provision)
  const copy = `${heading}\n\n${otherText(text, draw)}\n`
  const how = draw.below(4)
  const key = how === 0 ? spelledOtherwise(document, draw)?.key : how === 1 ? `${document}-${draw.marker()}` : document
  const language = how === 2 ? draw.pick(['en-GB', 'en-US', 'EN', 'en-Latn']) : fieldOf(file, 'language')
  const jurisdiction =
    how === 3 ? spelledOtherwise(fieldOf(file, 'jurisdiction') ?? '', draw)?.key : fieldOf(file, 'jurisdiction')
  const copied = withFields({ ...file, provisions: [copy] }, { document: key, language, jurisdiction })
  const name = draw.pick([`a-copy.md`, `z-copy.md`])
  const what = `${target.name}, provision ${at} copied to ${name}: document ${key}, language ${language}, jurisdiction ${jurisdiction}`
  return { sources: withFile(sources, name, writeMarkdown(copied)), what }
})

const UNSERVED = ofMarkdown(
  'unserved revisions',
  'adds a later revision that is not served',
  (target, draw, sources) => {
    if (fieldOf(target.file, 'verification_status') !== 'verified') return undefined
    if (fieldOf(target.file, 'effective_to') !== undefined) return undefined
    const change = draw.pick([
      { verification_status: 'provisional' },
      { verification_status: 'withdrawn' },
      { jurisdiction: 'XX' },
      { verification_status: 'provisional', jurisdiction: 'XX' },
    ])
    const effective = laterDay(target.file, draw)
    if (effective === undefined) return undefined
    const provisions = target.file.provisions.map((each) => each.replace(/\.$/m, ` ${draw.marker()}.`))
    const revision = withFields(
      { ...target.file, provisions },
      { ...change, effective_at: effective, published_at: effective },
    )
    const expect: Expectation[] = [{ kind: 'stays', fragment: beginningOf(target.provision) }]
    const what = `revision of ${target.name} from ${effective}, ${JSON.stringify(change)}`
    return { sources: withFile(sources, `revision-${effective}.md`, writeMarkdown(revision)), what, expect }
  },
)

const END_KEYS =
  'Effective_to effective_To effective-to effectiveTo repealed_at valid_until expires expiry end_date in_force_until ceases_at revoked'.split(
    ' ',
  )

const END = ofMarkdown('ends', 'states an end in a form of its own', (target, draw) => {
  if (fieldOf(target.file, 'effective_to') !== undefined) return undefined
  const day = '2025-12-31'
  if ((fieldOf(target.file, 'effective_at') ?? '') >= day) return undefined
  const value = draw.pick([
    day,
    '31 December 2025',
    '31. Dezember 2025',
    '31.12.2025',
    '2025-12-31T00:00:00Z',
    '2025/12/31',
    `"${day}"`,
  ])
  const stated: readonly [string, string] = draw.pick([
    [draw.pick(END_KEYS), day],
    ['effective_to', value],
    ['status', draw.pick(['repealed', 'Repealed', 'expired', 'superseded'])],
    ['verification_status', draw.pick(['repealed', 'verified, repealed'])],
  ])
  const expect: Expectation[] = [{ kind: 'ends', fragment: beginningOf(target.provision), day }]
  return target.rewritten(withFields(target.file, { [stated[0]]: stated[1] }), stated.join(': '), expect)
})

const TIMES = ['T23:30:00-05:00', 'T00:30:00+09:00', 'T12:00:00Z', ' 23:00', 'T00:00:00+14:00'] as const

const TIME = ofMarkdown('times', 'states a time of day', (target, draw) => {
  const field = draw.pick(['effective_at', 'effective_to', 'published_at'])
  const day = fieldOf(target.file, field)
  if (day === undefined) return undefined
  const value = `${day}${draw.pick(TIMES)}`
  return target.rewritten(withFields(target.file, { [field]: value }), `${field}: ${value}`, [{ kind: 'refused' }])
})

const CHAPTERS = ofMarkdown('parts', 'splits a document into two files', (target, draw, sources) => {
  const { file, name } = target
  const cut = 1 + draw.below(file.provisions.length - 1)
  const first = writeMarkdown({ ...file, provisions: file.provisions.slice(0, cut) })
  const rest = writeMarkdown({ ...file, provisions: file.provisions.slice(cut) })
  const second = name.replace('.md', '-2.md')
  const split = withFile(withFile(sources, name, first), second, rest)
  const precedence = draw.chance(0.4) ? draw.shuffled([name, second]) : []
  const mapping = precedence.length === 0 ? undefined : { ...MARKDOWN_MAPPING, precedence }
  const expect: Expectation[] = [{ kind: 'kept', fragment: beginningOf(target.provision) }]
  const what = `${name} cut before provision ${cut}, precedence ${JSON.stringify(precedence)}`
  return { sources: { ...split, mapping }, what, expect }
})

const PARTIAL = ofMarkdown('amendments', 'restates a part of a document', (target, draw, sources) => {
  if (fieldOf(target.file, 'effective_to') !== undefined || fieldOf(target.file, 'verification_status') !== 'verified')
    return undefined
  const effective = laterDay(target.file, draw)
  if (effective === undefined) return undefined
  const kept = draw.some(target.file.provisions)
  if (kept.length === target.file.provisions.length) return undefined
  const amended = kept.map((each) => `${headingAndText(each)[0]}\n\n${otherText(headingAndText(each)[1], draw)}\n\n`)
  const revision = withFields(
    { ...target.file, provisions: amended },
    { effective_at: effective, published_at: effective },
  )
  const dropped = target.file.provisions.filter((each) => !kept.includes(each))
  const expect = dropped.slice(0, 2).map((each): Expectation => ({ kind: 'stays', fragment: beginningOf(each) }))
  const what = `${target.name} restated from ${effective} with ${kept.length} of ${target.file.provisions.length}`
  return { sources: withFile(sources, `amendment-${effective}.md`, writeMarkdown(revision)), what, expect }
})

const BROKEN_FIELDS = [
  ['effective_at', '2023-02-30'],
  ['effective_at', 'soon'],
  ['canonical_url', 'rules'],
  ['language', 'english!'],
  ['published_at', undefined],
  ['authority', undefined],
  ['act', 'no act'],
] as const

const LOST = ofMarkdown('losses', 'makes a file unreadable', (target, draw) => {
  const [field, value] = draw.pick(BROKEN_FIELDS)
  const expect: Expectation[] = [{ kind: 'kept', fragment: beginningOf(target.provision) }]
  return target.rewritten(withFields(target.file, { [field]: value }), `${field}: ${value}`, expect)
})

const REMOVED = ofMarkdown('losses', 'removes or empties law', (target, draw, sources) => {
  const { file, at, name } = target
  const [heading, text] = headingAndText(target.provision)
  switch (draw.below(4)) {
    case 0:
      return target.rewritten({ ...file, provisions: file.provisions.toSpliced(at, 1) }, `provision ${at} removed`)
    case 1:
      return sources.files.size < 2
        ? undefined
        : { sources: withFile(sources, name, undefined), what: `${name} removed` }
    case 2:
      return target.replaced(`${heading}\n\n`, `provision ${at} emptied`)
    default:
      return target.replaced(`${heading}\n\n${otherText(text, draw)}\n\n`, `provision ${at} altered`)
  }
})

const FIELD = ofMarkdown('fields', 'alters a field that callers see', (target, draw) => {
  const fields: readonly (readonly [string, string])[] = [
    ['title', 'Another Rulebook'],
    ['authority', 'Another Authority'],
    ['canonical_url', 'https://rules.example/other'],
    ['subject', draw.pick(['conduct', 'other', 'Prudential'])],
    ['jurisdiction', draw.pick(['HS-X', 'hs-m', 'HS\u2011M'])],
    ['language', draw.pick(['de', 'en-GB', 'EN'])],
    ['effective_to', draw.pick(['2025-06-01', '2099-01-01'])],
    ['published_at', '2021-01-01'],
    ['effective_at', '2021-01-02'],
    ['verification_status', draw.pick(['provisional', 'withdrawn'])],
    ['citation_prefix', 'OTH'],
    ['document', draw.pick(['other', (fieldOf(target.file, 'document') ?? '').toUpperCase()])],
  ]
  const [name, value] = draw.pick(fields)
  return target.rewritten(withFields(target.file, { [name]: value }), `${name}: ${value}`)
})

/** Alterations of front matter and of whole provisions. */
export const MARKDOWN_ALTERATIONS: readonly Alteration[] = [
  ALIASES,
  COPY,
  UNSERVED,
  END,
  TIME,
  CHAPTERS,
  PARTIAL,
  LOST,
  REMOVED,
  FIELD,
]
