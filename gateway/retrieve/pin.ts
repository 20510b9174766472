import type { Access } from '#core/db/access.ts'
import { withdrawnOf } from '#core/db/withdrawals.ts'
import type { Filters } from '#core/domain/search.ts'
import { utcDay } from '#core/platform/time.ts'
import type { ActiveEntitlement } from './entitle.ts'
import type { Narrowed, Values } from './narrow.ts'
import type { RetrievalRequest } from './schema.ts'

declare const pinned: unique symbol

/**
 * A request with all its parameters fixed, even if another version is activated meanwhile. Only `pin` creates one, and
 * only pinned requests can be searched.
 */
export type PinnedRequest = Readonly<ReturnType<typeof factsOf>> & { readonly [pinned]: true }

export function pin(...given: Parameters<typeof factsOf>): PinnedRequest {
  return Object.freeze(factsOf(...given)) as PinnedRequest
}

function factsOf(
  access: Access,
  entitlement: ActiveEntitlement,
  narrowed: Narrowed,
  request: RetrievalRequest,
  now: Date,
) {
  const { limits } = entitlement
  const { profile } = narrowed
  const inForceOn = profile.parameters.as_of ?? utcDay(now)
  const mandatory = {
    verificationStatuses: profile.parameters.verification_statuses,
    inForceOn: profile.parameters.in_force_only ? inForceOn : '',
    documents: [],
  }
  const filters: Filters = { ...valuesOf(narrowed), ...mandatory }
  return {
    query: request.query,
    /** Equal for equal requests, however their JSON was written. */
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
    /** The artifact that the version is served from: the SHA-256 of its manifest, in hexadecimal digits. */
    projection: profile.projection,
    filters,
    /** The filters without the request's own; the same object if it has none. */
    entitled: request.filters === undefined ? filters : { ...valuesOf(narrowed.entitled), ...mandatory },
    withdrawn: profile.withdrawn.map(withdrawnOf),
    /** Whether a chat model may see the question. */
    assistance: entitlement.assistance,
    /** Day, YYYY-MM-DD, on which revisions must be in force: the UTC day of the request, or that of the version. */
    inForceOn,
    fingerprintKey:
      access.fingerprint_epoch === null || access.fingerprint_wrapped === null
        ? undefined
        : { epoch: access.fingerprint_epoch, wrapped: access.fingerprint_wrapped },
  }
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
