import { z } from 'zod'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { SEARCH_BOUNDS } from './bounds.ts'

const share = z.number().positive().max(1)
const count = (max: number): z.ZodInt => z.int().positive().max(max)

/**
 * The limits of a plan; immutable once stored. The plan of an entitlement takes precedence over these defaults, which
 * are the beta plan of the contract.
 */
export const planLimitsSchema = z.strictObject({
  max_top_k: count(SEARCH_BOUNDS.topKSchemaMax).default(5),
  /** Unicode code points. */
  max_query_characters: count(SEARCH_BOUNDS.queryCharactersMax).default(4_000),
  max_response_bytes: z
    .int()
    .min(INDEX_BOUNDS.passageJsonBytesMax + 2_000)
    .max(2_000_000)
    .default(50_000),
  requests_per_minute: count(1_000_000).default(10),
  concurrency: count(10_000).default(2),
  requests_per_day: count(1_000_000_000).default(250),
  requests_per_month: count(1_000_000_000).default(5_000),
  /** New passages served per organization, environment and knowledge base; decision 0046 has the arithmetic. */
  exposure: z
    .strictObject({
      /** A passage is new again when it was not served for so long; no window of days is longer. */
      window_days: z.int().min(1).max(366).default(30),
      /** Share of the corpus from which the rate is lower; a document has the same part of its mark. */
      soft_share: share.default(0.0625),
      /** Share of the corpus at which serving stops, and what is forgotten of it with each UTC day. */
      hard_share: share.default(0.125),
      daily_share: share.default(0.0005),
      /** Share of one document at which replies with its passages stop, and what is forgotten of it with each day. */
      document_share: share.default(0.5),
      document_daily_share: share.default(0.01),
      /** Part of each share that the test environment has. */
      test_share: share.default(0.05),
      /** Each mark is the larger of its share and its floor, in passages. */
      floors: z
        .strictObject({
          corpus: count(1_000_000_000).default(300),
          document: count(1_000_000_000).default(300),
          daily: count(1_000_000_000).default(5),
        })
        .prefault({}),
    })
    .refine((exposure) => exposure.soft_share <= exposure.hard_share, 'soft_share must not exceed hard_share')
    .prefault({}),
})

export type PlanLimits = z.infer<typeof planLimitsSchema>

const DEFAULTS = planLimitsSchema.parse({})

/** Passages of a reply for a caller of the default plan who names no number. */
export const { max_top_k: DEFAULT_TOP_K } = DEFAULTS

/** Passages of a corpus that the default plan serves before it stops; a smaller corpus may be copied whole. */
export const { corpus: DEFAULT_EXPOSURE_FLOOR } = DEFAULTS.exposure.floors
