import { expect, test } from 'vitest'
import { BOUNDS } from '#core/bounds.ts'
import { parseSearch } from '#search-node/requests.ts'

function request(subject: string): unknown {
  return {
    projection_id: '00000000-0000-4000-8000-000000000001',
    query_vector: Buffer.from(Float32Array.of(1).buffer),
    limit: 5,
    filters: { languages: ['en'], jurisdictions: ['XA'], subjects: [subject], any_subject: false, verification_statuses: ['verified'], in_force_on: '' },
    ranking: { expansion: 64 },
  }
}

test('a filter value as long as an import may hold it is searched, whatever its letters take in UTF-16', () => {
  const longest = '𝔞'.repeat(BOUNDS.filterValueCharactersMax)
  expect(parseSearch(request(longest)).input.filters.subjects).toEqual([longest])
  expect(() => parseSearch(request(`${longest}a`))).toThrow(/filters\.subjects/)
})
