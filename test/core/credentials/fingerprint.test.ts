import { randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  idempotencyDigest,
  createFingerprintKey,
  queryFingerprint,
  unwrapFingerprintKey,
  wrapFingerprintKey,
} from '#core/credentials/fingerprint.ts'

const secret = randomBytes(32)
const owner = { organizationId: randomUUID(), epoch: 3 }

describe('wrapped fingerprint keys', () => {
  test('a wrapped key opens again only for the same secret, organization and epoch', () => {
    const key = createFingerprintKey()
    const wrapped = wrapFingerprintKey(key, owner, secret)
    expect(wrapped).toHaveLength(60)
    expect(unwrapFingerprintKey(wrapped, owner, secret)).toEqual(key)
    expect(() => unwrapFingerprintKey(wrapped, owner, randomBytes(32))).toThrow(
      /does not open with this SERVICE_SECRET/,
    )
    expect(() => unwrapFingerprintKey(wrapped, { ...owner, epoch: 4 }, secret)).toThrow(/epoch 4/)
    expect(() => unwrapFingerprintKey(wrapped, { ...owner, organizationId: randomUUID() }, secret)).toThrow(
      /does not open/,
    )
  })

  test('any flipped bit, a short tag and a cut key are refused', () => {
    const wrapped = wrapFingerprintKey(createFingerprintKey(), owner, secret)
    for (const at of wrapped.keys()) {
      const damaged = Buffer.from(wrapped)
      damaged[at] = (damaged[at] ?? 0) ^ 1
      expect(() => unwrapFingerprintKey(damaged, owner, secret), `byte ${at}`).toThrow(/does not open/)
    }
    for (const length of [0, 11, 28, 59])
      expect(() => unwrapFingerprintKey(wrapped.subarray(0, length), owner, secret)).toThrow(/does not open/)
    expect(() => unwrapFingerprintKey(Buffer.concat([wrapped, Buffer.alloc(1)]), owner, secret)).toThrow(
      /does not open/,
    )
  })

  test('wrapping the same key twice gives different bytes and never the key itself', () => {
    const key = createFingerprintKey()
    const [first, second] = [wrapFingerprintKey(key, owner, secret), wrapFingerprintKey(key, owner, secret)]
    expect(first.equals(second)).toBe(false)
    expect(first.includes(key)).toBe(false)
  })

  test('a key that is not 32 bytes is not wrapped', () => {
    expect(() => wrapFingerprintKey(randomBytes(31), owner, secret)).toThrow(RangeError)
  })
})

describe('query fingerprints', () => {
  const key = createFingerprintKey()

  test('white space and Unicode form do not change a fingerprint', () => {
    const plain = queryFingerprint(key, 'Quelle est la durée ?')
    expect(plain).toHaveLength(32)
    expect(queryFingerprint(key, '  Quelle\test la\u00a0\n dure\u0301e ? ')).toEqual(plain)
  })

  test('other words, other case and other keys give other fingerprints', () => {
    const plain = queryFingerprint(key, 'capital buffer')
    for (const other of ['capital buffers', 'Capital buffer', 'capitalbuffer'])
      expect(queryFingerprint(key, other).equals(plain), other).toBe(false)
    expect(queryFingerprint(createFingerprintKey(), 'capital buffer').equals(plain)).toBe(false)
  })
})

describe('idempotency digests', () => {
  const client = randomUUID()

  test('the digest belongs to one client, environment and key', () => {
    const digest = idempotencyDigest(secret, client, 'live', 'order-0000000000001')
    expect(digest).toHaveLength(32)
    expect(idempotencyDigest(secret, client, 'live', 'order-0000000000001')).toEqual(digest)
    for (const other of [
      idempotencyDigest(secret, randomUUID(), 'live', 'order-0000000000001'),
      idempotencyDigest(secret, client, 'test', 'order-0000000000001'),
      idempotencyDigest(secret, client, 'live', 'order-0000000000002'),
      idempotencyDigest(randomBytes(32), client, 'live', 'order-0000000000001'),
    ])
      expect(other.equals(digest)).toBe(false)
  })
})
