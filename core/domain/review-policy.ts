import { z } from 'zod'
import { changeLimitsSchema } from './changes.ts'

export const REVIEWERS_REQUIRED_MAX = 5

/** What a knowledge base asks of the reviews of a candidate, as its reviewers signed it. */
export const reviewPolicySchema = z.strictObject({
  /** Number of different reviewers who must approve. */
  reviewers: z.int().min(1).max(REVIEWERS_REQUIRED_MAX).default(1),
  /** The approval of the person who started the build does not count. */
  exclude_build_starter: z.boolean().default(false),
  /** Number of different reviewers who must approve the return to an earlier version; 0: an operator returns alone. */
  rollback_reviewers: z.int().min(0).max(REVIEWERS_REQUIRED_MAX).default(0),
  /** Number of different reviewers who sign a withdrawal, and its restoration; 0: an operator acts alone. */
  withdrawal_reviewers: z.int().min(0).max(REVIEWERS_REQUIRED_MAX).default(1),
  /** The largest count of each kind of change that needs no acceptance by name; see `limitOf` where one is absent. */
  limits: changeLimitsSchema.default({}),
})
export type ReviewPolicy = z.infer<typeof reviewPolicySchema>

/** The policy of a knowledge base that never set one. */
export const DEFAULT_REVIEW_POLICY: ReviewPolicy = reviewPolicySchema.parse({})
