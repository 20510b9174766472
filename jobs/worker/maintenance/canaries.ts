import { activeRewriters } from '#core/db/versions.ts'
import type { Queryable } from '#core/db/pool.ts'
import { wholly } from '#core/index/format/description.ts'
import { words } from '#core/index/analysis/words.ts'
import type { Log } from '#core/platform/log.ts'
import { askCanaries, driftOf } from '#core/rewriting/canaries.ts'
import { createRewriter, type RewriterSettings } from '#core/rewriting/rewriter.ts'
import { JOB_BOUNDS } from '#jobs/platform/bounds.ts'

/** Of each knowledge base, how far its rewriter is from what the version was built with; NaN: it did not answer. */
export type Drifts = Map<string, number>

/** Asks the rewriter of each active version its canaries again. Texts are neither kept nor logged. */
export async function measureDrift(deps: {
  readonly database: Queryable
  readonly rewriting: RewriterSettings
  readonly drifts: Drifts
  readonly log: Log
}): Promise<void> {
  const active = await activeRewriters(deps.database)
  const slugs = new Set(active.map(({ slug }) => slug))
  for (const slug of deps.drifts.keys()) if (!slugs.has(slug)) deps.drifts.delete(slug)
  for (const { slug, rewriter } of active) {
    const { canaries = [], description } = rewriter
    try {
      const signal = AbortSignal.timeout(JOB_BOUNDS.canariesTimeoutMs)
      const now = await askCanaries(createRewriter(rewriter, deps.rewriting), wholly(description), signal)
      deps.drifts.set(slug, driftOf(canaries, now, words))
    } catch (error) {
      deps.drifts.set(slug, Number.NaN)
      deps.log.warn('canaries of the rewriter', { knowledge_base: slug }, error)
    }
  }
}
