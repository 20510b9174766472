import { createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify, type KeyObject } from 'node:crypto'

/** Keys with which reviewers sign: Ed25519 (RFC 8032), private as PKCS #8 PEM, public as SPKI. */

export function createReviewerKey() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  return {
    privatePem: String(privateKey.export({ format: 'pem', type: 'pkcs8' })),
    publicPem: String(publicKey.export({ format: 'pem', type: 'spki' })),
  }
}

/** A private key that was read, with the public key (SPKI, DER) that belongs to it. */
export type SigningKey = NonNullable<ReturnType<typeof parseSigningKey>>

/** @returns undefined unless the text is an unencrypted Ed25519 private key in PEM. */
export function parseSigningKey(pem: string) {
  try {
    const privateKey = createPrivateKey(pem)
    return privateKey.asymmetricKeyType === 'ed25519'
      ? { privateKey, publicKeyDer: spkiOf(createPublicKey(privateKey)) }
      : undefined
  } catch {
    return undefined
  }
}

/** @returns SPKI, DER; undefined unless the text is an Ed25519 public key in PEM under which only its owner can sign. */
export function parsePublicKey(pem: string): Buffer | undefined {
  // Node derives a public key from a private one, which must not be passed around in its place.
  if (!pem.includes('BEGIN PUBLIC KEY')) return undefined
  try {
    const key = createPublicKey(pem)
    const spki = key.asymmetricKeyType === 'ed25519' ? spkiOf(key) : undefined
    return spki === undefined || isOfSmallOrder(spki) ? undefined : spki
  } catch {
    return undefined
  }
}

/**
 * The points of Ed25519 (RFC 8032, 5.1) whose order is at most 8, without their sign: 0, 1, the two of order 8, -1, and
 * 0 and 1 written as p and p + 1. Some libraries take signatures under them that nobody made.
 */
const SMALL_ORDER = new Set([
  '00'.repeat(32),
  `01${'00'.repeat(31)}`,
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  `ec${'ff'.repeat(30)}7f`,
  `ed${'ff'.repeat(30)}7f`,
  `ee${'ff'.repeat(30)}7f`,
])

function isOfSmallOrder(spki: Buffer): boolean {
  const point = Buffer.from(spki.subarray(-32))
  point[31] = (point[31] ?? 0) & 0x7f
  return SMALL_ORDER.has(point.toString('hex'))
}

function spkiOf(key: KeyObject): Buffer {
  return key.export({ format: 'der', type: 'spki' })
}

/** @returns 64 bytes. */
export function signStatement(text: string, key: SigningKey): Buffer {
  return sign(null, Buffer.from(text, 'utf8'), key.privateKey)
}

/** @returns false also for a key or a signature that cannot be read. */
export function statementSignatureHolds(text: string, signature: Uint8Array, publicKeyDer: Buffer): boolean {
  try {
    const key = createPublicKey({ key: publicKeyDer, format: 'der', type: 'spki' })
    return key.asymmetricKeyType === 'ed25519' && verify(null, Buffer.from(text, 'utf8'), key, signature)
  } catch {
    return false
  }
}
