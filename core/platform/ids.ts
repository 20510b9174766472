import { randomUUID } from 'node:crypto'
import { sha256 } from './digest.ts'

declare const brand: unique symbol

/** UUID of one request; the caller sees `req_<uuid>`. */
export type RequestId = string & { readonly [brand]: 'RequestId' }

export function createRequestId(): RequestId {
  return randomUUID() as RequestId
}

/** A request id as its caller and the logs have it. */
export function publicRequestId(id: string): string {
  return `req_${id}`
}

/** A trace id as its caller and the logs have it. */
export function publicTraceId(id: string): string {
  return `ret_${id}`
}

/**
 * Returns `chk_` and 20 bytes in hex, derived from location and content. An unchanged passage keeps its id across
 * versions.
 */
export function chunkId(location: readonly string[], text: string): string {
  return `chk_${digestOf([...location, text])
    .toString('hex')
    .slice(0, 40)}`
}

/** Returns a UUID (version 8, RFC 9562) derived from its parts: the same parts always give the same id. */
export function derivedUuid(kind: string, ...parts: readonly string[]): string {
  const bytes = digestOf([kind, ...parts]).subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** SHA-256 over length-prefixed parts, so that no two lists of parts collide by concatenation. */
function digestOf(parts: readonly string[]): Buffer {
  return sha256(parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join(''))
}
