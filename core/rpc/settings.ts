import { readFileSync } from 'node:fs'
import { z } from 'zod'
import { addressList, optional, readableFile, type Variable } from '#core/platform/config.ts'

/** Variables of every process that takes part in the search tier; `SEARCH_NODES` is for its clients. */
export const TRANSPORT_SETTINGS = {
  SEARCH_TLS_CA: {
    schema: optional(readableFile),
    help: 'path of the PEM certificate authority of the search tier; with the two below it turns on mutual TLS',
  },
  SEARCH_TLS_CERT: { schema: optional(readableFile), help: "path of this process's PEM certificate" },
  SEARCH_TLS_KEY: { schema: optional(readableFile), help: "path of this process's PEM private key" },
  SEARCH_PLAINTEXT: {
    schema: z.enum(['refuse', 'allow']).default('refuse'),
    help: 'allow: plaintext gRPC on addresses other than loopback',
  },
} as const satisfies Record<string, Variable<unknown>>

export const SEARCH_NODES = {
  schema: z.string().refine((value) => {
    try {
      return addressesOf(value).length > 0
    } catch {
      return false
    }
  }),
  help:
    'host:port of every search node, separated by commas; a name stands for each of its addresses, and is resolved ' +
    'again. Or file:/path of a file with one a line, which is read again',
} as const satisfies Variable<string>

/**
 * Addresses and names that a value of `SEARCH_NODES` lists now.
 * @throws Error where its file cannot be read, or what it lists is not valid.
 */
export function addressesOf(value: string): readonly string[] {
  if (!value.startsWith('file:')) return addressList.parse(value)
  const lines = readFileSync(value.slice('file:'.length), 'utf8').split('\n')
  return addressList.parse(lines.filter((line) => line.trim() !== '').join(','))
}
