import { foldKey } from '#core/identity/fold.ts'
import { attribute, descendants, elementsOf, firstNamed, textOf } from './tree.ts'
import type { MarkupElement } from './tree.ts'
import { dayIn, dayInWords } from './format.ts'
import type { ReadTree } from './format.ts'
import type { DocumentFields } from './document.ts'
import { pageFields, pageRole } from './html-page.ts'
import type { Role } from './roles.ts'

/**
 * Acts as EUR-Lex shows those published before 2004: every line of the act is a paragraph without a class, below an
 * element of this name.
 */
const ACT = 'txt_te'
const CELEX = /^\d\d{4}[A-Z]{1,2}\d{4}(?:\(\d+\))?$/
/** The word for article stands before its number, or after it, in the languages of that time and of later accessions. */
const ARTICLE =
  /^(?:(?:article|artikel|articolo|artículo|artigo|άρθρο|artykuł|článek|článok|člen|artikolu)\s+(?:\d+\s?\p{L}{0,2}|premier|único|unico|unique)|\d+\.?\s+(?:artikla|cikk|straipsnis|pants|artikkel|člen))(?:\.º|\.o|º|o)?\.?$/iu
const DIVISION =
  /^(?:title|titel|titre|titolo|título|afsnit|osasto|avdelning|chapter|kapitel|chapitre|capo|capítulo|hoofdstuk|luku|section|abschnitt|sezione|sección|secção|afdeling|jakso|annex|anhang|annexe|allegato|anexo|bijlage|bilag|liite|bilaga|τιτλοσ|τίτλος|κεφάλαιο|παράρτημα)(?:\s+(?:[IVXLC]+|\d+|[A-Z])\p{L}?)?\.?$/iu
const LINE_CHARACTERS_MAX = 40
const HEADING_CHARACTERS_MAX = 200

export function isPlainPage(root: MarkupElement): boolean {
  return firstNamed(root, ACT) !== undefined
}

export function createPlainRoles(root: MarkupElement): (element: MarkupElement) => Role {
  const afterNumbers = paragraphsAfterNumbers(root)
  return (element) => plainRole(element, afterNumbers)
}

function plainRole(element: MarkupElement, afterNumbers: ReadonlySet<MarkupElement>): Role {
  const { name } = element
  if (name === 'h1' && CELEX.test(textOf(element) ?? '')) return { is: 'omit', rule: 'running head' }
  if (name === 'div' && attribute(element, 'id') === 'banner') return { is: 'omit', rule: 'navigation' }
  if (name === ACT) return { is: 'block' }
  if (name !== 'p') return pageRole(element)
  const line = lineOf(element)
  if (ARTICLE.test(line)) return { is: 'start', kind: 'article', level: 'passage', rank: 9, names: 'label' }
  if (DIVISION.test(line)) return { is: 'start', kind: 'division', level: 'division', rank: 5, names: 'heading' }
  return afterNumbers.has(element) && isHeading(element) ? { is: 'heading' } : pageRole(element)
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
      if (ARTICLE.test(before) || DIVISION.test(before)) found.add(element)
      before = lineOf(element)
    }
  }
  return found
}

/** Whether a line is no paragraph of a text. */
function isHeading(paragraph: MarkupElement): boolean {
  const text = textOf(paragraph)?.trim() ?? ''
  return text !== '' && text.length <= HEADING_CHARACTERS_MAX && !/[.;:,]$|^(?:\(?\d+|\(?[a-z])[.)]/u.test(text)
}

export function plainFields(read: ReadTree): DocumentFields {
  const { root } = read.tree
  const page = pageFields(read)
  const metas = [...descendants(root)].filter(({ name }) => name === 'meta')
  const meta = (wanted: string): string | undefined =>
    attribute(
      metas.find((each) => foldKey(attribute(each, 'name') ?? '') === wanted),
      'content',
    )?.trim()
  const title = meta('dc.description') || page.title
  const celex = CELEX.exec(textOf(firstNamed(root, 'h1')) ?? '')?.[0]
  const [, day, month, year] = /(\d{2})\/(\d{2})\/(\d{4})/.exec(meta('dc.source') ?? '') ?? []
  const published = dayIn(`${year}-${month}-${day}`)
  const signed = dayInWords(title)
  return {
    title,
    identifier: celex,
    language: page.language,
    jurisdiction: 'EU',
    url: celex === undefined ? undefined : `https://eur-lex.europa.eu/legal-content/EN/TXT/?uri=CELEX:${celex}`,
    ...(published === undefined ? {} : { publishedAt: { day: published } }),
    ...(published === undefined && signed !== undefined ? { publishedAt: { day: signed, rule: 'enactment' } } : {}),
  }
}
