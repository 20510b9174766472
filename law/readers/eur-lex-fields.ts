import { attribute, descendants, textOf, type MarkupElement } from './tree.ts'
import { addressOf, applicationIn, celexInTitle, celexOf, isCorrigendum } from './celex.ts'
import { dated, dayIn, dayInNumbers, dayInWords, languageTag, type ReadTree } from './format.ts'
import type { DocumentFields } from './document.ts'
import { pageFields } from './html-page.ts'

const TITLE_LINES_MAX = 6
const TITLES = ['doc-ti', 'title-doc-first', 'title-doc-last'] as const

/** Looks classes up; the Official Journal of later years writes them with `oj-` before. */
interface Classes {
  (...names: readonly string[]): boolean
  readonly some: (test: (name: string) => boolean) => boolean
}

export function classesOf(element: MarkupElement | undefined): Classes {
  const names = (attribute(element, 'class') ?? '').split(/\s+/).map((name) => name.replace(/^oj-/, ''))
  const has = (...wanted: readonly string[]): boolean => wanted.some((name) => names.includes(name))
  return Object.assign(has, { some: (test: (name: string) => boolean) => names.some((name) => test(name)) })
}

/** In consolidated acts, `▼M1` says which act the text below it is from. */
export function isAmendmentMark(element: MarkupElement): boolean {
  const isSmall = element.children.length < 4 && (element.name === 'a' || classesOf(element)('modref', 'arrow'))
  return isSmall && /^▼[A-Z]\d*$/.test(textOf(element) ?? '')
}

/** Fields of a page of an act, in the Official Journal or consolidated. */
export function pageOfActFields(read: ReadTree): DocumentFields {
  const page = pageFields(read)
  const all = [...descendants(read.tree.root)]
  const classed = (name: string): MarkupElement | undefined => all.find((each) => classesOf(each)(name))
  const title = titleOf(all) || page.title
  const eli = page.identifier ?? eliOf(all)
  const consolidated = consolidationIn(textOf(classed('reference')))
  const celex =
    consolidated?.celex ?? celexInTitle(title ?? '') ?? (isCorrigendum(title ?? '') ? undefined : celexOfEli(eli))
  const published = dayInNumbers(textOf(classed('hd-date')))
  const language = languageTag(textOf(classed('hd-lg'))) ?? consolidated?.language ?? page.language
  return {
    title,
    identifier: celex ?? eli,
    language,
    jurisdiction: 'EU',
    url: page.url ?? addressOf(celex, language),
    publishedAt: dated(published) ?? dated(dayInWords(title), 'enactment'),
    effectiveFrom: dated(consolidated?.from) ?? applicationIn(textOf(read.tree.root) ?? ''),
  }
}

/** The lines of the first title. Annexes have titles of the same class in other places. */
function titleOf(all: readonly MarkupElement[]): string {
  const lines: MarkupElement[] = []
  for (const each of all) {
    if (!classesOf(each)(...TITLES)) continue
    const last = lines.at(-1)
    if (last !== undefined && (each.parent !== last.parent || each.place !== last.place + 1)) break
    lines.push(each)
    if (lines.length === TITLE_LINES_MAX) break
  }
  return lines
    .map((each) => textOf(each) ?? '')
    .join(' ')
    .trim()
}

/** The identifier that the page gives itself; links name those of other acts. */
function eliOf(all: readonly MarkupElement[]): string | undefined {
  const stated = all.map((each) => attribute(each, 'resource', 'about')).find((url) => ELI.test(url ?? ''))
  const ends = all.filter((each) => classesOf(each)('doc-end')).map((each) => textOf(each) ?? '')
  return stated ?? ELI.exec(ends.join(' '))?.[0]
}

const ELI = /https?:\/\/data\.europa\.eu\/eli\/[^\s)]+/

export type Consolidation = NonNullable<ReturnType<typeof consolidationIn>>

/** What the first line of a consolidated act says: `2009L0065 — EN — 20.06.2013 — 003.001`. */
export function consolidationIn(line: string | undefined) {
  const [, number, language, day, month, year] =
    /^0?(\d{4}[A-Z]{1,2}\d{4})\s*[—–-]\s*([A-Z]{2})\s*[—–-]\s*(\d{2})\.(\d{2})\.(\d{4})/.exec(line?.trim() ?? '') ?? []
  if (number === undefined) return undefined
  return { celex: `3${number}`, language: languageTag(language), from: dayIn(`${year}-${month}-${day}`) }
}

function celexOfEli(eli: string | undefined): string | undefined {
  const [, kind, year, number, rest] = /\/eli\/(reg|dir|dec)(?:_\w+)?\/(\d{4})\/(\d+)(\S*)/.exec(eli ?? '') ?? []
  const letter = kind === 'reg' ? 'R' : kind === 'dir' ? 'L' : 'D'
  return /corrigendum/.test(rest ?? '') ? undefined : celexOf(year, number, letter)
}
