import { z } from 'zod'

/**
 * Query and result of a search in the project's own types. `core/rpc` and `search-node/wire.ts` convert them to the
 * messages of the proto.
 */

const values = z.array(z.string()).readonly()

/** Values within one list are alternatives; all lists must match. A value that a list does not name is not served. */
export const filtersSchema = z
  .object({
    languages: values,
    jurisdictions: values,
    /** Ignored if `anySubject`; empty allows nothing. */
    subjects: values,
    anySubject: z.boolean(),
    verificationStatuses: values,
    /** UTC day, YYYY-MM-DD, on which a revision must be in force; '': any day. */
    inForceOn: z.string(),
    /** Document ids; empty: any document. */
    documents: values,
  })
  .readonly()
export type Filters = z.infer<typeof filtersSchema>

/** What is withdrawn of one document: one passage, else the provisions that are named, else all of it. */
export interface Withdrawn {
  readonly document: string
  /** Ids of provisions: one that covers a part of a record covers the record. */
  readonly provisions: readonly string[]
  /** '': no single passage. */
  readonly chunkId: string
}

/** The parameters of a retrieval profile that shape the ranking. */
export interface Ranking {
  /** Minimum of rows scored by a vector search; 0: the node's default. */
  readonly rowsScoredMin: number
  /** Weight of the vectors in the fused score, in [0, 1]. */
  readonly denseWeight: number
  /** Maximum of passages of one document in one reply; 0: no limit. */
  readonly perDocumentMax: number
  /** UTC day, YYYY-MM-DD, on which one revision of each provision is shown; '': every revision is shown. */
  readonly collapseRevisionsOn: string
}

export interface SearchQuery {
  readonly versionId: string
  /** SHA-256 of the manifest of the artifact to search, in hexadecimal digits; undefined: the one that is loaded. */
  readonly projection?: string | undefined
  /** Any positive length; undefined: only the words rank. */
  readonly vector: Float32Array | undefined
  /** Blank: only the vector ranks. */
  readonly text: string
  /**
   * Queries that a rewriter wrote, best first: their words rank in place of those of the text, which alone names
   * provisions. Absent: the text ranks.
   */
  readonly rewritten?: readonly string[] | undefined
  readonly limit: number
  readonly filters: Filters
  /** Filters of the entitlement, without the request's own; the same object is sent once. */
  readonly entitled: Filters
  readonly ranking: Ranking
  /** Left out before the ranking, under the entitlement too; undefined: nothing. */
  readonly withdrawn?: readonly Withdrawn[] | undefined
  /** The result has rows instead of passages. */
  readonly rowsOnly?: boolean
  /** A bitset (bit row % 8 of byte row / 8) that narrows the filters further; undefined: every row. */
  readonly onlyRows?: Uint8Array | undefined
}

export interface FoundRow {
  readonly row: number
  /** In [0, 1]; only comparable within one result. */
  readonly score: number
  /** Whether an explicit reference of the question names the passage's provision or a part of it. */
  readonly named: boolean
}

export interface FoundPassage extends FoundRow {
  readonly chunkId: string
  readonly text: string
  readonly document: {
    readonly id: string
    readonly revisionId: string
    readonly title: string
    readonly authority: string
    readonly canonicalUrl: string
    /** ISO 8601 UTC with milliseconds. */
    readonly publishedAt: string
    readonly effectiveAt: string
  }
  readonly citation: { readonly label: string; readonly sourceAnchor: string; readonly sourceSnapshotId: string }
  readonly metadata: {
    readonly language: string
    readonly jurisdiction: string
    readonly subjects: readonly string[]
    readonly verificationStatus: string
  }
  /** Passages of the document in this version, over all its revisions. */
  readonly documentPassages: number
  /** Id of the provision, and of the part if its text was split. */
  readonly provision: string
  /** Identifier in the source, by which question sets name passages. */
  readonly sourceId: string
}

/** A provision that the question names and that cannot be served. */
export interface UnsupportedReference {
  /** The reference as the question writes it. */
  readonly text: string
  /** Canonical form. */
  readonly normalized: string
  readonly reason: 'not_in_corpus' | 'outside_filters' | 'withdrawn'
}

export interface SearchResult {
  /** Scores do not increase; ties are ordered by chunk id. */
  readonly passages: readonly FoundPassage[]
  /** Instead of passages, if only rows were asked for. */
  readonly rows: readonly FoundRow[]
  /** How the vectors were searched: `exact`, `scan` or `ivf`; `none` without a vector. */
  readonly plan: string
  readonly allowed: number
  /** Query performance predictors, in the order of `PREDICTORS`; empty without a text. */
  readonly predictors: readonly number[]
  readonly unsupported: readonly UnsupportedReference[]
}

export interface LoadedVersion {
  readonly versionId: string
  readonly manifestDigest: Buffer
  /** Searches that use it now. */
  readonly leases: number
  readonly state: string
}

export interface NodeStatus {
  readonly loaded: readonly LoadedVersion[]
  readonly threads: number
  /** Searches that wait for a thread, and their maximum. */
  readonly queued: number
  readonly queueMax: number
  /** Versions that the node unloaded since its start because their files had changed. */
  readonly damaged: number
}

/** A version that a search node is asked to load. */
export interface VersionRef {
  readonly versionId: string
  /** SHA-256 of its manifest. */
  readonly manifestDigest: Buffer
  /** A node that has it loaded verifies its files again. */
  readonly verify?: boolean
}

export interface PreparedVersion {
  readonly alreadyLoaded: boolean
  readonly passages: number
}
