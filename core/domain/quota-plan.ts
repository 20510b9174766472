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
  /** Distinct passages served per organization and knowledge base over a rolling window. */
  exposure: z
    .strictObject({
      window_days: z.int().min(1).max(366).default(30),
      /** Share of the corpus at which the rate tightens. */
      soft_share: share.default(0.1),
      /** Share of the corpus at which serving stops. */
      hard_share: share.default(0.2),
      /** Share of any one document at which serving stops. */
      document_share: share.default(0.5),
      /** Adjacent passages of one revision at which serving stops. */
      run: count(1_000_000).default(40),
      /** Each mark is the larger of its share and its floor, in passages. */
      floors: z
        .strictObject({
          corpus: count(1_000_000_000).default(2_000),
          document: count(1_000_000).default(60),
          run: count(1_000_000).default(40),
        })
        .prefault({}),
    })
    .refine((exposure) => exposure.soft_share <= exposure.hard_share, 'soft_share must not exceed hard_share')
    .prefault({}),
})

export type PlanLimits = z.infer<typeof planLimitsSchema>

/** Passages of a reply for a caller of the default plan who names no number. */
export const { max_top_k: DEFAULT_TOP_K } = planLimitsSchema.parse({})
