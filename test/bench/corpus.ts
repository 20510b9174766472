import type { Facets } from '#core/index/facets/layout.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import { chunkId, derivedUuid } from '#core/platform/ids.ts'
import type { Filters } from '#core/domain/search.ts'
import { JURISDICTIONS, LANGUAGES, SUBJECTS } from './documents.ts'

const SUBJECT_NAMES = Object.keys(SUBJECTS)

/** A subject that so much of all passages has at random, whatever they are about. */
export const SAMPLE = { subject: 'sample', share: 0.001 } as const

export const FACETS: Facets = {
  languages: Object.keys(LANGUAGES),
  jurisdictions: Object.keys(JURISDICTIONS),
  subjects: [...SUBJECT_NAMES, SAMPLE.subject].sort(),
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

export const SELECTIVITIES: readonly [Selectivity, ...Selectivity[]] = [
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

export interface PassageTraits {
  readonly language: string
  readonly jurisdiction: string
  readonly subjects: readonly string[]
}

/** @param share uniform in [0, 1). */
export function withSample(subject: string, share: number): readonly string[] {
  return share < SAMPLE.share ? [subject, SAMPLE.subject] : [subject]
}

/** What differs between passages; all are verified and in force. */
export interface RecordTraits extends PassageTraits {
  readonly document: {
    readonly id: string
    readonly title: string
    readonly authority: string
    readonly passages: number
  }
  readonly ordinal: number
  readonly url: string
  readonly label: string
  readonly heading: string
  readonly sourceId: string
  readonly references: readonly string[]
}

export function benchRecord(text: string, traits: RecordTraits): PassageRecord {
  const { document, ordinal, language, jurisdiction, subjects, url, label, heading, sourceId, references } = traits
  const { id, title, authority, passages } = document
  const anchor = `article-${ordinal + 1}`
  return {
    chunk_id: chunkId([id, String(ordinal)], text),
    text,
    document: {
      id,
      revision_id: derivedUuid('bench revision', id),
      title,
      authority,
      canonical_url: url,
      published_at: '2023-11-08T00:00:00.000Z',
      effective_at: '2024-02-01T00:00:00.000Z',
    },
    citation: { label, source_anchor: `${url}#${anchor}`, source_snapshot_id: SNAPSHOT_ID },
    metadata: { language, jurisdiction, verification_status: 'verified' },
    subjects: [...subjects],
    in_force_from: '2024-02-01',
    in_force_to: null,
    position: { ordinal, document_passages: passages },
    source_id: `${sourceId}#${anchor}`,
    heading,
    references: [...references],
    provision: `${id} ${ordinal}`,
    selector: { type: 'DataPositionSelector', start: 0, end: Buffer.byteLength(text) },
  }
}

export const SNAPSHOT_ID = derivedUuid('bench snapshot')

/** Each passage is a provision of one of these acts. */
export const ACTS: readonly ActEntry[] = Array.from({ length: 100 }, (_, number) => ({
  id: `xa:act-${100 + number}`,
  aliases: [`Invented Act ${100 + number}`],
}))
