import { describe, expect, test } from 'vitest'
import { BOUNDS } from '#core/platform/bounds.ts'
import type { SearchRequest } from '#core/rpc/search-client.ts'
import { parseSearch } from '#search-node/wire.ts'
import type { ParsedSearch } from '#search-node/wire.ts'
import { EVERYTHING, RANKING, bytesOf, requestOf } from '#test/support/search-node/asked.ts'

/** A request as the proto's decoder gives it: every field is there. */
function parsed(change: Partial<Omit<SearchRequest, 'entitled'>> & { readonly entitled?: unknown } = {}): ParsedSearch {
  const request = requestOf({
    projection_id: '00000000-0000-4000-8000-000000000001',
    query_vector: bytesOf(Float32Array.of(1)),
  })
  return parseSearch({ without_text: false, only_rows: Buffer.alloc(0), ...request, ...change })
}

test('a filter value as long as an import may hold it is searched, whatever its letters take in UTF-16', () => {
  const longest = '𝔞'.repeat(BOUNDS.filterValueCharactersMax)
  const filters = (subject: string): SearchRequest['filters'] => ({
    ...EVERYTHING,
    subjects: [subject],
    any_subject: false,
  })
  expect(parsed({ filters: filters(longest) }).input.filters.subjects).toEqual([longest])
  expect(() => parsed({ filters: filters(`${longest}a`) })).toThrow(/filters\.subjects/)
})

describe('what is asked', () => {
  test('may be words, a vector or both, and must be one of them', () => {
    expect(parsed({ query_text: '' }).input).toMatchObject({ vector: Float32Array.of(1), text: '' })
    expect(parsed({ query_text: 'who', query_vector: Buffer.alloc(0) }).input).toMatchObject({
      vector: undefined,
      text: 'who',
    })
    expect(parsed({ query_text: 'who' }).input).toMatchObject({ vector: Float32Array.of(1), text: 'who' })
    for (const query_text of ['', ' \n\t'])
      expect(() => parsed({ query_text, query_vector: Buffer.alloc(0) })).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      )
  })

  test('may have as many characters as a gateway lets through, whatever they take in UTF-16', () => {
    const longest = '𝔞'.repeat(BOUNDS.queryCharactersMax)
    expect(parsed({ query_text: longest }).input.text).toBe(longest)
    expect(() => parsed({ query_text: `${longest}a` })).toThrow(/query_text/)
    expect(() => parsed({ query_text: 'half \ud83d' })).toThrow(/query_text/)
  })
})

test('who is not said to be entitled to more is entitled to what the filters allow', () => {
  const filters = { ...EVERYTHING, languages: ['de'] }
  expect(parsed({ filters, entitled: null }).input.entitled).toEqual(filters)
  expect(parsed({ filters, entitled: EVERYTHING }).input).toMatchObject({ filters, entitled: EVERYTHING })
  expect(() => parsed({ entitled: { ...EVERYTHING, in_force_on: 'today' } })).toThrow(/entitled\.in_force_on/)
})

test('every row is searched unless some are named', () => {
  expect(parsed().input.onlyRows).toBeUndefined()
  expect(parsed({ only_rows: Buffer.of(5, 1) }).input.onlyRows).toEqual(Uint8Array.of(5, 1))
})

test('an expansion of 0 is the usual one', () => {
  expect(parsed({ ranking: { ...RANKING, expansion: 0 } }).input.ranking.expansion).toBe(BOUNDS.searchExpansionDefault)
  expect(parsed({ ranking: { ...RANKING, expansion: 7 } }).input.ranking.expansion).toBe(7)
})

test.each<[string, object]>([
  ['dense_weight', { dense_weight: -0.1 }],
  ['dense_weight', { dense_weight: 1.1 }],
  ['dense_weight', { dense_weight: Number.NaN }],
  ['fusion', { fusion: 'sum' }],
  ['rrf_k', { rrf_k: 0 }],
  ['per_document_max', { per_document_max: -1 }],
  ['collapse_revisions_on', { collapse_revisions_on: '2025-13-01' }],
  ['expansion', { expansion: BOUNDS.searchExpansionMax + 1 }],
])('a ranking whose %s is out of bounds is refused by name', (field, change) => {
  // What a proto's decoder could give and the type does not allow.
  const ranking: SearchRequest['ranking'] = Object.assign({}, RANKING, change)
  expect(() => parsed({ ranking })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(`ranking.${field} `) }),
  )
})
