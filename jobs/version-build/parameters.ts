import { z } from 'zod'
import { EMBEDDINGS, type Embedding } from '#core/embedding/embedder.ts'
import { endpointOptionsSchema } from '#core/embedding/settings.ts'
import { ENGINES } from '#core/index/engine/description.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import {
  DEFAULT_CALIBRATION,
  DEFAULT_CHAT_READER_CALIBRATION,
  DEFAULT_MODEL_CALIBRATION,
  DEFAULT_REWRITTEN_CALIBRATION,
} from '#core/domain/default-calibration.ts'
import { REWRITING_PROMPT_SHA256 } from '#core/rewriting/prompt.ts'
import type { Description } from '#core/index/format/description.ts'
import { PROMPT_SHA256 } from '#core/reading/chat.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import { withdrawalInForceSchema } from '#core/db/withdrawals.ts'
import {
  ORDERED_PASSAGES_MAX,
  ORDERED_PASSAGES_MIN,
  READER_KINDS,
  READER_SCORES,
  READ_PASSAGES_MAX,
  decides,
} from '#core/domain/retrieval-profile.ts'
import type { ProfileParameters, ReaderParameters } from '#core/domain/retrieval-profile.ts'

const parametersSchema = z.strictObject({
  /** SHA-256 (hex) of a question set, stored in the artifact store like a snapshot. Absent: known-item evaluation. */
  questions_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  /** SHA-256 (hex) of a file of search questions, stored likewise. Absent: a version without search questions. */
  search_questions_sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .optional(),
  /** A model writes the search questions; together with a file of them, the file counts. */
  search_questions: z.literal('openai').optional(),
  embedding: z.enum(EMBEDDINGS),
  /** How the endpoint is used that embeds, or writes search questions. */
  endpoint: endpointOptionsSchema.optional(),
  /** Where the version is searched. Absent: in its own files. */
  engine: z.enum(ENGINES).optional(),
  /** Minimum of rows that a vector search scores, in the profile of the new version. */
  expansion: z.int().min(1).max(SEARCH_BOUNDS.rowsScoredMinMax).optional(),
  /** Maximum share of the answers without evidence; the decision's threshold is fitted to it. */
  target_risk: z.number().gt(0).lt(1).default(0.05),
  /**
   * Decisions about the withdrawals in force: passages that are left out, and ids of those that do not apply any more.
   */
  withdrawals: z
    .strictObject({
      drop: z.array(withdrawalInForceSchema).max(SEARCH_BOUNDS.withdrawalsMax),
      restore: z.array(z.uuid()).max(SEARCH_BOUNDS.withdrawalsMax),
    })
    .default({ drop: [], restore: [] }),
  /** A chat model that writes search queries for each question; the profile pins it with the version's description. */
  rewriter: z
    .strictObject({ model: z.string().min(1).max(200), on_failure: z.enum(['refuse', 'decide_without']) })
    .optional(),
  /**
   * A model that scores the first passages of each request; the profile pins it. Its order is tried, and kept only if it
   * ranks the question set better.
   */
  reader: z
    .strictObject({
      model: z.string().min(1).max(200),
      kind: z.enum(READER_KINDS).default('chat'),
      scores: z.enum(READER_SCORES).default('decide'),
      passages: z.int().min(ORDERED_PASSAGES_MIN).max(ORDERED_PASSAGES_MAX).default(READ_PASSAGES_MAX),
      on_failure: z.enum(['refuse', 'decide_without']),
    })
    .optional(),
})
export type BuildParameters = z.infer<typeof parametersSchema>

const earlierSchema = z.looseObject({
  embedding: z.unknown(),
  reranker: z.strictObject({ model: z.unknown(), candidates: z.unknown() }).optional(),
})

/**
 * Reads stored parameters, also of a release that had an embedder of its own, which ranked as words alone do, and tried
 * a re-ranker beside a reader.
 */
export const buildParametersSchema = z.preprocess((stored) => {
  const { data } = earlierSchema.safeParse(stored)
  if (data === undefined) return stored
  const { reranker, ...rest } = data
  const embedding = rest.embedding === 'local' ? 'none' : rest.embedding
  if (reranker === undefined) return { ...rest, embedding }
  const { model, candidates: passages } = reranker
  const reader = { model, kind: 'cross-encoder', scores: 'order', passages, on_failure: 'refuse' }
  return { reader, ...rest, embedding }
}, parametersSchema)

/** The vectors' share of the ranking, unless a question set fits another (decision 0008). */
const DENSE_WEIGHT: Readonly<Record<Embedding, number>> = { none: 0, openai: 0.7 }

const REWRITING = { prompt_sha256: REWRITING_PROMPT_SHA256, calibration: DEFAULT_REWRITTEN_CALIBRATION } as const

const CALIBRATION: Readonly<Record<Embedding, Calibration>> = {
  none: DEFAULT_CALIBRATION,
  openai: DEFAULT_MODEL_CALIBRATION,
}

export function defaultProfile(
  { embedding, expansion, reader, rewriter }: Pick<BuildParameters, 'embedding' | 'expansion' | 'reader' | 'rewriter'>,
  description?: Description,
): ProfileParameters {
  return {
    expansion: expansion ?? SEARCH_BOUNDS.rowsScoredMinDefault,
    verification_statuses: ['verified'],
    in_force_only: true,
    dense_weight: DENSE_WEIGHT[embedding],
    collapse_revisions: true,
    per_document_max: 0,
    rewriter: rewriter && description ? { ...rewriter, description, ...REWRITING } : null,
    reader: reader === undefined ? null : pinned(reader),
    calibration: CALIBRATION[embedding],
  }
}

/** The evaluation replaces the calibration where labels are enough, as a cross-encoder needs. */
function pinned(reader: NonNullable<BuildParameters['reader']>): ReaderParameters {
  return {
    ...reader,
    prompt_sha256: reader.kind === 'chat' ? PROMPT_SHA256 : null,
    calibration: decides(reader) ? DEFAULT_CHAT_READER_CALIBRATION : null,
  }
}
