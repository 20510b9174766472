import { randomUUID } from 'node:crypto'
import { sha256 } from './digest.ts'
import { memoized } from './memoized.ts'

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
  return `chk_${sha256(prefixed([...location, text]))
    .toString('hex')
    .slice(0, 40)}`
}

/** Returns a UUID (version 8, RFC 9562) derived from its parts: the same parts always give the same id. */
export function derivedUuid(kind: string, ...parts: readonly string[]): string {
  return uuidOf(prefixed([kind, ...parts]))
}

const UUIDS_MAX = 10_000
/** The passages of a document, and its revisions, share most of them. */
const uuidOf = memoized((parts) => {
  const bytes = sha256(parts).subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}, UUIDS_MAX)

/** Joins parts with their lengths, so that no two lists of parts are the same text. */
function prefixed(parts: readonly string[]): string {
  return parts.map((part) => `${Buffer.byteLength(part)}:${part}`).join('')
}
