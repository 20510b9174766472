/** Bodies of `POST /v1/retrieve`, as its OpenAPI document names them. */

/** A question, at most 4,000 characters. Values of one filter are alternatives; filters combine. */
export interface RetrievalRequest {
  readonly query: string
  readonly knowledge_base: string
  readonly filters?: {
    readonly language?: readonly string[]
    readonly jurisdiction?: readonly string[]
    readonly subject?: readonly string[]
  }
  /** From 1 to 100; clamped to the cap of the plan. */
  readonly top_k?: number
  /** `active`, or the id of a retrieval profile. */
  readonly profile?: string
}

/** A passage with its source. */
export interface Result {
  readonly chunk_id: string
  readonly text: string
  /** Orders one reply; not comparable across queries. */
  readonly score: number
  readonly document: Document
  readonly citation: Citation
  readonly metadata: PassageMetadata
}

/** Times are ISO 8601 in UTC. */
export interface Document {
  readonly id: string
  readonly revision_id: string
  readonly title: string
  readonly authority: string
  readonly canonical_url: string
  readonly published_at: string
  readonly effective_at: string
}

export interface Citation {
  readonly label: string
  /** `canonical_url` of the document with a fragment. */
  readonly source_anchor: string
  readonly source_snapshot_id: string
}

export interface PassageMetadata {
  readonly language: string
  readonly jurisdiction: string
  readonly verification_status: 'verified' | 'source-declared' | 'provisional' | 'withdrawn'
}

export type Signal = 'evidence_probability' | 'evidence_probability_with_rewriter' | 'evidence_probability_with_reader'

export type UnsupportedReason = 'not_in_corpus' | 'outside_filters' | 'withdrawn'

/** A provision that the question names and that cannot be served. */
export interface UnsupportedReference {
  readonly text: string
  readonly normalized: string
  readonly reason: UnsupportedReason
}

/** `answer` iff a passage remains, no reference is unsupported and `observed_value >= threshold`. */
export interface Decision<D extends 'answer' | 'abstain'> {
  readonly decision: D
  readonly signal: Signal
  readonly threshold: number
  readonly observed_value: number
  readonly unsupported_explicit_references: readonly UnsupportedReference[]
}

export interface Usage {
  readonly query_embedding_tokens: number | null
  readonly result_count: number
  readonly top_k: number
  readonly dropped_for_size: number
  readonly response_bytes: number
}

interface Reply<D extends 'answer' | 'abstain'> {
  readonly request_id: string
  readonly knowledge_base: string
  readonly version: string
  readonly retrieval_profile: string
  readonly trace_id: string
  readonly abstention: Decision<D>
  readonly usage: Usage
}

/** Sufficient evidence: passages, best first. */
export interface Answer extends Reply<'answer'> {
  readonly results: readonly [Result, ...Result[]]
}

/** No sufficient evidence. The same request is not sent again. */
export interface Abstention extends Reply<'abstain'> {
  readonly results: readonly []
}

export type RetrievalResponse = Answer | Abstention

export type ErrorReason =
  | 'unknown_field'
  | 'not_entitled'
  | 'same_body'
  | 'another_body'
  | 'rate'
  | 'concurrency'
  | 'day'
  | 'month'
  | 'exposure'

export interface ErrorDetail {
  /** A JSON pointer into the body, the name of a header, `(body)` or `(plan)`. */
  readonly path: string
  readonly message: string
  readonly reason?: ErrorReason
  /** Of `exposure`: `knowledge_base`, or `document:` and its id. */
  readonly scope?: string
  /** Of `exposure`: when more is served. */
  readonly access_grows_at?: string
}
