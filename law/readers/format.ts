import type {
  Citation,
  DocumentFields,
  Provision,
  ReadDate,
  ReaderFormat,
  ReaderLoss,
  ReaderWarning,
} from './document.ts'
import { UnreadableFile, type MarkupElement, type MarkupTree } from './tree.ts'
import type { Roles } from './roles.ts'
import type { Standing } from './standing.ts'

/** The first tag of a file, or the kind of file that it is instead. */
export interface Probe {
  /** Path of the file, with forward slashes. */
  readonly path: string
  readonly kind: 'xml' | 'html' | 'pdf' | 'zip' | 'text'
  /** Local name of the root; empty where there is none. */
  readonly root: string
  /** The first tag as written, with its namespaces. */
  readonly tag: string
  /** First characters of the file. */
  readonly head: string
}

export interface ReadTree {
  readonly tree: MarkupTree
  readonly path: string
}

/** What the markup of a format may say. Whatever else a file says is a loss, by its name. */
export interface Vocabulary {
  /** Names of elements; each has a role, or is inline by name. */
  readonly elements: ReadonlySet<string>
  /** Attributes that say nothing of what is in force; undefined where none does but those of `values`. */
  readonly attributes: ReadonlySet<string> | undefined
  /** Elements that hold data about the document: what is in them is not looked at. */
  readonly apart: ReadonlySet<string>
  /** Elements that say by their name that their text is out of force. */
  readonly out: ReadonlyMap<string, Standing>
  /** Elements that state whether the document is in force, and the attributes that do, or `text`. */
  readonly status: ReadonlyMap<string, readonly string[]>
  /** What the values of an attribute say. */
  readonly values: ReadonlyMap<string, ReadonlyMap<string, Standing | 'in force'>>
  /** What an element says in another way. */
  readonly standingOf?: ((element: MarkupElement) => Standing | undefined) | undefined
  /** First day, after that of the text, on which that changes. */
  readonly changeOf?: ((element: MarkupElement) => string | undefined) | undefined
}

/** One format of markup: what recognises it, what its elements are, and what it says of a document. */
export interface MarkupFormat {
  readonly format: ReaderFormat
  readonly parse: (bytes: Uint8Array, path: string) => MarkupTree | Promise<MarkupTree>
  readonly recognises: (probe: Probe) => boolean
  readonly roles: (read: ReadTree) => Roles
  readonly fields: (read: ReadTree) => DocumentFields
  readonly cite: (provision: CitedProvision, fields: DocumentFields) => Citation
  readonly warnings?: (read: ReadTree) => readonly ReaderWarning[]
  /** What its markup may say. Where it is absent, the format has no markup. */
  readonly vocabulary?: (read: ReadTree) => Vocabulary
  /** What of a file is law and is not read, beside what its vocabulary lacks. */
  readonly losses?: (read: ReadTree) => readonly ReaderLoss[]
}

/** A provision with those around it, nearest first. */
export interface CitedProvision extends Provision {
  readonly around: readonly Provision[]
}

/** Returns the nearest provision of a kind around one, or itself. */
export function nearest(provision: CitedProvision, ...kinds: readonly string[]): Provision | undefined {
  return [provision, ...provision.around].find(({ kind }) => kinds.includes(kind))
}

/** A number without the words and stops that stand around it: `PART 51—` is `51`, `§ 1.1.` is `1.1`. */
export function numberIn(label: string): string {
  // The word before digits may be short and in capitals: `SEC. 4.` What is inserted before section 1 is `A1`.
  const found = DIGITS.exec(label) ?? LETTERS.exec(label)
  return found?.[1]?.replace(/[.\-–—]+$/u, '') ?? ''
}

const DIGITS = /(?:^|[\s§([])([A-Z]{0,2}\d[\w.\-–—/]*(?:\s?bis|\s?ter)?)/u
const LETTERS = /(?:^|[\s§([])((?:[IVXLCDM]+\b|[A-Z]{1,3}\b)(?:\s?bis|\s?ter)?)/u

/** 9999 stands for an open end. There is no year 0. */
const OPEN_OR_NO_YEAR: ReadonlySet<string> = new Set(['0000', '9999'])

/** The day of a date as formats of law write it, or undefined for one that stands for no end. */
export function dayIn(written: string | undefined): string | undefined {
  const [, year, month, day] = /^\s*(\d{4})-?(\d{2})-?(\d{2})/.exec(written ?? '') ?? []
  if (year === undefined || month === undefined || day === undefined || OPEN_OR_NO_YEAR.has(year)) return undefined
  const iso = `${year}-${month}-${day}`
  const ms = Date.parse(`${iso}T00:00:00Z`)
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(iso) ? iso : undefined
}

/** A day of a document, which it states or a rule derives. */
export function dated(day: string | undefined, rule?: ReadDate['rule']): ReadDate | undefined {
  return day === undefined ? undefined : { day, ...(rule === undefined ? {} : { rule }) }
}

/**
 * Returns the last day of a provision that a file states; undefined where it states none, or an open one.
 * @throws UnreadableFile for what is no day: without its end, a text would be served as law in force.
 */
export function endIn(written: string | undefined, line: number | undefined): string | undefined {
  const day = dayIn(written)
  if (day !== undefined || written === undefined || /^\s*(?:9999|$)/.test(written)) return day
  throw new UnreadableFile(
    `it states the end "${written.trim().slice(0, 40)}", which is no day: state it as YYYY-MM-DD`,
    line === undefined ? {} : { line },
  )
}

/** Returns the first of some days, YYYY-MM-DD, that is later than one. */
export function firstAfter(day: string, days: readonly (string | undefined)[]): string | undefined {
  return days.reduce(
    (first, each) => (each !== undefined && each > day && !(each >= (first ?? '~')) ? each : first),
    undefined,
  )
}

const ENGLISH_MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** The day of an English date in words: `Dec. 29, 2022`, `January 1, 2015`, `3rd March 2005`. */
export function dayInWords(written: string | undefined): string | undefined {
  const text = written ?? ''
  const [, month, day, year] = /(\p{L}{3,9})\.?\s+(\d{1,2}),?\s+(\d{4})/u.exec(text) ?? []
  const [, day2, month2, year2] = /(\d{1,2})(?:st|nd|rd|th)?\s+(\p{L}{3,9})\s+(\d{4})/u.exec(text) ?? []
  const index = ENGLISH_MONTHS.indexOf((month ?? month2 ?? '').slice(0, 3))
  if (index === -1) return undefined
  return dayIn(`${year ?? year2}-${String(index + 1).padStart(2, '0')}-${(day ?? day2 ?? '').padStart(2, '0')}`)
}

/** The first day that is written in numbers: `31.12.2020`, `2.3.2021`. */
export function dayInNumbers(written: string | undefined): string | undefined {
  const [, day = '', month = '', year = ''] = /(\d{1,2})\.(\d{1,2})\.(\d{4})/.exec(written ?? '') ?? []
  return dayIn(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`)
}

/** BCP 47 of a language as formats write it: `EN`, `eng`, `deu`. */
export function languageTag(written: string | undefined): string | undefined {
  if (written === undefined || !/^[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*$/.test(written)) return undefined
  return Intl.getCanonicalLocales(written)[0]
}

export function isWithin(element: MarkupElement, ...names: readonly string[]): boolean {
  for (let next = element.parent; next !== undefined; next = next.parent) if (names.includes(next.name)) return true
  return false
}
