import { memoized } from '#core/platform/memoized.ts'
import { utcDay } from '#core/platform/time.ts'
import { IMPORT_BOUNDS } from '../bounds.ts'

const DAY = /^\d{4}-\d{2}-\d{2}$/

/**
 * Returns ISO 8601 UTC with milliseconds of a day: its first instant, UTC. Returns undefined for anything else,
 * including impossible days and days with a time. Law takes effect on a day of its jurisdiction's zone: the UTC day of
 * an instant may be another one.
 */
export const instantOf = memoized((written): string | undefined => {
  // There is no year 0, and Postgres stores none.
  if (!DAY.test(written) || written.startsWith('0000')) return undefined
  const ms = Date.parse(`${written}T00:00:00Z`)
  // `Date` turns 30 February into a day in March instead of rejecting it.
  return Number.isNaN(ms) || utcDay(new Date(ms)) !== written ? undefined : new Date(ms).toISOString()
}, IMPORT_BOUNDS.rememberedTextsMax)

export function dateFault(written: string): string {
  return /^\d{4}-\d{2}-\d{2}[T\s]/.test(written)
    ? 'has a time of day: state the day in the zone of its jurisdiction'
    : 'is not a date'
}

/** UTC day YYYY-MM-DD of an instant made by `instantOf`. */
export function dayOf(instant: string): string {
  return instant.slice(0, 10)
}

const STYLES = {
  french: {
    date: /^(?<day>\d{1,2})(?:er)? (?<name>\p{L}+) (?<year>\d{4})$/u,
    months: 'janvier février mars avril mai juin juillet août septembre octobre novembre décembre',
  },
  german: {
    date: /^(?<day>\d{1,2})\. ?(?:(?<month>\d{1,2})\. ?|(?<name>\p{L}+) )(?<year>\d{4})$/u,
    months: 'januar februar märz april mai juni juli august september oktober november dezember',
  },
} as const

export const DATE_STYLES = ['french', 'german'] as const

/**
 * Returns YYYY-MM-DD of a date as publishers write it: `1er janvier 2007` (french), `23.6.2021` or `23. Juni 2021`
 * (german). Returns undefined for anything else.
 */
export function writtenDate(written: string, style: (typeof DATE_STYLES)[number]): string | undefined {
  const { date, months } = STYLES[style]
  const { day, name, year, month } = date.exec(written.trim())?.groups ?? {}
  const named = months.split(' ').findIndex((known) => known === name?.toLowerCase())
  const number = month ?? (named === -1 ? undefined : String(named + 1))
  if (year === undefined || number === undefined || day === undefined) return undefined
  return `${year}-${number.padStart(2, '0')}-${day.padStart(2, '0')}`
}
