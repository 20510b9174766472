import { hash } from 'node:crypto'

/**
 * Canonical JSON (keys sorted at every level, no white space): the bytes that are hashed and signed. As in JSON, a field
 * that is undefined is none.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  let fields = ''
  for (const key of Object.keys(value).sort()) {
    const inner: unknown = Reflect.get(value, key)
    if (inner !== undefined) fields += `${fields === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(inner)}`
  }
  return `{${fields}}`
}

export function sha256(bytes: Uint8Array | string): Buffer {
  return hash('sha256', bytes, 'buffer')
}
