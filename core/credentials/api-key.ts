import { createHmac, createSecretKey, randomBytes, type KeyObject } from 'node:crypto'
import { crc32 } from 'node:zlib'
import type { Pepper } from '#core/credentials/settings.ts'

/**
 * API keys: `erk_<test|live>_<27 base62 characters of 160 random bits><6 base62 characters of their CRC-32>`.
 * The checksum covers everything before it, so a mistyped key is refused without a query to the database.
 */
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const RANDOM_CHARACTERS = 27
const CHECKSUM_CHARACTERS = 6
const KEY_PATTERN = new RegExp(`^erk_(test|live)_[0-9A-Za-z]{${RANDOM_CHARACTERS + CHECKSUM_CHARACTERS}}$`)
const PREFIX_CHARACTERS = 13

export type KeyEnvironment = 'test' | 'live'
export const RETRIEVAL_SCOPE = 'retrieval:read'

function base62(value: bigint, width: number): string {
  let text = ''
  for (let rest = value; text.length < width; rest /= 62n) text = `${ALPHABET[Number(rest % 62n)]}${text}`
  return text
}

function checksum(body: string): string {
  return base62(BigInt(crc32(body)), CHECKSUM_CHARACTERS)
}

export function issueKey(environment: KeyEnvironment, pepper: Pepper) {
  const body = `erk_${environment}_${base62(BigInt(`0x${randomBytes(20).toString('hex')}`), RANDOM_CHARACTERS)}`
  const secret = body + checksum(body)
  return {
    /** Shown once, never stored. */
    secret,
    digest: keyDigest(secret, pepper),
    pepperName: pepper.name,
    /** Enough to recognise a key in a list. */
    prefix: secret.slice(0, PREFIX_CHARACTERS),
  }
}

/** Whether the text has the form of a key and a correct checksum; such a key may still never have been issued. */
export function keyIsWellFormed(text: string): boolean {
  return KEY_PATTERN.test(text) && text.slice(-CHECKSUM_CHARACTERS) === checksum(text.slice(0, -CHECKSUM_CHARACTERS))
}

/** Key object of each pepper, created once. From bytes, every HMAC would take five times as long. */
const ready = new WeakMap<Pepper, KeyObject>()

/** HMAC-SHA-256 of the whole key, 32 bytes: the only form in which a key is stored. */
export function keyDigest(secret: string, pepper: Pepper): Buffer {
  const key = ready.get(pepper) ?? createSecretKey(pepper.secret)
  ready.set(pepper, key)
  return createHmac('sha256', key).update(secret).digest()
}
