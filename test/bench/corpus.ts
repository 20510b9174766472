import type { Facets } from '#core/index/facets/layout.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import { rowOrder } from '#core/index/format/row-order.ts'
import { chunkId, derivedUuid } from '#core/platform/ids.ts'
import type { Filters } from '#core/domain/search.ts'
import { streamAt } from './stream.ts'
import { inventedText } from './text.ts'
import { drawTopic } from './vectors.ts'

/** The synthetic corpus without its vectors. It is a function of the seed. */
export interface CorpusShape {
  readonly passages: number
  readonly seed: number
}

const PASSAGES_PER_DOCUMENT = 20
const ON_TOPIC_SHARE = 0.7
/**
 * Share of documents whose topic belongs to their subject; the rest have any topic. Filters and neighbourhoods are then
 * neither independent nor identical.
 */
const OWN_SUBJECT_SHARE = 0.5
/** Shares of the documents. English in the EU is 22 %; English on one subject of 3.6 % is 1.8 %. */
const LANGUAGES = { de: 0.3, en: 0.5, fr: 0.2 } as const
const JURISDICTIONS = { CH: 0.18, EU: 0.44, UK: 0.26, US: 0.12 } as const
const SUBJECTS = {
  accounting: 0.11,
  audit: 0.09,
  'capital-markets': 0.1,
  complaints: 0.08,
  conduct: 0.12,
  crypto: 0.036,
  custody: 0.084,
  'data-protection': 0.1,
  'financial-crime': 0.1,
  governance: 0.07,
  insurance: 0.06,
  outsourcing: 0.05,
} as const

/** Subjects that a share of all passages has at random, whatever they are about. */
export const SAMPLE_PERCENTS = [50, 10, 1, 0.1, 0.01] as const
export function sampleSubject(percent: number): string {
  return `sample-${percent}`
}

/**
 * Subjects that all passages on some topics have and no other passage: about this share of the corpus. A filter by one
 * keeps or excludes whole neighbourhoods.
 */
export const AREA_PERCENTS = [50, 10, 1] as const
export type AreaPercent = (typeof AREA_PERCENTS)[number]
const AREAS: Readonly<Record<AreaPercent, { readonly of: number; readonly at: number }>> = {
  50: { of: 2, at: 0 },
  10: { of: 10, at: 3 },
  1: { of: 100, at: 27 },
}
export function areaSubject(percent: AreaPercent): string {
  return `area-${percent}`
}
export function isInArea(percent: AreaPercent, topic: number): boolean {
  const { of, at } = AREAS[percent]
  return topic % of === at
}

export const FACETS: Facets = {
  languages: Object.keys(LANGUAGES),
  jurisdictions: Object.keys(JURISDICTIONS),
  subjects: [...Object.keys(SUBJECTS), ...SAMPLE_PERCENTS.map(sampleSubject), ...AREA_PERCENTS.map(areaSubject)].sort(),
  statuses: ['verified'],
}

/** What a caller asks for, and what the gateway pins it to for an entitlement to everything. */
export interface Selectivity {
  readonly name: 'unfiltered' | '22 %' | '1.8 %'
  /** The request's own filters; undefined for none. */
  readonly asked:
    | {
        readonly language: readonly string[]
        readonly jurisdiction?: readonly string[]
        readonly subject?: readonly string[]
      }
    | undefined
  readonly pinned: Filters
}

const today = new Date().toISOString().slice(0, 10)

export const EVERYTHING: Filters = {
  languages: FACETS.languages,
  jurisdictions: FACETS.jurisdictions,
  subjects: [],
  anySubject: true,
  verificationStatuses: ['verified'],
  inForceOn: today,
  documents: [],
}

export function onSubject(subject: string): Filters {
  return { ...EVERYTHING, subjects: [subject], anySubject: false }
}

export const SELECTIVITIES: readonly Selectivity[] = [
  { name: 'unfiltered', asked: undefined, pinned: EVERYTHING },
  {
    name: '22 %',
    asked: { language: ['en'], jurisdiction: ['EU'] },
    pinned: { ...EVERYTHING, languages: ['en'], jurisdictions: ['EU'] },
  },
  {
    name: '1.8 %',
    asked: { language: ['en'], subject: ['crypto'] },
    pinned: { ...onSubject('crypto'), languages: ['en'] },
  },
]

/** The definition of a filter, for passages that are all verified and in force. */
export function allows(filters: Filters, { language, jurisdiction, subjects }: PassageTraits): boolean {
  return (
    filters.languages.includes(language) &&
    filters.jurisdictions.includes(jurisdiction) &&
    (filters.anySubject || subjects.some((subject) => filters.subjects.includes(subject)))
  )
}

interface InventedDocument {
  readonly id: string
  readonly number: number
  readonly language: string
  readonly jurisdiction: string
  readonly subject: string
  /** The topic of most of its passages. */
  readonly topic: number
  readonly passages: number
}

export interface PassageTraits {
  readonly language: string
  readonly jurisdiction: string
  readonly subjects: readonly string[]
  readonly topic: number
}

export interface InventedPassage extends PassageTraits {
  readonly row: number
  /** Makes the text, which takes longer than all the rest. */
  record(): PassageRecord
}

/** All passages in row order, made one by one. */
export function* inventedPassages({ passages: total, seed }: CorpusShape): Generator<InventedPassage> {
  let row = 0
  for (const document of documentsInRowOrder(total, seed))
    for (let ordinal = 0; ordinal < document.passages; ordinal++) yield inventedPassage(document, ordinal, row++, seed)
}

function inventedPassage(document: InventedDocument, ordinal: number, row: number, seed: number): InventedPassage {
  const random = streamAt(seed, 'texts', row)
  const topic = random() < ON_TOPIC_SHARE ? document.topic : drawTopic(random())
  const sample = random() * 100
  const subjects = [
    document.subject,
    ...SAMPLE_PERCENTS.filter((percent) => sample < percent).map(sampleSubject),
    ...AREA_PERCENTS.filter((percent) => isInArea(percent, topic)).map(areaSubject),
  ]
  const { language, jurisdiction } = document
  return {
    row,
    language,
    jurisdiction,
    subjects,
    topic,
    record: () => passage(document, ordinal, inventedText(language, topic, random), subjects),
  }
}

function documentsInRowOrder(total: number, seed: number): readonly InventedDocument[] {
  const random = streamAt(seed, 'documents', 0)
  const count = Math.ceil(total / PASSAGES_PER_DOCUMENT)
  const documents = Array.from({ length: count }, (_, number): InventedDocument => {
    const last = number === count - 1
    const subject = drawn(SUBJECTS, random())
    const topic = drawTopic(
      random(),
      random() < OWN_SUBJECT_SHARE
        ? { of: Object.keys(SUBJECTS).length, at: Object.keys(SUBJECTS).indexOf(subject) }
        : undefined,
    )
    return {
      id: derivedUuid('bench document', String(seed), String(number)),
      number,
      language: drawn(LANGUAGES, random()),
      jurisdiction: drawn(JURISDICTIONS, random()),
      subject,
      topic,
      passages: last ? total - number * PASSAGES_PER_DOCUMENT : PASSAGES_PER_DOCUMENT,
    }
  })
  const first = new Map(documents.map((document) => [document, passage(document, 0, '-', [document.subject])]))
  const of = (document: InventedDocument): PassageRecord =>
    first.get(document) ?? passage(document, 0, '-', [document.subject])
  return documents.sort((a, b) => rowOrder(of(a), of(b)))
}

function drawn(shares: Readonly<Record<string, number>>, at: number): string {
  let below = 0
  for (const [value, share] of Object.entries(shares)) {
    below += share
    if (at < below) return value
  }
  return Object.keys(shares).at(-1) ?? ''
}

function passage(
  document: InventedDocument,
  ordinal: number,
  text: string,
  subjects: readonly string[],
): PassageRecord {
  const { id, number, language, jurisdiction, subject, passages: documentPassages } = document
  const title = `Regulation ${number} on ${subject.replaceAll('-', ' ')}`
  const url = `https://rules.example/${jurisdiction.toLowerCase()}/${language}/regulation-${number}`
  return {
    chunk_id: chunkId([id, String(ordinal)], text),
    text,
    document: {
      id,
      revision_id: derivedUuid('bench revision', id),
      title,
      authority: `Authority for ${subject.replaceAll('-', ' ')} (${jurisdiction})`,
      canonical_url: url,
      published_at: '2023-11-08T00:00:00.000Z',
      effective_at: '2024-02-01T00:00:00.000Z',
    },
    citation: {
      label: `Article ${ordinal + 1} (${number}/2023)`,
      source_anchor: `${url}#article-${ordinal + 1}`,
      source_snapshot_id: SNAPSHOT_ID,
    },
    metadata: { language, jurisdiction, verification_status: 'verified' },
    subjects: [...subjects],
    in_force_from: '2024-02-01',
    in_force_to: null,
    place: { ordinal, document_passages: documentPassages },
    source_id: `regulation-${number}#article-${ordinal + 1}`,
    heading: title,
    references: [`${ACTS[number % ACTS.length]?.id ?? ''}#${number}/${ordinal + 1}`],
    provision: `${id} ${ordinal}`,
  }
}

export const SNAPSHOT_ID = derivedUuid('bench snapshot')

/** Each passage is a provision of one of these acts. */
export const ACTS: readonly ActEntry[] = Array.from({ length: 100 }, (_, number) => ({
  id: `xa:act-${100 + number}`,
  aliases: [`Invented Act ${100 + number}`],
}))
