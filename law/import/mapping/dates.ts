import { utcDay } from '#core/platform/time.ts'

const DAY = /^\d{4}-\d{2}-\d{2}$/

/**
 * Returns ISO 8601 UTC with milliseconds of a day: its first instant, UTC. Returns undefined for anything else,
 * including impossible days and days with a time. Law takes effect on a day of its jurisdiction's zone: the UTC day of
 * an instant may be another one.
 */
export function instantOf(written: string): string | undefined {
  // There is no year 0, and Postgres stores none.
  if (!DAY.test(written) || written.startsWith('0000')) return undefined
  const ms = Date.parse(`${written}T00:00:00Z`)
  // `Date` turns 30 February into a day in March instead of rejecting it.
  return Number.isNaN(ms) || utcDay(new Date(ms)) !== written ? undefined : new Date(ms).toISOString()
}

/** Says why a text is no date. */
export function dateFault(written: string): string {
  return /^\d{4}-\d{2}-\d{2}[T\s]/.test(written)
    ? 'has a time of day: state the day in the zone of its jurisdiction'
    : 'is not a date'
}

/** UTC day YYYY-MM-DD of an instant made by `instantOf`. */
export function dayOf(instant: string): string {
  return instant.slice(0, 10)
}

const MONTHS = {
  french: 'janvier février mars avril mai juin juillet août septembre octobre novembre décembre'.split(' '),
  german: 'januar februar märz april mai juni juli august september oktober november dezember'.split(' '),
} as const

export const DATE_STYLES = ['french', 'german'] as const
export type DateStyle = (typeof DATE_STYLES)[number]

/**
 * Returns YYYY-MM-DD of a date as publishers write it: `1er janvier 2007` (french), `23.6.2021` or `23. Juni 2021`
 * (german). Returns undefined for anything else.
 */
export function writtenDate(written: string, style: DateStyle): string | undefined {
  switch (style) {
    case 'french': {
      const [, day, name, year] = /^(\d{1,2})(?:er)? (\p{L}+) (\d{4})$/u.exec(written.trim()) ?? []
      return isoDay(year, monthNamed(name, style), day)
    }
    case 'german': {
      const [, day, month, name, year] = /^(\d{1,2})\. ?(?:(\d{1,2})\. ?|(\p{L}+) )(\d{4})$/u.exec(written.trim()) ?? []
      return isoDay(year, month ?? monthNamed(name, style), day)
    }
    default:
      return style satisfies never
  }
}

function monthNamed(name: string | undefined, style: DateStyle): string | undefined {
  const index = MONTHS[style].findIndex((known) => known === name?.toLowerCase())
  return index === -1 ? undefined : String(index + 1)
}

function isoDay(year: string | undefined, month: string | undefined, day: string | undefined): string | undefined {
  if (year === undefined || month === undefined || day === undefined) return undefined
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}
