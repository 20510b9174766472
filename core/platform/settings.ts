import { z } from 'zod'
import { BOUNDS } from './bounds.ts'
import { EMBEDDING_SETTINGS } from './embedding-settings.ts'
import {
  addressList,
  baseUrl,
  ed25519Key,
  httpKey,
  logLevel,
  optional,
  readableFile,
  url,
  wholeNumber,
} from './config.ts'
import type { Variable } from './config.ts'

/** Variables that several services share; each service's `config.ts` picks what it needs. */

const pepperList = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim().split(':')))
  .refine(
    (pairs) =>
      pairs.length <= 2 &&
      pairs.every(
        (pair) =>
          pair.length === 2 &&
          /^[a-z0-9-]{1,32}$/.test(pair[0] ?? '') &&
          Buffer.from(pair[1] ?? '', 'base64').length >= 32,
      ),
  )
  .transform((pairs): readonly Pepper[] =>
    pairs.map(([name = '', secret = '']) => ({ name, secret: Buffer.from(secret, 'base64') })),
  )

/** A named secret under which API keys are hashed. */
export interface Pepper {
  readonly name: string
  readonly secret: Buffer
}

/** Base64 of 32 bytes. The pattern refuses what the decoder would leave out. */
const serviceSecret = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9+/_-]{43}=?$/)
  .transform((text) => Buffer.from(text, 'base64'))

const serviceSecretList = z
  .string()
  .transform((text) => text.split(','))
  .pipe(z.union([z.tuple([serviceSecret]), z.tuple([serviceSecret, serviceSecret])]))
  .transform((secrets): ServiceSecrets => secrets)
  .refine(([first, second]) => second === undefined || !first.equals(second))

/** Secrets of 32 bytes. The first is used for what is written, each of them for what is read. */
export type ServiceSecrets = readonly [Buffer, ...(readonly Buffer[])]

/** The secrets of a valid SERVICE_SECRET value. */
export function parseServiceSecrets(text: string): ServiceSecrets {
  return serviceSecretList.parse(text)
}

/** The peppers of a valid KEY_PEPPERS value. */
export function parsePeppers(text: string): readonly Pepper[] {
  return pepperList.parse(text)
}

const publicKey = ed25519Key('spki', 44)

const publicKeyList: z.ZodType<readonly Buffer[], string | undefined> = z
  .string()
  .transform((text): readonly (string | undefined)[] => text.split(',').map((part) => part.trim()))
  .pipe(z.array(publicKey).min(1).max(BOUNDS.manifestKeysMax))
  .refine((keys) => new Set(keys.map((key) => key.toString('base64'))).size === keys.length)

export const SETTINGS = {
  DATABASE_URL: {
    schema: url('postgres:', 'postgresql:'),
    help: 'the URL of Postgres 18, e.g. postgres://user:password@host:5432/evidence',
    secret: true,
  },
  ARTIFACT_STORE: {
    schema: url('file:'),
    help: 'the folder of artifacts and snapshots as a file: URL, e.g. file:///var/lib/evidence',
  },
  SEARCH_NODES: { schema: addressList, help: 'host:port of every search node, separated by commas' },
  KEY_ENVIRONMENT: { schema: z.enum(['test', 'live']), help: 'test or live: which keys this runtime accepts' },
  KEY_PEPPERS: {
    schema: pepperList,
    help: 'name:base64 of at least 32 bytes; the first hashes new keys, a second one is accepted while rotating',
    secret: true,
  },
  SERVICE_SECRET: {
    schema: serviceSecretList,
    help:
      'base64 of exactly 32 bytes: wraps fingerprint keys and hashes idempotency keys; a different second one, ' +
      'after a comma, is read while rotating',
    secret: true,
  },
  MANIFEST_PUBLIC_KEY: {
    schema: publicKeyList,
    help:
      'base64 of the Ed25519 public key (SPKI, DER) that manifests are verified with; while rotating, several keys, ' +
      'separated by commas',
  },
  MANIFEST_PRIVATE_KEY: {
    schema: ed25519Key('pkcs8', 48),
    help: 'base64 of the Ed25519 private key (PKCS #8, DER) that manifests are signed with',
    secret: true,
  },
  ...EMBEDDING_SETTINGS,
  RERANK_BASE_URL: {
    schema: optional(baseUrl),
    help: 'base URL of a re-ranking endpoint, asked at {base}/rerank; only profiles with a re-ranker need it',
  },
  RERANK_API_KEY: { schema: optional(httpKey), help: 'key for the re-ranking endpoint', secret: true },
  RERANK_TIMEOUT_MS: {
    schema: wholeNumber(100, BOUNDS.rerankTimeoutMaxMs, 2_000),
    help: 'time for one re-ranking',
    fallback: '2000',
  },
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
  LOG_LEVEL: { schema: logLevel, help: 'silent, error, warn, info or debug', fallback: 'info' },
} as const satisfies Record<string, Variable<unknown>>
