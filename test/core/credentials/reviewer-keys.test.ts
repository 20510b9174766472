import { createPublicKey } from 'node:crypto'
import { expect, test } from 'vitest'
import { createReviewerKey, parsePublicKey } from '#core/credentials/reviewer-keys.ts'

const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex')

/** Points of order 1 (also with its sign, and beyond the field), 2, 4 and 8. */
const SMALL = [
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '00'.repeat(32),
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  `01${'00'.repeat(30)}80`,
  `ee${'ff'.repeat(30)}7f`,
]

test.each(SMALL)('a public key under which anybody can sign is refused: %s', (point) => {
  const key = createPublicKey({
    key: Buffer.concat([SPKI_HEAD, Buffer.from(point, 'hex')]),
    format: 'der',
    type: 'spki',
  })
  expect(parsePublicKey(String(key.export({ format: 'pem', type: 'spki' })))).toBeUndefined()
})

test('the public key of a new pair is taken', () => {
  expect(parsePublicKey(createReviewerKey().publicPem)).toHaveLength(44)
})
