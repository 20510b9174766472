import { InvalidArgumentError, Option } from 'commander'
import { z } from 'zod'
import { REVIEWERS_REQUIRED_MAX } from '#core/domain/review-policy.ts'
import { foldKey } from '#core/identity/fold.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/operator.ts'
import { WAIT_SECONDS_DEFAULT, WAIT_SECONDS_MAX } from './wait.ts'

/** Schemas of options and arguments. Every message continues the name of the invalid input. */

interface Flag {
  readonly value: string
  readonly help: string
}

const FLAGS = z.registry<Flag>()

/**
 * Makes a schema that of an option. Its flag is its key in kebab case.
 * @param value placeholder of the value, e.g. `<slug>`; '': the flag has none.
 * @param schema default: a text that may be left out.
 */
export function option(value: string, help: string): z.ZodOptional<z.ZodString>
export function option<T extends z.ZodType>(value: string, help: string, schema: T): T
export function option(value: string, help: string, schema: z.ZodType = text.optional()): z.ZodType {
  const own = schema.clone()
  FLAGS.add(own, { value, help })
  return own
}

/** Returns flag and help of an option; undefined for an argument. */
export function flagOf(key: string, schema: z.core.$ZodType) {
  const found = FLAGS.get(schema)
  const name = key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  return found && { flag: `--${name} ${found.value}`.trim(), help: found.help }
}

/** Returns the options of a schema for a command, whose `opts()` are then its output. An invalid value is refused. */
export function optionsOf(shape: z.ZodRawShape): readonly Option[] {
  return Object.entries(shape).flatMap(([key, schema]) => {
    const { flag, help } = flagOf(key, schema) ?? {}
    if (flag === undefined) return []
    const made = new Option(flag, help)
    const isPreset = schema instanceof z.ZodDefault
    const inner = isPreset || schema instanceof z.ZodOptional ? schema.unwrap() : schema
    if (isPreset) made.default(schema.parse(undefined))
    if (inner instanceof z.ZodEnum) made.choices(inner.options.map(String))
    else if (!made.isBoolean()) made.argParser(parsedBy(schema))
    return [made]
  })
}

function parsedBy(schema: z.core.$ZodType): (text: string) => unknown {
  return (value) => {
    const { success, data, error } = z.safeParse(schema, value)
    if (!success) throw new InvalidArgumentError(`${error.issues[0]?.message ?? 'is not valid'}.`)
    return data
  }
}

export const text = z.string('is missing').trim().min(1, 'must not be empty')

/** `a,b` becomes two values. */
export const commaList = text
  .transform((value) => value.split(/\s*,\s*/).filter((part) => part !== ''))
  .refine((values) => values.length > 0, 'must not be empty')

/** `all` becomes null: every subject, and passages without one. */
export const subjects = commaList.transform((values) => (foldKey(values.join()) === 'all' ? null : values))

export const environment = z.enum(['test', 'live'], 'must be test or live')

export function whole(min: number, max: number): z.ZodType<number, string | undefined> {
  const message = `must be a whole number from ${min} to ${max}`
  return z
    .string(message)
    .regex(/^\d{1,12}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
}

/** A whole number; where it is not given, the default. */
export function wholeOr(byDefault: number, min: number, max: number): z.ZodType<number, string | undefined> {
  return whole(min, max)
    .optional()
    .transform((value) => value ?? byDefault)
}

/** A flag without a value. */
export const isGiven = z.boolean().default(false)

/** Postgres has no year 0. */
export const day = z.iso.date('must be a day like 2026-11-01').refine((value) => value >= '0001', 'must be a later day')
const INSTANT = 'must be a day like 2026-11-01 or an instant like 2026-11-01T08:00:00Z'

/** The start of a UTC day, or an ISO 8601 instant. */
export const instant = z
  .string(INSTANT)
  .refine((value) => z.union([day, z.iso.datetime({ offset: true })]).safeParse(value).success, INSTANT)
  .transform((value) => new Date(value))

/** `SEQ:HASH`, as `operator audit head` prints it. */
export const auditHead = z
  .string()
  .regex(/^\d{1,15}:[0-9a-f]{64}$/, 'must be a number, ":" and 64 hex digits, as "operator audit head" prints them')
  .transform((value) => ({ seq: Number(value.slice(0, value.indexOf(':'))), hash: value.slice(-64) }))

export const rows = option(
  '<n>',
  'show at most so many',
  wholeOr(OPERATOR_BOUNDS.operatorRowsDefault, 1, OPERATOR_BOUNDS.operatorRowsMax),
)

export const waitSeconds = option(
  '<n>',
  `follow it for at most so long; default ${WAIT_SECONDS_DEFAULT}`,
  wholeOr(WAIT_SECONDS_DEFAULT, 1, WAIT_SECONDS_MAX),
)

/** Files with private keys of reviewers. */
export function signingKeys(help: string): z.ZodType<string[]> {
  return option('<file...>', help, z.array(text).max(REVIEWERS_REQUIRED_MAX).default([]))
}
