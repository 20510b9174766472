import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { OperatorError } from '#core/platform/errors.ts'
import type { ServiceSecrets } from '#core/credentials/settings.ts'
import { streamSafeNfc } from '#core/platform/stream-safe.ts'

/**
 * Keyed hashes of what must not be stored: the query (under a random key per organization and epoch, stored wrapped)
 * and the Idempotency-Key. Each purpose derives its own key from a secret of SERVICE_SECRET by HKDF-SHA-256 (RFC 5869),
 * so neither key can replace the other. What is written uses the first secret, what is read may use any of them.
 *
 * A wrapped key is 60 bytes: 12 of nonce, 16 of AES-256-GCM tag, 32 of ciphertext. Organization and epoch are
 * authenticated with it, so a wrapped key copied to another row does not unwrap.
 */
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const WRAPPED_BYTES = NONCE_BYTES + TAG_BYTES + KEY_BYTES
const WRAP_LABEL = 'evidence fingerprint key wrapping v1'
const IDEMPOTENCY_LABEL = 'evidence idempotency digest v1'

export interface FingerprintOwner {
  readonly organizationId: string
  readonly epoch: number
}

interface DerivedKeys {
  readonly wrapping: KeyObject
  readonly idempotency: KeyObject
}

/** Keys of each secret, derived once: a derivation takes nine times as long as the HMAC under its key. */
const derived = new WeakMap<Buffer, DerivedKeys>()

function keysOf(secret: Buffer): DerivedKeys {
  const known = derived.get(secret)
  if (known !== undefined) return known
  const derive = (label: string): KeyObject =>
    createSecretKey(Buffer.from(hkdfSync('sha256', secret, Buffer.alloc(0), label, KEY_BYTES)))
  const keys = { wrapping: derive(WRAP_LABEL), idempotency: derive(IDEMPOTENCY_LABEL) }
  derived.set(secret, keys)
  return keys
}

function authenticated(owner: FingerprintOwner): Buffer {
  return Buffer.from(`${owner.organizationId.toLowerCase()}\n${owner.epoch}`)
}

export function createFingerprintKey(): Buffer {
  return randomBytes(KEY_BYTES)
}

/**
 * @param key 32 random bytes.
 * @returns 60 bytes that only the first secret, with the same organization and epoch, unwraps.
 */
export function wrapFingerprintKey(key: Buffer, owner: FingerprintOwner, [first]: ServiceSecrets): Buffer {
  if (key.length !== KEY_BYTES) throw new RangeError(`a fingerprint key has ${KEY_BYTES} bytes`)
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', keysOf(first).wrapping, nonce).setAAD(authenticated(owner))
  const ciphertext = Buffer.concat([cipher.update(key), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext])
}

/** @throws Error if the key is damaged, belongs to another owner, or was wrapped under another secret. */
function unwrapUnder(wrapped: Buffer, owner: FingerprintOwner, secret: Buffer): Buffer {
  if (wrapped.length !== WRAPPED_BYTES) throw new RangeError('wrong length')
  const decipher = createDecipheriv('aes-256-gcm', keysOf(secret).wrapping, wrapped.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(authenticated(owner)).setAuthTag(wrapped.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  return Buffer.concat([decipher.update(wrapped.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
}

function unwrap(wrapped: Buffer, owner: FingerprintOwner, secrets: ServiceSecrets) {
  const causes: unknown[] = []
  for (const [index, secret] of secrets.entries()) {
    try {
      return { key: unwrapUnder(wrapped, owner, secret), underFirst: index === 0 }
    } catch (cause) {
      causes.push(cause)
    }
  }
  throw new OperatorError(
    `The fingerprint key of organization ${owner.organizationId}, epoch ${owner.epoch} does not ` +
      'open with this SERVICE_SECRET: add the secret it was wrapped under as the second, or rotate the ' +
      `organization's fingerprints.`,
    { cause: new AggregateError(causes) },
  )
}

/** @throws OperatorError if the key is damaged, belongs to another owner, or was wrapped under none of the secrets. */
export function unwrapFingerprintKey(wrapped: Buffer, owner: FingerprintOwner, secrets: ServiceSecrets): Buffer {
  return unwrap(wrapped, owner, secrets).key
}

/**
 * Wraps a wrapped key again, under the first secret. The key inside stays the same, and with it every fingerprint.
 * @returns undefined if the first secret unwraps it already.
 * @throws OperatorError as `unwrapFingerprintKey` does.
 */
export function rewrapFingerprintKey(wrapped: Buffer, owner: FingerprintOwner, secrets: ServiceSecrets) {
  const { key, underFirst } = unwrap(wrapped, owner, secrets)
  return underFirst ? undefined : wrapFingerprintKey(key, owner, secrets)
}

/**
 * HMAC-SHA-256, 32 bytes, over the text in NFC. Every run of white space becomes one space; the ends are trimmed.
 * More than 30 combining marks in a row, which no language writes, are normalised 30 at a time.
 */
export function queryFingerprint(key: Buffer | KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(streamSafeNfc(text).replaceAll(/\s+/gu, ' ').trim()).digest()
}

/** Distinguishes the digest of a request from that of its query under the same key. */
const REQUEST_LABEL = 'evidence request v1\n'

/** HMAC-SHA-256, 32 bytes, over a label and the canonical text of a request. */
export function requestDigest(key: Buffer | KeyObject, canonicalRequest: string): Buffer {
  return createHmac('sha256', key).update(REQUEST_LABEL).update(canonicalRequest).digest()
}

/** Distinguishes the digest of a vector from that of a query under the same key. */
const VECTOR_LABEL = 'evidence query vector v1\n'

/**
 * HMAC-SHA-256, 32 bytes, over a label and the little-endian float32 values of a query vector. Memory is little-endian
 * on every platform of Node.
 */
export function queryVectorDigest(key: KeyObject, vector: Float32Array): Buffer {
  return createHmac('sha256', key).update(VECTOR_LABEL).update(vector).digest()
}

/** The digest that is stored, and those under which a key of an earlier secret may be stored. */
export type IdempotencyDigests = readonly [Buffer, ...(readonly Buffer[])]

/**
 * HMAC-SHA-256, 32 bytes: the only stored form of an Idempotency-Key, one digest for each secret. The first is the one
 * to store; the key is held if any of them is. None depends on the API key, so all survive key rotation.
 */
export function idempotencyDigests(
  [first, ...others]: ServiceSecrets,
  clientId: string,
  environment: string,
  idempotencyKey: string,
): IdempotencyDigests {
  const digestUnder = (secret: Buffer): Buffer =>
    createHmac('sha256', keysOf(secret).idempotency)
      .update(`${clientId.toLowerCase()}\n${environment}\n${idempotencyKey}`)
      .digest()
  return [digestUnder(first), ...others.map(digestUnder)]
}
