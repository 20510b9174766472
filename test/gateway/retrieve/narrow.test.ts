import fc from 'fast-check'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { ServiceError } from '#core/platform/errors.ts'
import { narrow, type Narrowed } from '#gateway/retrieve/narrow.ts'
import { activeEntitlement } from './pinned.ts'

const languages = fc.uniqueArray(fc.constantFrom('en', 'fr', 'de', 'pt-BR', 'EN', 'pt-br'), { minLength: 1 })
const jurisdictions = fc.uniqueArray(fc.constantFrom('XA', 'XB', 'xa', 'Xc', 'XC'), { minLength: 1 })
const subjects = fc.uniqueArray(fc.constantFrom('alpha', 'beta', 'gamma', 'Alpha'), { minLength: 1 })

/** Undefined when it is refused as forbidden; anything else thrown is a fault. */
function narrowed(...[entitlement, request]: Parameters<typeof narrow>): Narrowed | undefined {
  try {
    return narrow(entitlement, request)
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'FILTER_FORBIDDEN') return undefined
    throw error
  }
}

const canonical = (list: readonly string[]): readonly string[] =>
  list.map((code) => Intl.getCanonicalLocales(code)[0] ?? code)
const upper = (list: readonly string[]): readonly string[] => list.map((code) => code.toUpperCase())
const lower = (list: readonly string[]): readonly string[] => list.map((subject) => subject.toLowerCase())
const isSubset = (inner: readonly string[], outer: readonly string[]): boolean =>
  inner.every((value) => outer.includes(value))

test(
  'whatever is asked of whatever entitlement, the outcome lies within both, or is refused exactly when ' +
    'the request lies outside',
  () => {
    const entitled = fc.record({ languages, jurisdictions, subjects: fc.option(subjects) })
    const asked = fc.record(
      { language: languages, jurisdiction: jurisdictions, subject: subjects },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(entitled, asked, (grant, filters) => {
        const entitlement = activeEntitlement(grant)
        const outcome = narrowed(entitlement, { query: 'capital', knowledge_base: 'kb', filters })
        const subjectsHeld = lower(grant.subjects ?? entitlement.active_profile.facets.subjects)
        const allowed =
          isSubset(canonical(filters.language ?? []), canonical(grant.languages)) &&
          isSubset(upper(filters.jurisdiction ?? []), upper(grant.jurisdictions)) &&
          isSubset(lower(filters.subject ?? []), subjectsHeld)
        expect(outcome !== undefined).toBe(allowed)
        if (outcome === undefined) return
        expect(isSubset(outcome.languages, canonical(filters.language ?? grant.languages))).toBe(true)
        expect(isSubset(outcome.jurisdictions, upper(filters.jurisdiction ?? grant.jurisdictions))).toBe(true)
        expect(outcome.subjects === undefined).toBe(grant.subjects === null && filters.subject === undefined)
        expect(isSubset(outcome.subjects ?? [], lower(filters.subject ?? subjectsHeld))).toBe(true)
        expect(outcome.entitled).toEqual({
          languages: canonical(grant.languages),
          jurisdictions: upper(grant.jurisdictions),
          subjects: grant.subjects === null ? undefined : lower(grant.subjects),
        })
      }),
    )
  },
)

describe('a value that cannot be entitled is refused without canonicalisation', () => {
  const canonicalised = vi.spyOn(Intl, 'getCanonicalLocales')
  const asking = (language: readonly string[]): Narrowed | undefined =>
    narrowed(activeEntitlement({ languages: ['en', 'he', 'ko', 'pt-BR'] }), {
      query: 'capital',
      knowledge_base: 'kb',
      filters: { language: [...language] },
    })
  beforeEach(() => void canonicalised.mockClear())

  test.each([
    ['longer than any value of an entitlement', `en-${'abcdefgh-'.repeat(25)}x`],
    ['not shaped like a language tag', '!'],
    ['empty', ''],
    ['written with a sign that is ASCII in lower case', '\u212ao'],
  ])('when it is %s', (_, value) => {
    asking(['en'])
    canonicalised.mockClear()
    expect(asking([value])).toBeUndefined()
    expect(canonicalised).not.toHaveBeenCalledWith(value)
  })

  test('and so is everything after the first forbidden value', () => {
    expect(asking(['xx', 'iw'])).toBeUndefined()
    expect(canonicalised).not.toHaveBeenCalledWith('iw')
  })

  test('while entitled values need none, whatever their case, and their aliases are found by it', () => {
    expect(asking(['pt-BR', 'en'])?.languages).toEqual(['en', 'pt-BR'])
    expect(asking(['PT-br', 'EN'])?.languages).toEqual(['en', 'pt-BR'])
    for (const spelling of ['PT-br', 'EN']) expect(canonicalised).not.toHaveBeenCalledWith(spelling)
    expect(asking(['iw'])?.languages).toEqual(['he'])
  })
})

test('an entitlement is canonicalised once, not for every request', () => {
  const canonicalised = vi.spyOn(Intl, 'getCanonicalLocales').mockClear()
  const entitlement = activeEntitlement({ languages: ['en', 'fr'] })
  for (let request = 0; request < 3; request++) narrowed(entitlement, { query: 'capital', knowledge_base: 'kb' })
  expect(canonicalised).toHaveBeenCalledTimes(2)
})

test('a profile is the active one or one that the entitlement names', () => {
  const other = activeEntitlement().active_profile
  const entitlement = activeEntitlement({ profiles: [other] })
  const chosen = (profile: string | undefined): string | undefined =>
    narrowed(entitlement, { query: 'capital', knowledge_base: 'kb', ...(profile === undefined ? {} : { profile }) })
      ?.profile.id
  expect([chosen(undefined), chosen('active')]).toEqual([entitlement.active_profile.id, entitlement.active_profile.id])
  expect([chosen(other.id), chosen(other.id.toUpperCase())]).toEqual([other.id, other.id])
  expect(chosen(entitlement.active_profile.id)).toBe(entitlement.active_profile.id)
  expect(chosen('7d0e4b9e-31ce-4a8c-8c43-0de1ff1f2f1b')).toBeUndefined()
})
