import { createHmac, createSecretKey, randomBytes, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  idempotencyDigests,
  createFingerprintKey,
  queryFingerprint,
  queryVectorDigest,
  rewrapFingerprintKey,
  unwrapFingerprintKey,
  wrapFingerprintKey,
} from '#core/credentials/fingerprint.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import { cpuMs } from '#test/support/processes.ts'

const [earlier, later] = [randomBytes(32), randomBytes(32)]
const secrets: ServiceSecrets = [earlier]
const owner = { organizationId: randomUUID(), epoch: 3 }

describe('wrapped fingerprint keys', () => {
  test('a wrapped key opens again only for the same secret, organization and epoch', () => {
    const key = createFingerprintKey()
    const wrapped = wrapFingerprintKey(key, owner, secrets)
    expect(wrapped).toHaveLength(60)
    expect(unwrapFingerprintKey(wrapped, owner, secrets)).toEqual(key)
    expect(() => unwrapFingerprintKey(wrapped, owner, [randomBytes(32)])).toThrow(
      /does not open with this SERVICE_SECRET/,
    )
    expect(() => unwrapFingerprintKey(wrapped, { ...owner, epoch: 4 }, secrets)).toThrow(/epoch 4/)
    expect(() => unwrapFingerprintKey(wrapped, { ...owner, organizationId: randomUUID() }, secrets)).toThrow(
      /does not open/,
    )
  })

  test('any flipped bit, a short tag and a cut key are refused', () => {
    const wrapped = wrapFingerprintKey(createFingerprintKey(), owner, secrets)
    for (const at of wrapped.keys()) {
      const damaged = Buffer.from(wrapped)
      damaged[at] = (damaged[at] ?? 0) ^ 1
      expect(() => unwrapFingerprintKey(damaged, owner, secrets), `byte ${at}`).toThrow(/does not open/)
    }
    for (const length of [0, 11, 28, 59])
      expect(() => unwrapFingerprintKey(wrapped.subarray(0, length), owner, secrets)).toThrow(/does not open/)
    expect(() => unwrapFingerprintKey(Buffer.concat([wrapped, Buffer.alloc(1)]), owner, secrets)).toThrow(
      /does not open/,
    )
  })

  test('wrapping the same key twice gives different bytes and never the key itself', () => {
    const key = createFingerprintKey()
    const [first, second] = [wrapFingerprintKey(key, owner, secrets), wrapFingerprintKey(key, owner, secrets)]
    expect(first.equals(second)).toBe(false)
    expect(first.includes(key)).toBe(false)
  })

  test('a key that is not 32 bytes is not wrapped', () => {
    expect(() => wrapFingerprintKey(randomBytes(31), owner, secrets)).toThrow(RangeError)
  })
})

describe('wrapped fingerprint keys while the secret is rotated', () => {
  test('a key opens under either secret, and is wrapped under the first', () => {
    const key = createFingerprintKey()
    const wrapped = wrapFingerprintKey(key, owner, secrets)
    for (const both of [[earlier, later] as const, [later, earlier] as const])
      expect(unwrapFingerprintKey(wrapped, owner, both)).toEqual(key)
    const next = wrapFingerprintKey(key, owner, [later, earlier])
    expect(unwrapFingerprintKey(next, owner, [later])).toEqual(key)
    expect(() => unwrapFingerprintKey(next, owner, [earlier])).toThrow(/does not open with this SERVICE_SECRET/)
  })

  test('a key wrapped again opens under the first secret alone, and is the same key', () => {
    const key = createFingerprintKey()
    const wrapped = wrapFingerprintKey(key, owner, secrets)
    const again = rewrapFingerprintKey(wrapped, owner, [later, earlier]) ?? wrapped
    expect(unwrapFingerprintKey(again, owner, [later])).toEqual(key)
    expect(() => unwrapFingerprintKey(again, owner, [earlier])).toThrow(/does not open/)
  })

  test('a key under the first secret is not wrapped again; one under neither is refused', () => {
    const wrapped = wrapFingerprintKey(createFingerprintKey(), owner, secrets)
    expect(rewrapFingerprintKey(wrapped, owner, [earlier, later])).toBeUndefined()
    expect(rewrapFingerprintKey(wrapped, owner, secrets)).toBeUndefined()
    expect(() => rewrapFingerprintKey(wrapped, owner, [later, randomBytes(32)])).toThrow(/does not open/)
  })
})

describe('query fingerprints', () => {
  const key = createFingerprintKey()

  test('white space and Unicode form do not change a fingerprint', () => {
    const plain = queryFingerprint(key, 'Quelle est la durée ?')
    expect(plain).toHaveLength(32)
    expect(queryFingerprint(key, '  Quelle\test la\u00a0\n dure\u0301e ? ')).toEqual(plain)
  })

  test('up to 30 combining marks in a row are the same fingerprint in every canonical order', () => {
    const [above, below] = ['\u0301'.repeat(15), '\u0323'.repeat(15)]
    expect(queryFingerprint(key, `a${above}${below}`)).toEqual(queryFingerprint(key, `a${below}${above}`))
    expect(queryFingerprint(key, `a${above}${below}\u0301`)).toHaveLength(32)
  })

  test('combining marks in a hostile order take hardly more time than the same number in order', () => {
    const count = 100_000
    const msOf = (text: string): number => cpuMs(() => queryFingerprint(key, text))
    const ordered = `a${'\u0323'.repeat(count)}`
    const hostile = `a${'\u0301'.repeat(count / 2)}${'\u0323'.repeat(count / 2)}`
    msOf(ordered)
    expect(msOf(hostile)).toBeLessThan(100 * msOf(ordered))
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
  const key = 'order-0000000000001'

  test('the digest belongs to one client, environment and key', () => {
    const [digest] = idempotencyDigests(secrets, client, 'live', key)
    expect(digest).toHaveLength(32)
    expect(idempotencyDigests(secrets, client, 'live', key)).toEqual([digest])
    for (const [other] of [
      idempotencyDigests(secrets, randomUUID(), 'live', key),
      idempotencyDigests(secrets, client, 'test', key),
      idempotencyDigests(secrets, client, 'live', 'order-0000000000002'),
      idempotencyDigests([later], client, 'live', key),
    ])
      expect(other.equals(digest)).toBe(false)
  })

  test('there is one digest for each secret, that of the first secret first', () => {
    const [ofEarlier] = idempotencyDigests([earlier], client, 'live', key)
    const [ofLater] = idempotencyDigests([later], client, 'live', key)
    expect(idempotencyDigests([later, earlier], client, 'live', key)).toEqual([ofLater, ofEarlier])
    expect(idempotencyDigests([earlier, later], client, 'live', key)).toEqual([ofEarlier, ofLater])
  })
})

test('the digest of a query vector covers its own values in little-endian float32, and nothing beside them', () => {
  const key = createSecretKey(randomBytes(32))
  const values = [0.25, -1.5, 3e-20]
  const bytes = Buffer.alloc(12)
  for (const [at, value] of values.entries()) bytes.writeFloatLE(value, at * 4)
  const wanted = createHmac('sha256', key).update('evidence query vector v1\n').update(bytes).digest()
  expect(queryVectorDigest(key, new Float32Array(values))).toEqual(wanted)
  expect(queryVectorDigest(key, new Float32Array([9, ...values, 9]).subarray(1, 4))).toEqual(wanted)
})
