import { randomUUID } from 'node:crypto'
import { exposureGrants, insertExposureRaise, insertExposureRelease } from '#core/db/exposure.ts'
import type { ExposureGrant, ExposureScope, ExposureSubject } from '#core/db/exposure.ts'
import type { Queryable } from '#core/db/pool.ts'
import { readNewByDay, type NewPassages } from '#core/db/reservation-counts.ts'
import { documentMark, exposureLevel, exposureMarks, exposureOpensOn } from '#core/domain/exposure.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { knowledgeBaseNamed, organizationNamed } from './names.ts'
import { withAudit, type Operator } from './operator.ts'

/** Counts from the reservations, which the counters in Redis are also rebuilt from. */
export async function exposureOf(database: Queryable, scope: ExposureScope, limit: number, nowMs = Date.now()) {
  const grants = await exposureGrants(database, { ...scope, limit })
  const exposures: ReturnType<typeof exposureUnder>[] = []
  for (const [organizationId, ofOrganization] of Map.groupBy(grants, (grant) => grant.organization_id)) {
    const served = await readNewByDay(database, organizationId, nowMs)
    exposures.push(...ofOrganization.map((grant) => exposureUnder(grant, served, Math.floor(nowMs / DAY_MS))))
  }
  return exposures
}

/**
 * Exposure of one knowledge base to one organization in one environment, with the marks of one plan, in passages; marks
 * are null while no version is active.
 */
function exposureUnder(grant: ExposureGrant, served: readonly NewPassages[], today: number) {
  const own = served.filter(
    (row) => row.knowledge_base_id === grant.knowledge_base_id && row.environment === grant.environment,
  )
  const { exposure_allowance: exposureAllowance, environment, corpus_passages } = grant
  const marks = exposureMarks(grant.limits.exposure, {
    environment,
    corpusPassages: corpus_passages ?? 0,
    exposureAllowance,
  })
  const { windowDays, corpus } = marks
  const level = exposureLevel(byDay(own), today, windowDays, corpus.daily)
  const state = level >= corpus.hard ? 'stopped' : level >= corpus.soft ? 'tightened' : 'open'
  const stopped = [...Map.groupBy(own, ({ document }) => document)].filter(([, rows]) => {
    const mark = documentMark(marks, rows.at(-1)?.document_passages ?? 0, exposureAllowance)
    return exposureLevel(byDay(rows), today, windowDays, mark.daily) >= mark.hard
  })
  const known = corpus_passages !== null
  return {
    organization: grant.organization,
    knowledge_base: grant.knowledge_base,
    environment,
    plan: grant.plan,
    window_days: windowDays,
    corpus_passages,
    /** New passages served, less those that were forgotten with the days. */
    exposure: level,
    soft_mark: known ? corpus.soft : null,
    hard_mark: known ? corpus.hard : null,
    /** Forgotten with each UTC day. */
    daily: known ? corpus.daily : null,
    raised: exposureAllowance,
    state: known ? state : 'open',
    access_grows_at:
      known && state === 'stopped' ? new Date(exposureOpensOn(byDay(own), today, windowDays, corpus) * DAY_MS) : null,
    stopped_documents: stopped.map(([document]) => document),
    released_at: grant.released_at,
  }
}

function byDay(rows: readonly NewPassages[]): ReadonlyMap<number, number> {
  const days = new Map<number, number>()
  for (const { day, passages } of rows) days.set(day, (days.get(day) ?? 0) + passages)
  return days
}

interface ExposureDecision {
  readonly organization: string
  readonly knowledgeBase: string
  readonly environment: 'test' | 'live'
  readonly note: string
}

/** Records the operator's decision that passages served so far no longer count. It takes effect within 5 s. */
export async function releaseExposure(operator: Operator, decision: ExposureDecision) {
  return decide(operator, decision, 'exposure.release', {}, insertExposureRelease)
}

/** Allows so many more passages, of the corpus and of each document, until an instant. It takes effect within 5 s. */
export async function raiseExposure(
  operator: Operator,
  decision: ExposureDecision & { readonly passages: number; readonly until: Date },
) {
  const { passages, until } = decision
  if (until.getTime() <= Date.now()) throw new OperatorError('--until is past: give the day on which the raise ends.')
  return decide(operator, decision, 'exposure.raise', { passages, until }, (client, id, subject) =>
    insertExposureRaise(client, { id, ...subject, passages, until }),
  )
}

async function decide(
  operator: Operator,
  decision: ExposureDecision,
  action: string,
  more: object,
  write: (client: Queryable, id: string, subject: ExposureSubject) => Promise<void>,
) {
  const organization = await organizationNamed(operator.database, decision.organization)
  const base = await knowledgeBaseNamed(operator.database, decision.knowledgeBase)
  const { environment, note } = decision
  const subject = { organizationId: organization.id, knowledgeBaseId: base.id, environment }
  const id = randomUUID()
  return withAudit(operator, action, async (client) => {
    const [before] = await exposureOf(client, subject, 1)
    await write(client, id, subject)
    const names = { organization: organization.name, knowledge_base: base.slug, environment }
    const detail = { ...names, note, decision_id: id, exposure: before?.exposure ?? 0, ...more }
    return [{ id, ...names }, `organization:${organization.id}`, detail]
  })
}
