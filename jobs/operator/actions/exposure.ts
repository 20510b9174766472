import { randomUUID } from 'node:crypto'
import { insertExposureRelease, showExposure } from '#core/db/exposure-releases.ts'
import type { Queryable } from '#core/db/pool.ts'
import { knowledgeBaseNamed, organizationNamed } from './names.ts'
import { withAudit } from './operator.ts'
import type { Operator } from './operator.ts'

/** Exposure of one knowledge base to one organization, with the marks of one plan. All counts are distinct passages. */
export interface Exposure {
  readonly organization: string
  readonly knowledge_base: string
  readonly plan: string
  readonly window_days: number
  readonly corpus_passages: number | null
  readonly distinct_passages: number
  /** Above it the rate limit is lowered; null while no version is active. */
  readonly soft_mark: number | null
  /** Above it serving stops; null while no version is active. */
  readonly hard_mark: number | null
  readonly state: 'open' | 'tightened' | 'stopped'
  readonly released_at: Date | null
}

/**
 * Returns exposure against the marks of the whole corpus. The marks of single documents and of runs of neighbours are
 * checked only at admission.
 */
export async function exposureOf(
  database: Queryable,
  organizationId: string | null,
  knowledgeBaseId: string | null,
  limit: number,
): Promise<readonly Exposure[]> {
  const rows = await showExposure(database, organizationId, knowledgeBaseId, limit)
  return rows.map(({ limits: { exposure }, ...row }) => {
    const mark = (share: number): number | null =>
      row.corpus_passages === null ? null : Math.max(Math.floor(share * row.corpus_passages), exposure.floors.corpus)
    const [soft, hard] = [mark(exposure.soft_share), mark(exposure.hard_share)]
    const past = (limit_: number | null): boolean => limit_ !== null && row.distinct_passages >= limit_
    return {
      organization: row.organization,
      knowledge_base: row.knowledge_base,
      plan: row.plan,
      window_days: exposure.window_days,
      corpus_passages: row.corpus_passages,
      distinct_passages: row.distinct_passages,
      soft_mark: soft,
      hard_mark: hard,
      state: past(hard) ? 'stopped' : past(soft) ? 'tightened' : 'open',
      released_at: row.released_at,
    }
  })
}

/**
 * Records the operator's decision that passages served so far no longer count. It takes effect
 * within 5 s.
 */
export async function releaseExposure(
  operator: Operator,
  input: { readonly organization: string; readonly knowledgeBase: string; readonly note: string },
): Promise<{ readonly id: string; readonly organization: string; readonly knowledge_base: string }> {
  const organization = await organizationNamed(operator.database, input.organization)
  const base = await knowledgeBaseNamed(operator.database, input.knowledgeBase)
  const id = randomUUID()
  return withAudit(operator, async (client) => {
    const before = await exposureOf(client, organization.id, base.id, 1)
    await insertExposureRelease(client, id, organization.id, base.id)
    const detail = {
      organization: organization.name,
      knowledge_base: base.slug,
      note: input.note,
      release_id: id,
      distinct_passages: before[0]?.distinct_passages ?? 0,
    }
    return {
      result: { id, organization: organization.name, knowledge_base: base.slug },
      audit: { action: 'exposure.release', subject: `organization:${organization.id}`, detail },
    }
  })
}
