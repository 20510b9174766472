import type { Calibration } from '#core/domain/calibration.ts'
import { DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import { PREDICTORS, type Predictor } from '#core/domain/predictors.ts'
import type { FoundPassage, SearchQuery, SearchResult } from '#core/domain/search.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import type { AskRecordsContext } from '#jobs/evaluation/ask.ts'
import type { QueryWithQrels } from '#jobs/evaluation/questions.ts'
import { spaceOf } from './artifact.ts'

/** A question that asks for the record `${id}-answer`; given fields override it. */
export function queryWithQrels(id: string, change: Partial<QueryWithQrels> = {}): QueryWithQrels {
  return {
    id,
    text: `${id}?`,
    qrels: new Map([[`${id}-answer`, 1]]),
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
    chunkId: `chk_${record}`,
    provision: `prv_${record}`,
    text: '',
    score,
    document: {
      id: 'd',
      revisionId: 'r',
      title: '–',
      authority: 'a',
      canonicalUrl: 'https://rules.example/',
      publishedAt: '',
      effectiveAt: '',
    },
    citation: { label: `Rule ${record}`, sourceAnchor: 'https://rules.example/#a', sourceSnapshotId: 's' },
    metadata: { language: 'en', jurisdiction: 'ZZ', subjects: [], verificationStatus: 'verified' },
    documentPassages: 1,
    named: false,
    row: 0,
    sourceId: record,
    ...change,
  }
}

/** A list with a little evidence, unless other features are given. */
export function measured(features: Partial<Record<Predictor, number>> = {}): number[] {
  const given: Partial<Record<Predictor, number>> = { words_best: 0.01, ...features }
  return PREDICTORS.map((name) => given[name] ?? 0)
}

/** A decision by the coverage of the first passage alone: the logistic of (coverage - mean) / scale, from 0.5 on. */
export function decidingByCoverage(mean = 0, scale = 1): Calibration {
  const model = {
    features: ['first_coverage'],
    means: [mean],
    scales: [scale],
    coefficients: [1],
    intercept: 0,
  } as const
  return { ...DEFAULT_CALIBRATION, ...model, threshold: 0.5 }
}

/** A reply that lists the records, best first. */
export function replyWith(records: readonly string[], predictors = measured()): SearchResult {
  return {
    passages: records.map((record, at) => found(record, 1 / (at + 1))),
    rows: [],
    plan: 'exact',
    allowed: 100,
    predictors,
    unsupported: [],
  }
}

export type Asking = ReturnType<typeof asking>

/** One search node that answers as the test says; texts become vectors of their first two code units. */
export function asking(
  answer: (request: SearchQuery) => SearchResult | Promise<SearchResult>,
  change: Partial<AskRecordsContext> = {},
) {
  /** What the node was asked, in order. */
  const asked: SearchQuery[] = []
  const records: string[] = []
  const rowOf = (record: string): number => {
    if (!records.includes(record)) records.push(record)
    return records.indexOf(record)
  }
  const node: SearchNodeClient = {
    address: 'node',
    search: async (query) => {
      asked.push(query)
      const reply = await answer(query)
      if (query.rowsOnly !== true || reply.rows.length > 0) return reply
      const rows = reply.passages.map(({ score, named, sourceId }) => ({ row: rowOf(sourceId), score, named }))
      return { ...reply, passages: [], rows }
    },
    prepareVersion: async () => await Promise.resolve({ alreadyLoaded: true, passages: 0 }),
    releaseVersion: async () => await Promise.resolve(false),
    status: async () => await Promise.resolve({ loaded: [], threads: 1, queued: 0, queueMax: 1, damaged: 0 }),
    close: () => undefined,
  }
  const context: AskRecordsContext = {
    versionId: 'version',
    facets: { languages: ['en'], jurisdictions: ['ZZ'], subjects: [], statuses: ['verified'] },
    profile: defaultProfile({ embedding: 'none' }),
    embedder: {
      space: spaceOf(2),
      embed: async (texts) =>
        await Promise.resolve({
          vectors: texts.map((text) => Float32Array.of(text.charCodeAt(0) / 256, text.charCodeAt(1) / 256)),
          tokens: null,
          overlong: 0,
        }),
    },
    sourceIdOf: (row) => records[row] ?? '',
    nodes: [node],
    day: '2026-03-01',
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...change,
  }
  return { context, asked }
}
