import { hash } from 'node:crypto'

/**
 * Canonical JSON (keys sorted at every level, no white space): the bytes that are hashed and signed. As in JSON, a field
 * that is undefined is none.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value)
      .filter(([, inner]) => inner !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${canonicalJson(inner)}`).join(',')}}`
  }
  return JSON.stringify(value)
}

export function sha256(bytes: Uint8Array | string): Buffer {
  return hash('sha256', bytes, 'buffer')
}
