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
    fallback: 'refuse',
  },
} as const satisfies Record<string, Variable<unknown>>

export const SEARCH_NODES = {
  schema: addressList,
  help: 'host:port of every search node, separated by commas',
} as const satisfies Variable<readonly string[]>
