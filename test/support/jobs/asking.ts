import { EVIDENCE_FEATURES } from '#core/domain/predictors.ts'
import type { EvidenceFeature } from '#core/domain/predictors.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import type { FoundPassage, SearchNodeClient, SearchReply, SearchRequest } from '#core/rpc/search-client.ts'
import type { AskContext } from '#jobs/evaluate/ask.ts'
import type { JudgedQuestion } from '#jobs/evaluate/query-with-qrels.ts'

/** A question that asks for the record `${id}-answer`; what is given wins. */
export function judged(id: string, change: Partial<JudgedQuestion> = {}): JudgedQuestion {
  return {
    id,
    text: `${id}?`,
    judgments: new Map([[`${id}-answer`, 1]]),
    answerable: undefined,
    group: undefined,
    quoted: false,
    filters: undefined,
    ...change,
  }
}

/** A passage of the record. */
export function found(record: string, score: number, change: Partial<FoundPassage> = {}): FoundPassage {
  return {
    chunk_id: `chk_${record}`,
    text: '',
    score,
    document: {
      id: 'd',
      revision_id: 'r',
      title: '–',
      authority: 'a',
      canonical_url: 'https://rules.example/',
      published_at: '',
      effective_at: '',
    },
    citation: { label: `Rule ${record}`, source_anchor: 'https://rules.example/#a', source_snapshot_id: 's' },
    metadata: { language: 'en', jurisdiction: 'ZZ', verification_status: 'verified' },
    place: { ordinal: 0, document_passages: 1 },
    named: false,
    row: 0,
    source_id: record,
    ...change,
  }
}

export function measured(features: Partial<Record<EvidenceFeature, number>> = {}): number[] {
  return EVIDENCE_FEATURES.map((name) => features[name] ?? 0)
}

/** A reply that lists the records, best first. */
export function replyWith(records: readonly string[], evidence = measured()): SearchReply {
  return {
    passages: records.map((record, at) => found(record, 1 / (at + 1))),
    plan: 'exact',
    allowed: 100,
    evidence,
    unsupported: [],
  }
}

export interface Asking {
  readonly context: AskContext
  /** What the node was asked, in order. */
  readonly asked: SearchRequest[]
}

/** One search node that answers as the test says; texts become vectors of their first two code units. */
export function asking(answer: (request: SearchRequest) => SearchReply, change: Partial<AskContext> = {}): Asking {
  const asked: SearchRequest[] = []
  const call = async (method: string, request: SearchRequest): Promise<unknown> => {
    if (method !== 'Search') return await Promise.resolve({})
    asked.push(request)
    return await Promise.resolve(answer(request))
  }
  const stand: unknown = { address: 'node', call, close: () => undefined }
  const context: AskContext = {
    projectionId: 'projection',
    facets: { languages: ['en'], jurisdictions: ['ZZ'], subjects: [], statuses: ['verified'] },
    profile: profileParametersSchema.parse({}),
    embedder: {
      space: { provider: 'local', model: 'test', dimensions: 2 },
      embed: async (texts) =>
        await Promise.resolve({
          vectors: texts.map((text) => Float32Array.of(text.charCodeAt(0) / 256, text.charCodeAt(1) / 256)),
          tokens: null,
        }),
    },
    nodes: [stand as SearchNodeClient],
    day: '2026-03-01',
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...change,
  }
  return { context, asked }
}
