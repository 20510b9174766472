import type { Answer } from '#test/support/http.ts'

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
/** A clock, and what belongs to a connection rather than to a reply. */
const OF_THE_CONNECTION = ['date', 'connection', 'keep-alive']

/**
 * Everything a caller sees of a reply, status line, headers and bytes, with each UUID replaced: two of these are equal
 * exactly when a caller cannot distinguish the replies.
 */
export function withoutIds({ status, headers, bytes }: Answer): string {
  const lines = [...headers]
    .filter(([name]) => !OF_THE_CONNECTION.includes(name))
    .map(([name, value]) => `${name}: ${value}`)
  return [status, ...lines, '', bytes.toString()].join('\n').replaceAll(UUID, 'UUID')
}
