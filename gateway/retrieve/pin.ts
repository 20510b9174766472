import type { Access, ServingProfile } from '#core/db/access.ts'
import { withdrawnOf } from '#core/db/withdrawals.ts'
import type { PlanLimits } from '#core/domain/quota-plan.ts'
import type { Filters, Withdrawn } from '#core/domain/search.ts'
import { utcDay } from '#core/platform/time.ts'
import type { ActiveEntitlement } from './entitle.ts'
import type { Narrowed, Values } from './narrow.ts'
import type { RetrievalRequest } from './schema.ts'

declare const pinned: unique symbol

/**
 * A request with all its parameters fixed, even if another version is activated meanwhile. Only `pin` creates one, and
 * only pinned requests can be searched.
 */
export interface PinnedRequest {
  readonly [pinned]: true
  readonly query: string
  /** Equal for equal requests, however their JSON was written. */
  readonly canonical: string
  readonly topK: number
  readonly organizationId: string
  readonly clientId: string
  readonly apiKeyId: string
  readonly environment: string
  readonly entitlementId: string
  readonly knowledgeBaseId: string
  readonly knowledgeBase: string
  readonly planId: string
  readonly limits: PlanLimits
  /** Passages that an operator allows beyond the marks of the exposure. */
  readonly exposureAllowance: number
  readonly profile: ServingProfile
  /** The artifact that the version is served from: the SHA-256 of its manifest, in hexadecimal digits. */
  readonly projection: string
  readonly filters: Filters
  /** The filters without the request's own; the same object if it has none. */
  readonly entitled: Filters
  /** What is withdrawn of the version. */
  readonly withdrawn: readonly Withdrawn[]
  /** Whether a chat model may see the question. */
  readonly assistance: boolean
  /** Day, YYYY-MM-DD, on which revisions must be in force: the UTC day of the request, or that of the version. */
  readonly inForceOn: string
  readonly fingerprintKey: { readonly epoch: number; readonly wrapped: Buffer } | undefined
}

export function pin(
  access: Access,
  entitlement: ActiveEntitlement,
  narrowed: Narrowed,
  request: RetrievalRequest,
  now: Date,
): PinnedRequest {
  const { limits } = entitlement
  const { profile } = narrowed
  const inForceOn = profile.parameters.as_of ?? utcDay(now)
  const mandatory = {
    verificationStatuses: profile.parameters.verification_statuses,
    inForceOn: profile.parameters.in_force_only ? inForceOn : '',
    documents: [],
  }
  const filters = { ...valuesOf(narrowed), ...mandatory }
  const facts: Omit<PinnedRequest, typeof pinned> = {
    query: request.query,
    canonical: canonicalOf(request),
    topK: Math.min(request.top_k ?? limits.max_top_k, limits.max_top_k),
    organizationId: access.organization_id,
    clientId: access.client_id,
    apiKeyId: access.api_key_id,
    environment: access.environment,
    entitlementId: entitlement.id,
    knowledgeBaseId: entitlement.knowledge_base_id,
    knowledgeBase: entitlement.knowledge_base,
    planId: entitlement.plan_id,
    limits,
    exposureAllowance: entitlement.exposure_allowance,
    profile,
    projection: profile.projection,
    filters,
    entitled: request.filters === undefined ? filters : { ...valuesOf(narrowed.entitled), ...mandatory },
    withdrawn: profile.withdrawn.map(withdrawnOf),
    assistance: entitlement.assistance,
    inForceOn,
    fingerprintKey:
      access.fingerprint_epoch === null || access.fingerprint_wrapped === null
        ? undefined
        : { epoch: access.fingerprint_epoch, wrapped: access.fingerprint_wrapped },
  }
  return Object.freeze(facts) as PinnedRequest
}

function valuesOf({
  languages,
  jurisdictions,
  subjects,
}: Values): Pick<Filters, 'languages' | 'jurisdictions' | 'subjects' | 'anySubject'> {
  return { languages, jurisdictions, subjects: subjects ?? [], anySubject: subjects === undefined }
}

function canonicalOf({ query, knowledge_base, filters, top_k, profile }: RetrievalRequest): string {
  const lists = [filters?.language, filters?.jurisdiction, filters?.subject]
  return JSON.stringify([query, knowledge_base, lists.map((list) => list ?? null), top_k ?? null, profile ?? null])
}
