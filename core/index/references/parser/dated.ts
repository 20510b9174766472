import { type ActMention, mentionOf } from './act-mention.ts'
import { LEGAL_NOUNS } from './legal-nouns.ts'
import { digitsAt, reads, skip, type Token } from './tokens.ts'

const MONTHS = new Set(
  'january february march april may june july august september october november december'.split(' '),
)
/** Nouns of what has a short name by its year and is no act of the LEGAL_NOUNS. */
const OTHER_NOUNS = new Set(['scheme', 'measure', 'acts', 'orders', 'agreement'])
const YEAR = /^(?:1[89]|20)\d\d$/
const NAMED_BY_YEAR = /^name:(\d{4})-([a-z]+)$/

/** Reads an act by its date, after a provision: `the 1998 Act`, `act June 29, 1956`, `Act of 5 July 1990`. */
export function readDatedAct(tokens: readonly Token[], at: number): ActMention | undefined {
  return readYearAct(tokens, at) ?? readActOfDate(tokens, at)
}

function readYearAct(tokens: readonly Token[], at: number): ActMention | undefined {
  const [year, noun] = [tokens[at]?.text ?? '', tokens[at + 1]]
  if (!YEAR.test(year) || noun?.kind !== 'word' || noun.glued) return undefined
  if (!LEGAL_NOUNS.has(noun.text) && !OTHER_NOUNS.has(noun.text)) return undefined
  // `the 1968 Theft Act`, `the 1995 directive 95/46/EC`: the name goes on.
  if (tokens[at + 2]?.kind === 'number') return undefined
  return mentionOf(`name:${year}-${noun.text}`, at + 2)
}

function readActOfDate(tokens: readonly Token[], at: number): ActMention | undefined {
  if (!reads(tokens, at, 'act', 'law')) return undefined
  const date = skip(tokens, at + 1, 'of')
  const isMonthFirst = MONTHS.has(tokens[date]?.text ?? '')
  const [month, day] = isMonthFirst ? [tokens[date], tokens[date + 1]] : [tokens[date + 1], tokens[date]]
  const year = skip(tokens, date + 2, ',')
  if (month === undefined || !MONTHS.has(month.text) || day?.kind !== 'number') return undefined
  if (digitsAt(tokens, year, 4, 4) === undefined) return undefined
  return mentionOf(`name:act-${month.text}-${day.text}-${tokens[year]?.text ?? ''}`, year + 1)
}

/** `section 5 of the 1998 Act`: of the acts of the text, the one that has this year and is meant. */
export function actOfYear(act: string, others: readonly string[]): string {
  const [, year] = NAMED_BY_YEAR.exec(act) ?? []
  if (year === undefined) return act
  const sameYear = new Set(others.filter((other) => other !== act && yearOf(other) === year))
  const [only] = sameYear.size === 1 ? sameYear : []
  return only ?? act
}

function yearOf(act: string): string | undefined {
  return /^name:.*-(\d{4})$/.exec(act)?.[1] ?? /^(?:ukpga|uksi):(\d{4})\//.exec(act)?.[1] ?? celexYearOf(act)
}

function celexYearOf(act: string): string | undefined {
  return /^celex:3(\d{4})/.exec(act)?.[1]
}
