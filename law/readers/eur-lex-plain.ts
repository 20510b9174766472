import { foldKey } from '#core/identity/fold.ts'
import { allNamed, attribute, descendants, elementsOf, firstNamed, textOf, type MarkupElement } from './tree.ts'
import { dated, dayIn, dayInWords, type ReadTree } from './format.ts'
import type { DocumentFields } from './document.ts'
import { addressOf } from './celex.ts'
import { ANNEX_RANK, ARTICLE_RANK, divisionRank, namesDivision } from './eur-lex-divisions.ts'
import { consolidationIn, isAmendmentMark, type Consolidation } from './eur-lex-fields.ts'
import { pageFields, pageRole } from './html-page.ts'
import { omitted, type Role } from './roles.ts'

/**
 * Acts as EUR-Lex shows those published before 2004: every line of the act is a paragraph without a class, below an
 * element of this name.
 */
const ACT = 'txt_te'
const CELEX = /^\d\d{4}[A-Z]{1,2}\d{4}(?:\(\d+\))?$/
/** The word for article stands before its number, or after it, in the languages of that time and of later accessions. */
const ARTICLE =
  /^(?:(?:article|artikel|articolo|artículo|artigo|άρθρο|artykuł|článek|článok|člen|artikolu)\s+(?:\d+\s?\p{L}{0,2}|premier|único|unico|unique)|\d+\.?\s+(?:artikla|cikk|straipsnis|pants|artikkel|člen))(?:\.º|\.o|º|o)?\.?$/iu
/** A number after the word of a division, or none. */
const DIVISION_NUMBER = /^\p{L}+(?:[\s-]+(?:[IVXLC]+|\d+|[A-Z])\p{L}?)?\.?$/u
/** The first line of acts that were consolidated before 2009: no element of their pages has a class. */
export const CONSOLIDATED_LINE = />\s*0?\d{4}[A-Z]{1,2}\d{4}\s*[—–-]\s*[A-Z]{2}\s*[—–-]\s*\d{2}\.\d{2}\.\d{4}\s*[—–-]/
const LINE_CHARACTERS_MAX = 40
const HEADING_CHARACTERS_MAX = 200

export function isPlainPage(root: MarkupElement): boolean {
  const hasClasses = allNamed(root, 'p').some(({ attributes }) => attributes.has('class'))
  return firstNamed(root, ACT) !== undefined || (consolidationOf(root) !== undefined && !hasClasses)
}

/** Of a consolidated act, what its first line says. */
function consolidationOf(root: MarkupElement): Consolidation | undefined {
  return consolidationIn(textOf(firstNamed(root, 'p')))
}

export function createPlainRoles(root: MarkupElement): (element: MarkupElement) => Role {
  const afterNumbers = paragraphsAfterNumbers(root)
  return (element) => plainRole(element, afterNumbers)
}

function plainRole(element: MarkupElement, afterNumbers: ReadonlySet<MarkupElement>): Role {
  const { name } = element
  if (name === 'h1' && CELEX.test(textOf(element) ?? '')) return omitted('running head')
  if (name === 'div' && attribute(element, 'id') === 'banner') return omitted('navigation')
  if (isAmendmentMark(element)) return omitted('mark of an amendment')
  if (name === ACT) return { is: 'block' }
  if (name !== 'p') return pageRole(element)
  const line = lineOf(element)
  if (ARTICLE.test(line)) return { is: 'start', kind: 'article', level: 'passage', rank: ARTICLE_RANK, names: 'label' }
  if (isDivision(line)) {
    const rank = divisionRank(line)
    return { is: 'start', kind: rank === ANNEX_RANK ? 'annex' : 'division', level: 'division', rank, names: 'heading' }
  }
  return afterNumbers.has(element) && isHeading(element) ? { is: 'heading' } : pageRole(element)
}

function isDivision(line: string): boolean {
  return DIVISION_NUMBER.test(line) && namesDivision(line)
}

/** '' for a paragraph that is longer than a number of a provision. */
function lineOf(paragraph: MarkupElement): string {
  const text = paragraph.name === 'p' && paragraph.children.length < 4 ? (textOf(paragraph) ?? '') : ''
  return text.length > LINE_CHARACTERS_MAX ? '' : text.trim()
}

/** The paragraphs that stand directly after the number of an article or division. */
function paragraphsAfterNumbers(root: MarkupElement): ReadonlySet<MarkupElement> {
  const found = new Set<MarkupElement>()
  for (const each of descendants(root)) {
    let before = ''
    for (const element of elementsOf(each)) {
      if (ARTICLE.test(before) || isDivision(before)) found.add(element)
      before = lineOf(element)
    }
  }
  return found
}

function isHeading(paragraph: MarkupElement): boolean {
  const text = textOf(paragraph)?.trim() ?? ''
  return text !== '' && text.length <= HEADING_CHARACTERS_MAX && !/[.;:,]$|^(?:\(?\d+|\(?[a-z])[.)]/u.test(text)
}

export function plainFields(read: ReadTree): DocumentFields {
  const { root } = read.tree
  const page = pageFields(read)
  const metas = allNamed(root, 'meta')
  const meta = (wanted: string) => metas.find((each) => foldKey(attribute(each, 'name') ?? '') === wanted)
  const consolidated = consolidationOf(root)
  const title = attribute(meta('dc.description'), 'content') || (consolidated && consolidatedTitle(root)) || page.title
  const celex = consolidated?.celex ?? CELEX.exec(textOf(firstNamed(root, 'h1')) ?? '')?.[0]
  const language = consolidated?.language ?? page.language
  const [, day, month, year] = /(\d{2})\/(\d{2})\/(\d{4})/.exec(attribute(meta('dc.source'), 'content') ?? '') ?? []
  return {
    title,
    identifier: celex,
    language,
    jurisdiction: 'EU',
    url: addressOf(celex, language),
    effectiveFrom: dated(consolidated?.from),
    publishedAt: dated(dayIn(`${year}-${month}-${day}`)) ?? dated(dayInWords(title), 'enactment'),
  }
}

const TITLE_LINES_MAX = 4

/** The lines beside the mark `►B` of the basic act. */
function consolidatedTitle(root: MarkupElement): string | undefined {
  const row = allNamed(root, 'tr').find((each) => textOf(elementsOf(each)[0]) === '►B')
  const lines = allNamed(row, 'p').slice(1, TITLE_LINES_MAX + 1)
  return lines.map((each) => textOf(each) ?? '').join(' ') || undefined
}
