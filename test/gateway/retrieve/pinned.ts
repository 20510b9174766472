import { randomUUID } from 'node:crypto'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import type { ActiveEntitlement } from '#gateway/retrieve/entitle.ts'
import type { Access } from '#core/db/access.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { RetrievalRequest } from '#gateway/retrieve/schema.ts'
import { narrow } from '#gateway/retrieve/narrow.ts'
import { pin, type PinnedRequest } from '#gateway/retrieve/pin.ts'
import { createRequestContext, type RequestContext } from '#gateway/retrieve/request-context.ts'
import type { FoundPassage, Withdrawn } from '#core/domain/search.ts'
import { spaceOf } from '#test/support/artifact.ts'

/** An entitlement to an invented knowledge base under the default plan; given fields override it. */
export function activeEntitlement(given: Partial<ActiveEntitlement> = {}): ActiveEntitlement {
  const profile: ActiveEntitlement['active_profile'] = {
    id: randomUUID(),
    version_id: randomUUID(),
    projection: 'ab'.repeat(32),
    passages: 1_000,
    withdrawn: [],
    facets: {
      languages: ['en', 'fr'],
      jurisdictions: ['XA', 'XB'],
      subjects: ['alpha', 'beta'],
      statuses: ['verified'],
    },
    embedding: spaceOf(8),
    parameters: defaultProfile({ embedding: 'none' }),
  }
  return {
    id: randomUUID(),
    active: true,
    knowledge_base_id: randomUUID(),
    knowledge_base: 'kb',
    languages: ['en'],
    jurisdictions: ['XA'],
    subjects: null,
    plan_id: randomUUID(),
    limits: planLimitsSchema.parse({}),
    exposure_allowance: 0,
    assistance: true,
    active_profile: profile,
    profiles: [],
    ...given,
  }
}

export function accessTo(entitlement: ActiveEntitlement): Access {
  return {
    api_key_id: randomUUID(),
    client_id: randomUUID(),
    client: 'Advice Desk',
    organization_id: randomUUID(),
    environment: 'live',
    scopes: ['retrieval:read'],
    expires_at: new Date(),
    revoked_at: null,
    entitlements: [entitlement],
    fingerprint_epoch: null,
    fingerprint_wrapped: null,
  }
}

export interface PinnedTraits {
  readonly parameters?: Partial<ProfileParameters>
  readonly request?: Partial<RetrievalRequest>
  readonly now?: Date
  readonly withdrawn?: readonly Withdrawn[]
}

/** A request of a caller entitled to English passages of XA, pinned by the real stages. */
export function pinnedRequest({
  parameters = {},
  request = {},
  now = new Date(),
  withdrawn = [],
}: PinnedTraits = {}): PinnedRequest {
  const { active_profile: profile } = activeEntitlement()
  const entitlement = activeEntitlement({
    active_profile: {
      ...profile,
      withdrawn: withdrawn.map(({ chunkId, ...one }) => ({
        ...one,
        id: randomUUID(),
        provisions: [...one.provisions],
        chunk_id: chunkId,
      })),
      parameters: { ...profile.parameters, ...parameters },
    },
  })
  const asked: RetrievalRequest = { query: 'capital', knowledge_base: 'kb', ...request }
  return pin(accessTo(entitlement), entitlement, narrow(entitlement, asked), asked, now)
}

export function context(signal: AbortSignal = new AbortController().signal): RequestContext {
  return createRequestContext(new IncomingMessage(new Socket()), '127.0.0.1', signal, () => false)
}

/** Passage of the row, within what `pinnedRequest` may see. */
export function foundPassage(row: number, change: Partial<FoundPassage> = {}): FoundPassage {
  return {
    chunkId: `chk_${row}`,
    provision: `prv_${row}`,
    text: `Passage ${row}.`,
    score: 1 / (row + 2),
    document: {
      id: randomUUID(),
      revisionId: randomUUID(),
      title: 'Rulebook',
      authority: 'Authority',
      canonicalUrl: 'https://rules.example/a',
      publishedAt: '2024-01-01T00:00:00.000Z',
      effectiveAt: '2024-01-01T00:00:00.000Z',
    },
    citation: { label: `Rule ${row}`, sourceAnchor: `https://rules.example/a#${row}`, sourceSnapshotId: randomUUID() },
    metadata: { language: 'en', jurisdiction: 'XA', subjects: ['alpha'], verificationStatus: 'verified' },
    documentPassages: 100,
    named: false,
    row,
    sourceId: `a#${row}`,
    ...change,
  }
}
