import { z } from 'zod'
import type { Queryable } from './pool.ts'
import { CAPTURE_OUTCOMES } from './sources.ts'

/**
 * Candidates of a knowledge base that no review is about. Those from before the active version became active are passed
 * over: they were compared with another one.
 */
const WAITING = `
select k.slug as knowledge_base, count(v.id)::int as count
from knowledge_bases k
left join active_versions a on a.knowledge_base_id = k.id
left join corpus_versions v on v.knowledge_base_id = k.id and v.state = 'candidate'
  and (a.activated_at is null or v.created_at > a.activated_at)
  and not exists (select from reviews r where r.version_id = v.id)
group by k.slug order by k.slug limit $1`
const waitingSchema = z.array(z.object({ knowledge_base: z.string(), count: z.int() }))

/** @returns how many candidates wait for a review, for each knowledge base. */
export async function candidatesWaiting(database: Queryable, limit: number): Promise<z.infer<typeof waitingSchema>> {
  return waitingSchema.parse((await database.query(WAITING, [limit])).rows)
}

/** Sources by the outcome of their last capture; the index on captures gives it. */
const BY_LAST_CAPTURE = `
select k.slug as knowledge_base, coalesce(c.outcome, 'none') as outcome, count(*)::int as count
from sources s join knowledge_bases k on k.id = s.knowledge_base_id
left join lateral (select outcome from captures where source_id = s.id order by id desc limit 1) c on true
where s.removed_at is null
group by k.slug, c.outcome order by k.slug, c.outcome limit $1`
const lastCaptureSchema = z.array(
  z.object({ knowledge_base: z.string(), outcome: z.enum([...CAPTURE_OUTCOMES, 'none']), count: z.int() }),
)

/** @returns how many sources had which outcome last, for each knowledge base; `none`: not captured yet. */
export async function sourcesByLastCapture(
  database: Queryable,
  limit: number,
): Promise<z.infer<typeof lastCaptureSchema>> {
  return lastCaptureSchema.parse((await database.query(BY_LAST_CAPTURE, [limit])).rows)
}
