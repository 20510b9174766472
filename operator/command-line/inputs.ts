import { z } from 'zod'
import { OPERATOR_BOUNDS } from '../actions/bounds.ts'
import { WAIT_SECONDS_DEFAULT, WAIT_SECONDS_MAX } from './wait.ts'

/** Schemas of options and arguments. Every message continues the name of the invalid input. */

export const text = z.string('is missing').trim().min(1, 'must not be empty')

/** `a,b` becomes two values. */
export const list = text.transform((value) =>
  value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== ''),
)

/** `all` becomes null: every subject, and passages without one. */
export const subjects = list.transform((values) => (values.length === 1 && values[0] === 'all' ? null : values))

export const environment = z.enum(['test', 'live'], 'must be test or live')

export function whole(min: number, max: number): z.ZodType<number, string | undefined> {
  const message = `must be a whole number from ${min} to ${max}`
  return z
    .string(message)
    .regex(/^\d{1,12}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
}

/** The start of a UTC day, or an ISO 8601 instant. */
export const instant = z
  .string('must be a day like 2026-11-01 or an instant like 2026-11-01T08:00:00Z')
  .refine(
    (value) => z.union([z.iso.date(), z.iso.datetime({ offset: true })]).safeParse(value).success,
    'must be a day like 2026-11-01 or an instant like 2026-11-01T08:00:00Z',
  )
  .transform((value) => new Date(value))

/** `SEQ:HASH`, as `operator audit head` prints it. */
export const auditHead = z
  .string()
  .regex(/^\d{1,15}:[0-9a-f]{64}$/, 'must be a number, ":" and 64 hex digits, as "operator audit head" prints them')
  .transform((value) => ({ seq: Number(value.slice(0, value.indexOf(':'))), hash: value.slice(-64) }))

/** Maximum number of rows in a list. */
export const rows = whole(1, OPERATOR_BOUNDS.operatorRowsMax)
  .optional()
  .transform((value) => value ?? OPERATOR_BOUNDS.operatorRowsDefault)

/** Maximum time of `--wait` in seconds. */
export const waitSeconds = whole(1, WAIT_SECONDS_MAX)
  .optional()
  .transform((value) => value ?? WAIT_SECONDS_DEFAULT)
