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
export interface SigningKey {
  readonly privateKey: KeyObject
  readonly publicKeyDer: Buffer
}

/** @returns undefined unless the text is an unencrypted Ed25519 private key in PEM. */
export function parseSigningKey(pem: string): SigningKey | undefined {
  try {
    const privateKey = createPrivateKey(pem)
    return privateKey.asymmetricKeyType === 'ed25519'
      ? { privateKey, publicKeyDer: spkiOf(createPublicKey(privateKey)) }
      : undefined
  } catch {
    return undefined
  }
}

/** @returns SPKI, DER; undefined unless the text is an Ed25519 public key in PEM. */
export function parsePublicKey(pem: string): Buffer | undefined {
  // Node derives a public key from a private one, which must not be passed around in its place.
  if (!pem.includes('BEGIN PUBLIC KEY')) return undefined
  try {
    const key = createPublicKey(pem)
    return key.asymmetricKeyType === 'ed25519' ? spkiOf(key) : undefined
  } catch {
    return undefined
  }
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
