import { randomUUID } from 'node:crypto'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { defaultProfile } from '#jobs/build/parameters.ts'
import type { ActiveEntitlement } from '#gateway/retrieve/entitle.ts'
import { spaceOf } from '#test/support/embedding-space.ts'

/** An entitlement to an invented knowledge base under the default plan; given fields override it. */
export function activeEntitlement(given: Partial<ActiveEntitlement> = {}): ActiveEntitlement {
  const profile: ActiveEntitlement['active_profile'] = {
    id: randomUUID(),
    version_id: randomUUID(),
    passages: 1_000,
    facets: {
      languages: ['en', 'fr'],
      jurisdictions: ['XA', 'XB'],
      subjects: ['alpha', 'beta'],
      statuses: ['verified'],
    },
    embedding: spaceOf(8),
    parameters: defaultProfile({ embedding: 'local' }),
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
    active_profile: profile,
    profiles: [],
    ...given,
  }
}
