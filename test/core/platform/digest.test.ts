import { expect, test } from 'vitest'
import { canonicalJson } from '#core/platform/digest.ts'

test('canonical JSON does not depend on the order of keys, and of what is undefined nothing is written', () => {
  const value = { b: [1, { d: undefined, c: null }], a: undefined }
  expect(canonicalJson(value)).toBe('{"b":[1,{"c":null}]}')
  expect(canonicalJson(JSON.parse(JSON.stringify(value)))).toBe(canonicalJson(value))
})
