import { utcDay } from '#core/platform/time.ts'

const DAY = /^\d{4}-\d{2}-\d{2}$/
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2})$/

/**
 * Returns ISO 8601 UTC with milliseconds of a day (its first instant, UTC) or of an instant with a zone. Returns
 * undefined for anything else, including impossible days and instants outside the years 0000 to 9999 UTC.
 */
export function instantOf(written: string): string | undefined {
  if (!DAY.test(written) && !INSTANT.test(written)) return undefined
  const day = written.slice(0, 10)
  const dayMs = Date.parse(`${day}T00:00:00Z`)
  // `Date` turns 30 February into a day in March instead of rejecting it.
  if (Number.isNaN(dayMs) || utcDay(new Date(dayMs)) !== day) return undefined
  const ms = DAY.test(written) ? dayMs : Date.parse(written)
  const instant = Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
  // ISO 8601 writes other years with a sign and six digits, which do not sort.
  return instant === undefined || /^[+-]/.test(instant) ? undefined : instant
}

/** UTC day YYYY-MM-DD of an instant made by `instantOf`. */
export function dayOf(instant: string): string {
  return instant.slice(0, 10)
}

const MONTHS = {
  french: [
    'janvier',
    'février',
    'mars',
    'avril',
    'mai',
    'juin',
    'juillet',
    'août',
    'septembre',
    'octobre',
    'novembre',
    'décembre',
  ],
} as const

export const DATE_STYLES = ['french', 'german'] as const
export type DateStyle = (typeof DATE_STYLES)[number]

/**
 * Returns YYYY-MM-DD of a date as publishers write it: `1er janvier 2007` (french), `23.6.2021` (german). Returns
 * undefined for anything else.
 */
export function writtenDate(written: string, style: DateStyle): string | undefined {
  switch (style) {
    case 'french': {
      const [, day, name, year] = /^(\d{1,2})(?:er)? (\p{L}+) (\d{4})$/u.exec(written.trim()) ?? []
      const month = MONTHS.french.findIndex((known) => known === name?.toLowerCase()) + 1
      return month === 0 ? undefined : isoDay(year, String(month), day)
    }
    case 'german': {
      const [, day, month, year] = /^(\d{1,2})\. ?(\d{1,2})\. ?(\d{4})$/.exec(written.trim()) ?? []
      return isoDay(year, month, day)
    }
    default:
      return style satisfies never
  }
}

function isoDay(year: string | undefined, month: string | undefined, day: string | undefined): string | undefined {
  if (year === undefined || month === undefined || day === undefined) return undefined
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}
