import { expect, expectTypeOf, test } from 'vitest'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import { pin, type PinnedRequest } from '#gateway/retrieve/pin.ts'
import { search } from '#gateway/retrieve/search.ts'
import { accessTo, activeEntitlement, pinnedRequest } from './pinned.ts'

const entitlement = activeEntitlement()
const access = accessTo(entitlement)
const entitled = { languages: ['en', 'fr'], jurisdictions: ['XA', 'XB'], subjects: ['alpha'] }
const narrowed = {
  profile: entitlement.active_profile,
  entitled,
  languages: ['en'],
  jurisdictions: ['XA'],
  subjects: undefined,
}
const request = { query: 'capital', knowledge_base: 'kb' }

test('only a pinned request can be searched, and only pin makes one', () => {
  expectTypeOf(search).parameter(2).toEqualTypeOf<PinnedRequest>()
  const pinned = pin(access, entitlement, narrowed, request, new Date())
  expectTypeOf(pinned).toEqualTypeOf<PinnedRequest>()
  // @ts-expect-error a copy of all fields is no pinned request, because only `pin` sets the brand
  const forged: PinnedRequest = { ...request, ...pinned.limits, query: 'capital', topK: 5 }
  expect(forged).not.toBe(pinned)
})

test('nothing about a pinned request can change', () => {
  const pinned = pin(access, entitlement, narrowed, request, new Date())
  expect(Object.isFrozen(pinned)).toBe(true)
  expect(() => Object.assign(pinned, { topK: 100 })).toThrow(TypeError)
})

test('the day that "in force" is judged by is the UTC day of the moment of pinning', () => {
  const at = (iso: string): string => pin(access, entitlement, narrowed, request, new Date(iso)).filters.inForceOn
  expect([at('2026-03-01T00:00:00.000Z'), at('2026-03-01T23:59:59.999Z'), at('2026-03-01T23:30:00-02:00')]).toEqual([
    '2026-03-01',
    '2026-03-01',
    '2026-03-02',
  ])
})

test('top_k is clamped to the cap of the plan', () => {
  const topK = (asked: number | undefined): number =>
    pin(access, entitlement, narrowed, asked === undefined ? request : { ...request, top_k: asked }, new Date()).topK
  expect([topK(undefined), topK(1), topK(100)]).toEqual([
    planLimitsSchema.parse({}).max_top_k,
    1,
    planLimitsSchema.parse({}).max_top_k,
  ])
})

test('filters are always those of the entitlement, mandatory even when the request has none', () => {
  const { filters } = pin(access, entitlement, narrowed, request, new Date())
  expect(filters).toMatchObject({
    languages: ['en'],
    jurisdictions: ['XA'],
    anySubject: true,
    verificationStatuses: ['verified'],
  })
})

test('what the caller may see before its own filters is pinned too, under the same mandatory filters', () => {
  const { filters, entitled: before } = pin(
    access,
    entitlement,
    narrowed,
    { ...request, filters: { language: ['en'] } },
    new Date('2026-03-01T00:00:00.000Z'),
  )
  expect(before).toEqual({
    ...entitled,
    anySubject: false,
    verificationStatuses: ['verified'],
    inForceOn: '2026-03-01',
    documents: [],
  })
  expect(filters).toMatchObject({ inForceOn: '2026-03-01', documents: [] })
})

test('a request without filters of its own may see what its filters allow', () => {
  const { filters, entitled: before } = pinnedRequest()
  expect(before).toBe(filters)
})

test('a profile that serves every revision judges none by the day, which is pinned all the same', () => {
  const pinned = pinnedRequest({
    now: new Date('2026-03-01T00:00:00.000Z'),
    parameters: { in_force_only: false, verification_statuses: ['verified', 'provisional'] },
  })
  for (const { inForceOn: day, verificationStatuses: statuses } of [pinned.filters, pinned.entitled])
    expect([day, statuses]).toEqual(['', ['verified', 'provisional']])
  expect(pinned.inForceOn).toBe('2026-03-01')
})
