import { z } from 'zod'
import type { Variable } from '#core/platform/config.ts'

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

export function parseServiceSecrets(text: string): ServiceSecrets {
  return serviceSecretList.parse(text)
}

export function parsePeppers(text: string): readonly Pepper[] {
  return pepperList.parse(text)
}

/** Variables of the keys of callers, and of what is written under the secrets of the service. */
export const CREDENTIAL_SETTINGS = {
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
} as const satisfies Record<string, Variable<unknown>>
