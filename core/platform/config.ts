import { createPrivateKey, createPublicKey } from 'node:crypto'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { z } from 'zod'

/** One variable of a service: the schema of its value, and the sentence that the README lists. */
export interface Variable<T> {
  readonly schema: z.ZodType<T, string | undefined>
  readonly help: string
  readonly secret?: true
  /** What the list of variables says in place of the default of the schema. */
  readonly fallback?: string
}

export type Variables = Readonly<Record<string, Variable<unknown>>>
export type ConfigOf<V extends Variables> = { readonly [K in keyof V]: V[K] extends Variable<infer T> ? T : never }

/** All faults of a service's environment. The message names variables, never their values. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/**
 * Reads the variables from an environment and collects every fault before it throws.
 * @param check returns sentences about conflicts among the values that are valid by themselves.
 * @throws ConfigError one line per faulty variable, without its value.
 */
export function readConfig<V extends Variables>(
  variables: V,
  environment: NodeJS.ProcessEnv,
  check: (values: Partial<ConfigOf<V>>) => readonly string[] = () => [],
): ConfigOf<V> {
  const values: Record<string, unknown> = {}
  const faults: string[] = []
  for (const [name, variable] of Object.entries(variables)) {
    const given = variable.secret === true ? secretOf(name, environment, faults) : environment[name]
    const parsed = variable.schema.safeParse(given === '' ? undefined : given)
    if (parsed.success) values[name] = parsed.data
    else faults.push(`${name} ${given === undefined || given === '' ? 'is missing' : 'is not valid'}: ${variable.help}`)
  }
  faults.push(...check(values as Partial<ConfigOf<V>>))
  if (faults.length > 0)
    throw new ConfigError(`The configuration has ${faults.length} fault(s):\n  ${faults.join('\n  ')}`)
  return values as ConfigOf<V>
}

/** A secret stands in the variable itself, or in the file that NAME_FILE names. */
function secretOf(name: string, environment: NodeJS.ProcessEnv, faults: string[]): string | undefined {
  const { [name]: given, [`${name}_FILE`]: path = '' } = environment
  if (path === '') return given
  if ((given ?? '') !== '') faults.push(`${name} and ${name}_FILE are both set: unset one of them`)
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    faults.push(`${name}_FILE names no file that can be read`)
    return given
  }
}

/**
 * Returns a sentence for each variable of an earlier release that is set, and whose value would be lost.
 * @param moved what has its place.
 */
export function movedFaults(environment: NodeJS.ProcessEnv, moved: Readonly<Record<string, string>>) {
  const set = Object.entries(moved).filter(([name]) => (environment[name] ?? '') !== '')
  return set.map(([name, place]) => `${name} is read no more: unset it, and use ${place}`)
}

export function wholeNumberOf(min: number, max: number): z.ZodType<number, string> {
  return z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
    .pipe(z.int().min(min).max(max))
}

export function wholeNumber(min: number, max: number, fallback: number): z.ZodType<number, string | undefined> {
  return wholeNumberOf(min, max).default(fallback)
}

export function url(...protocols: readonly string[]): z.ZodType<string, string | undefined> {
  return z.string().refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol))
}

/**
 * The base URL of an HTTP endpoint, to which paths are added. It holds no credentials, which a client refuses to send,
 * and no query.
 */
export const baseUrl: z.ZodType<string, string | undefined> = url('http:', 'https:').refine((text) => {
  const { username, password, search, hash } = URL.parse(text) ?? {}
  return [username, password, search, hash].every((part) => part === '')
})

/** The key of an HTTP endpoint, which a header can carry. */
export const httpKey: z.ZodType<string, string | undefined> = z
  .string()
  .trim()
  .regex(/^[\x21-\x7e]+$/)

/** Base64 of exactly `bytes` bytes. */
function base64Bytes(bytes: number): z.ZodType<Buffer, string | undefined> {
  return z
    .string()
    .transform((text) => Buffer.from(text, 'base64'))
    .refine((buffer) => buffer.length === bytes)
}

export function optional<T>(schema: z.ZodType<T, string | undefined>): z.ZodType<T | undefined, string | undefined> {
  return schema.optional()
}

/** Base64 of an Ed25519 key of exactly `bytes` bytes. */
export function ed25519Key(type: 'spki' | 'pkcs8', bytes: number): z.ZodType<Buffer, string | undefined> {
  return base64Bytes(bytes).refine((key) => {
    try {
      const parsed =
        type === 'spki' ? createPublicKey({ key, format: 'der', type }) : createPrivateKey({ key, format: 'der', type })
      return parsed.asymmetricKeyType === 'ed25519'
    } catch {
      return false
    }
  })
}

export const readableFile: z.ZodType<string, string | undefined> = z.string().refine((path) => {
  try {
    accessSync(path, constants.R_OK)
    return statSync(path).isFile()
  } catch {
    return false
  }
})

/** `host:port` pairs, separated by commas. */
export const addressList: z.ZodType<readonly string[], string | undefined> = z
  .string()
  .transform((text) => text.split(',').map((part) => part.trim()))
  .refine((parts) =>
    parts.every(
      (part) =>
        /^(\[[0-9a-f:]+\]|[a-z0-9._-]+):\d{1,5}$/i.test(part) &&
        Number(part.slice(part.lastIndexOf(':') + 1)) <= 65_535,
    ),
  )

const oneAddress: z.ZodType<string, string | undefined> = addressList
  .refine((list) => list.length === 1)
  .transform((list) => list[0] ?? '')

export function listenAddress(fallback: string): z.ZodType<string, string | undefined> {
  return oneAddress.default(fallback)
}

/** Host and port of a `host:port`, as a server takes them; an IPv6 host is without its brackets. */
export function hostAndPort(listen: string): { readonly host: string; readonly port: number } {
  const at = listen.lastIndexOf(':')
  return { host: listen.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(listen.slice(at + 1)) }
}

/** @param host without brackets. */
export function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host)
}

export const LOG_LEVEL = {
  schema: z.enum(['silent', 'error', 'warn', 'info', 'debug']).default('info'),
  help: 'silent, error, warn, info or debug',
} as const satisfies Variable<string>
