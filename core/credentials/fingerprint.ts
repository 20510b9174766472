import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { OperatorError } from '#core/platform/errors.ts'

/**
 * Keyed hashes of what must not be stored: the query (under a random key per organization and epoch, stored wrapped)
 * and the Idempotency-Key. Each purpose derives its own key from SERVICE_SECRET by HKDF-SHA-256 (RFC 5869), so neither
 * key can replace the other.
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

/** The organization and the epoch of a key. */
export interface FingerprintOwner {
  readonly organizationId: string
  readonly epoch: number
}

function derivedKey(serviceSecret: Buffer, label: string): Buffer {
  return Buffer.from(hkdfSync('sha256', serviceSecret, Buffer.alloc(0), label, KEY_BYTES))
}

function authenticated(owner: FingerprintOwner): Buffer {
  return Buffer.from(`${owner.organizationId.toLowerCase()}\n${owner.epoch}`)
}

export function createFingerprintKey(): Buffer {
  return randomBytes(KEY_BYTES)
}

/**
 * @param key 32 random bytes.
 * @returns 60 bytes that only the same secret, organization and epoch unwrap.
 */
export function wrapFingerprintKey(key: Buffer, owner: FingerprintOwner, serviceSecret: Buffer): Buffer {
  if (key.length !== KEY_BYTES) throw new RangeError(`a fingerprint key has ${KEY_BYTES} bytes`)
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', derivedKey(serviceSecret, WRAP_LABEL), nonce).setAAD(
    authenticated(owner),
  )
  const ciphertext = Buffer.concat([cipher.update(key), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext])
}

/** @throws OperatorError if the key is damaged, belongs to another owner, or was wrapped under another secret. */
export function unwrapFingerprintKey(wrapped: Buffer, owner: FingerprintOwner, serviceSecret: Buffer): Buffer {
  try {
    if (wrapped.length !== WRAPPED_BYTES) throw new RangeError('wrong length')
    const decipher = createDecipheriv(
      'aes-256-gcm',
      derivedKey(serviceSecret, WRAP_LABEL),
      wrapped.subarray(0, NONCE_BYTES),
      { authTagLength: TAG_BYTES },
    )
    decipher.setAAD(authenticated(owner)).setAuthTag(wrapped.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
    return Buffer.concat([decipher.update(wrapped.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
  } catch (cause) {
    throw new OperatorError(
      `The fingerprint key of organization ${owner.organizationId}, epoch ${owner.epoch} does not ` +
        'open with this SERVICE_SECRET: start with the secret it was wrapped under, or rotate the ' +
        `organization's fingerprints.`,
      { cause },
    )
  }
}

/** HMAC-SHA-256, 32 bytes, over the text in NFC. Every run of white space becomes one space; the ends are trimmed. */
export function queryFingerprint(key: Buffer | KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text.normalize('NFC').replaceAll(/\s+/gu, ' ').trim()).digest()
}

/**
 * HMAC-SHA-256, 32 bytes: the only stored form of an Idempotency-Key. It does not depend on the API key, so it survives
 * key rotation.
 */
export function idempotencyDigest(
  serviceSecret: Buffer,
  clientId: string,
  environment: string,
  idempotencyKey: string,
): Buffer {
  return createHmac('sha256', derivedKey(serviceSecret, IDEMPOTENCY_LABEL))
    .update(`${clientId.toLowerCase()}\n${environment}\n${idempotencyKey}`)
    .digest()
}
