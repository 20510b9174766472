import { describe, expect, test } from 'vitest'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { PREDICTORS } from '#core/domain/predictors.ts'
import type { SearchQuery, SearchResult } from '#core/domain/search.ts'
import { searchRequestOf } from '#core/rpc/search-client.ts'
import { searchNodeService, type SearchRequest } from '#core/rpc/messages.ts'
import { encodeSearchReply, parseSearch } from '#search-node/wire.ts'
import { EVERYTHING, RANKING, requestOf } from '#test/support/search.ts'

/** A request as the proto's decoder gives it: every field is there. */
function parsed(change: Partial<Record<keyof SearchRequest, unknown>> = {}): SearchQuery {
  const query = requestOf({ versionId: '00000000-0000-4000-8000-000000000001', vector: Float32Array.of(1) })
  return parseSearch({ ...searchRequestOf(query), ...change })
}

test('a filter value as long as an import may hold it is searched, whatever its letters take in UTF-16', () => {
  const longest = '𝔞'.repeat(SEARCH_BOUNDS.filterValueCharactersMax)
  const filters = (subject: string): SearchQuery['filters'] => ({
    ...EVERYTHING,
    subjects: [subject],
    anySubject: false,
  })
  expect(parsed({ filters: filters(longest) }).filters.subjects).toEqual([longest])
  expect(() => parsed({ filters: filters(`${longest}a`) })).toThrow(/filters\.subjects/)
})

describe('what is asked', () => {
  test('may be words, a vector or both, and must be one of them', () => {
    expect(parsed({ queryText: '' })).toMatchObject({ vector: Float32Array.of(1), text: '' })
    expect(parsed({ queryText: 'who', queryVector: Buffer.alloc(0) })).toMatchObject({ vector: undefined, text: 'who' })
    expect(parsed({ queryText: 'who' })).toMatchObject({ vector: Float32Array.of(1), text: 'who' })
    for (const queryText of ['', ' \n\t'])
      expect(() => parsed({ queryText, queryVector: Buffer.alloc(0) })).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT' }),
      )
  })

  test('may have as many characters as a gateway lets through, whatever they take in UTF-16', () => {
    const longest = '𝔞'.repeat(SEARCH_BOUNDS.queryCharactersMax)
    expect(parsed({ queryText: longest }).text).toBe(longest)
    expect(() => parsed({ queryText: `${longest}a` })).toThrow(/query_text/)
    expect(() => parsed({ queryText: 'half \ud83d' })).toThrow(/query_text/)
  })
})

test('who is not said to be entitled to more is entitled to what the filters allow', () => {
  const filters = { ...EVERYTHING, languages: ['de'] }
  expect(parsed({ filters, entitled: null }).entitled).toEqual(filters)
  const query = requestOf({ versionId: '00000000-0000-4000-8000-000000000001', filters })
  expect(searchRequestOf(query)).not.toHaveProperty('entitled')
  expect(searchRequestOf({ ...query, entitled: { ...filters } })).toHaveProperty('entitled', filters)
  expect(parsed({ filters, entitled: EVERYTHING })).toMatchObject({ filters, entitled: EVERYTHING })
  expect(() => parsed({ entitled: { ...EVERYTHING, inForceOn: 'today' } })).toThrow(/entitled\.in_force_on/)
})

test('every row is searched unless some are named', () => {
  expect(parsed().onlyRows).toBeUndefined()
  expect(parsed({ onlyRows: Buffer.of(5, 1) }).onlyRows).toEqual(Uint8Array.of(5, 1))
})

test('an expansion of 0 is the usual one', () => {
  expect(parsed({ ranking: { ...RANKING, expansion: 0 } }).ranking.rowsScoredMin).toBe(
    SEARCH_BOUNDS.rowsScoredMinDefault,
  )
  expect(parsed({ ranking: { ...RANKING, expansion: 7 } }).ranking.rowsScoredMin).toBe(7)
})

test.each<[string, object]>([
  ['dense_weight', { denseWeight: -0.1 }],
  ['dense_weight', { denseWeight: 1.1 }],
  ['dense_weight', { denseWeight: Number.NaN }],
  ['per_document_max', { perDocumentMax: -1 }],
  ['collapse_revisions_on', { collapseRevisionsOn: '2025-13-01' }],
  ['expansion', { expansion: SEARCH_BOUNDS.rowsScoredMinMax + 1 }],
])('a ranking whose %s is out of bounds is refused by name', (field, change) => {
  const ranking = { ...RANKING, expansion: 64, ...change }
  expect(() => parsed({ ranking })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining(`ranking.${field} `) }),
  )
})

test('a query vector that ends within a number is refused by name', () => {
  expect(() => parsed({ queryVector: Buffer.alloc(127, 1) })).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', message: expect.stringContaining('query_vector ') }),
  )
})

describe('the predictors of a reply', () => {
  const predictors = PREDICTORS.map((_, at) => at / 10)
  const reply = (sent: readonly number[]): SearchResult => {
    const method = searchNodeService['Search']
    if (method === undefined) throw new Error('the proto names no method Search')
    const bytes = encodeSearchReply({
      passages: [],
      rows: [],
      plan: 'none',
      allowed: 0,
      predictors: sent,
      unsupported: [],
    })
    const decoded: SearchResult = method.responseDeserialize(Buffer.from(bytes))
    return decoded
  }

  test('reach a gateway in their order', () => {
    expect(reply(predictors).predictors).toEqual(predictors)
    expect(reply([]).predictors).toEqual([])
  })
})
