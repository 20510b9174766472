import { expect, test } from 'vitest'
import { retryAfterMs } from '#core/platform/json-endpoint.ts'

const NOW_MS = Date.parse('2026-03-01T12:00:00Z')
const read = (headers: Readonly<Record<string, string>>): number | undefined => retryAfterMs(headers, NOW_MS)

test('seconds, a date and milliseconds are read; milliseconds count first', () => {
  expect(read({ 'retry-after': '90' })).toBe(90_000)
  expect(read({ 'retry-after': '0.5' })).toBe(500)
  expect(read({ 'retry-after': 'Sun, 01 Mar 2026 12:01:30 GMT' })).toBe(90_000)
  expect(read({ 'retry-after': '90', 'retry-after-ms': '250' })).toBe(250)
})

test('a date that has passed means now', () => {
  expect(read({ 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' })).toBe(0)
})

test('what is neither is as if it were not there', () => {
  for (const value of ['', 'soon', '-5', '1e9', '99999999999999'])
    expect(read({ 'retry-after': value }), value).toBeUndefined()
  expect(read({ 'retry-after': '2', 'retry-after-ms': 'x' })).toBe(2_000)
})
