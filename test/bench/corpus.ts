import type { Facets } from '#core/artifact/layout.ts'
import type { PassageRecord } from '#core/artifact/passage.ts'
import { rowOrder } from '#core/artifact/row-order.ts'
import { chunkId, derivedUuid } from '#core/ids.ts'
import type { Filters } from '#core/rpc/search-node.ts'
import { seededRandom } from '#test/support/artifact.ts'
import { drawTopic } from './vectors.ts'

/** The invented corpus: who says what where, without its vectors. Everything follows from the seed. */
export interface CorpusShape {
  readonly passages: number
  readonly seed: number
}

const PASSAGES_PER_DOCUMENT = 20
const ON_TOPIC_SHARE = 0.7
/** Documents whose topic belongs to their subject; the rest are about anything. So filters and neighbourhoods are neither independent nor the same. */
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

export const FACETS: Facets = {
  languages: Object.keys(LANGUAGES),
  jurisdictions: Object.keys(JURISDICTIONS),
  subjects: Object.keys(SUBJECTS),
  statuses: ['verified'],
}

/** What a caller asks for, and what the gateway pins it to for an entitlement to everything. */
export interface Selectivity {
  readonly name: 'unfiltered' | '22 %' | '1.8 %'
  /** The request's own filters; undefined for none. */
  readonly asked: { readonly language: readonly string[]; readonly jurisdiction?: readonly string[]; readonly subject?: readonly string[] } | undefined
  readonly pinned: Omit<Filters, 'in_force_on'>
}

const EVERYTHING = { languages: FACETS.languages, jurisdictions: FACETS.jurisdictions, subjects: [], any_subject: true, verification_statuses: ['verified'] }

export const SELECTIVITIES: readonly Selectivity[] = [
  { name: 'unfiltered', asked: undefined, pinned: EVERYTHING },
  { name: '22 %', asked: { language: ['en'], jurisdiction: ['EU'] }, pinned: { ...EVERYTHING, languages: ['en'], jurisdictions: ['EU'] } },
  { name: '1.8 %', asked: { language: ['en'], subject: ['crypto'] }, pinned: { ...EVERYTHING, languages: ['en'], subjects: ['crypto'], any_subject: false } },
]

export function allows({ pinned }: Selectivity, { metadata, subjects }: PassageRecord): boolean {
  const { languages, jurisdictions } = pinned
  return (
    languages.includes(metadata.language) &&
    jurisdictions.includes(metadata.jurisdiction) &&
    (pinned.any_subject || subjects.some((subject) => pinned.subjects.includes(subject)))
  )
}

interface InventedDocument {
  readonly id: string
  readonly number: number
  readonly language: string
  readonly jurisdiction: string
  readonly subject: string
  /** Most of its passages are about this. */
  readonly topic: number
  readonly passages: number
}

export interface InventedPassage {
  readonly record: PassageRecord
  readonly topic: number
}

/** All passages in row order, made one by one. */
export function* inventedPassages({ passages: total, seed }: CorpusShape): Generator<InventedPassage> {
  const random = seededRandom(seed + 1)
  for (const document of documentsInRowOrder(total, seed)) {
    for (let ordinal = 0; ordinal < document.passages; ordinal++) {
      const topic = random() < ON_TOPIC_SHARE ? document.topic : drawTopic(random())
      yield { record: passage(document, ordinal, inventedText(random)), topic }
    }
  }
}

function documentsInRowOrder(total: number, seed: number): readonly InventedDocument[] {
  const random = seededRandom(seed)
  const count = Math.ceil(total / PASSAGES_PER_DOCUMENT)
  const documents = Array.from({ length: count }, (_, number): InventedDocument => {
    const last = number === count - 1
    const subject = drawn(SUBJECTS, random())
    const topic = drawTopic(random(), random() < OWN_SUBJECT_SHARE ? { of: FACETS.subjects.length, at: FACETS.subjects.indexOf(subject) } : undefined)
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
  const first = new Map(documents.map((document) => [document, passage(document, 0, '-')]))
  const of = (document: InventedDocument): PassageRecord => first.get(document) ?? passage(document, 0, '-')
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

function passage({ id, number, language, jurisdiction, subject, passages: documentPassages }: InventedDocument, ordinal: number, text: string): PassageRecord {
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
    citation: { label: `Article ${ordinal + 1} (${number}/2023)`, source_anchor: `${url}#article-${ordinal + 1}`, source_snapshot_id: SNAPSHOT_ID },
    metadata: { language, jurisdiction, verification_status: 'verified' },
    subjects: [subject],
    in_force_from: '2024-02-01',
    in_force_to: null,
    place: { ordinal, document_passages: documentPassages },
    source_id: `regulation-${number}#article-${ordinal + 1}`,
    heading: title,
  }
}

export const SNAPSHOT_ID = derivedUuid('bench snapshot')
const PASSAGE_CHARACTERS = 600
const WORDS =
  'firm authority shall record retain client report notify within days business assess risk adequate measures before entering relationship transaction threshold internal control review annual board delegate outsource provider written agreement access audit exposure capital requirement ratio prudential supervisory approval application grant refuse withdraw licence condition material change consumer complaint resolve disclosure fee charge transparent fair clear misleading advertisement cooling-off period right cancel distance contract data subject breach processor controller transfer safeguard'.split(
    ' ',
  )

/** Sentences of about 600 characters in all: a paragraph of a regulation by its length, not by its sense. */
export function inventedText(random: () => number, characters = PASSAGE_CHARACTERS): string {
  const sentences: string[] = []
  for (let length = 0; length < characters;) {
    const words = Array.from({ length: 12 + Math.floor(random() * 12) }, () => WORDS[Math.floor(random() * WORDS.length)] ?? '')
    const sentence = `The ${words.join(' ')}.`
    sentences.push(sentence)
    length += sentence.length + 1
  }
  return sentences.join(' ')
}
