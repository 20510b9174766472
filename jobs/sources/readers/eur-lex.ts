import { attribute, descendants, textOf } from './tree.ts'
import type { MarkupElement } from './tree.ts'
import { celexInTitle } from './celex.ts'
import { dayIn, dayInWords, languageTag } from './format.ts'
import type { MarkupFormat, ReadTree } from './format.ts'
import type { DocumentFields } from './document.ts'
import { applicationIn, euCitation } from './eu-citation.ts'
import { createPlainRoles, isPlainPage, plainFields } from './eur-lex-plain.ts'
import { parseHtml } from './html.ts'
import { pageFields, pageRole } from './html-page.ts'
import type { Role } from './roles.ts'

/** Kinds of `eli-subdivision` by the start of their id (EUR-Lex HTML with ELI subdivisions). */
const SUBDIVISIONS: readonly (readonly [RegExp, string, 'division' | 'passage'])[] = [
  [/^art_/, 'article', 'passage'],
  [/^rct_/, 'recital', 'passage'],
  [/^anx_/, 'annex', 'passage'],
  [/^(?:cpt|prt|tis|sct|sbs)_/, 'division', 'division'],
  [/^pbl_/, 'preamble', 'division'],
  [/^fnp_/, 'final', 'division'],
]
/** Divisions are elements without a class of their own. */
const DIVISION = /^(?:cpt|prt|tis|sct|sbs)_[^.]*(?:\.(?:cpt|prt|tis|sct|sbs)_[^.]*)*$/
const RUNNING = /^(?:oj-)?hd-(?:date|lg|ti|oj)$/

/** Acts as EUR-Lex shows them: the Official Journal, with and without ELI subdivisions, and consolidated acts. */
export const EUR_LEX: MarkupFormat = {
  format: 'eur-lex',
  parse: parseHtml,
  recognises: ({ kind, head }) =>
    kind === 'html' &&
    /class=["'](?:oj-|eli-|ti-art|sti-art|doc-ti|title-article-norm|hd-oj|title-doc-first)|eur-lex\.europa\.eu\/eli|LexUriServ\.do\?uri=CELEX/.test(
      head,
    ),
  roles: ({ tree: { root } }) => (isPlainPage(root) ? createPlainRoles(root) : createRoles(hasSubdivisions(root))),
  fields: (read) => (isPlainPage(read.tree.root) ? plainFields(read) : fieldsOf(read)),
  cite: euCitation,
}

function hasSubdivisions(root: MarkupElement): boolean {
  for (const each of descendants(root))
    if ((attribute(each, 'id') ?? '').startsWith('art_') && hasClass(each, 'eli-subdivision')) return true
  return false
}

/** @param nested whether elements hold the articles; without them headings begin them. */
function createRoles(nested: boolean): (element: MarkupElement) => Role {
  return (element) => {
    const classes = (attribute(element, 'class') ?? '').split(/\s+/).map((name) => name.replace(/^oj-/, ''))
    const has = (...names: readonly string[]): boolean => names.some((name) => classes.includes(name))
    if (element.name === 'p' && classes.some((name) => RUNNING.test(name) || RUNNING.test(`oj-${name}`)))
      return { is: 'omit', rule: 'running head' }
    if (nested && element.name === 'div' && (has('eli-subdivision') || DIVISION.test(attribute(element, 'id') ?? '')))
      return subdivisionOf(element)
    if (isEnumerated(element)) return { is: 'item', mark: '' }
    if (element.name === 'td' && element.parent !== undefined && isEnumerated(element.parent))
      return numberedCell(element)
    if (has('ti-art', 'title-article-norm'))
      return nested
        ? { is: 'label' }
        : { is: 'start', kind: 'article', level: 'passage', rank: 9, anchor: attribute(element, 'id'), names: 'label' }
    if (has('sti-art', 'stitle-article-norm', 'eli-title')) return { is: 'heading' }
    if (has('ti-section-1', 'title-division-1', 'ti-grseq-1', 'title-annex-1', 'title-gr-seq-level-1'))
      return nested
        ? { is: 'heading' }
        : {
            is: 'start',
            kind: 'division',
            level: 'division',
            rank: 5,
            anchor: attribute(element, 'id'),
            names: 'heading',
          }
    if (has('ti-section-2', 'title-division-2', 'title-annex-2')) return { is: 'heading' }
    if (has('doc-ti', 'title-doc-first', 'title-doc-last')) return { is: 'heading' }
    return pageRole(element)
  }
}

function subdivisionOf(element: MarkupElement): Role {
  const anchor = attribute(element, 'id')
  const found = SUBDIVISIONS.find(([start]) => start.test(anchor ?? ''))
  if (found !== undefined) return { is: 'unit', kind: found[1], level: found[2], anchor }
  // A paragraph of an article has its number and the article's in its id.
  return /^\d{3}\w?\.\d{3}/.test(anchor ?? '')
    ? { is: 'unit', kind: 'paragraph', level: 'part', anchor }
    : { is: 'block' }
}

/** Points and recitals stand in tables of two columns: the number or dash, and the text. */
function isEnumerated({ name, children }: MarkupElement): boolean {
  if (name !== 'tr') return false
  const cells = children.filter((child) => child.kind === 'element')
  return cells.length === 2 && /^(?:\(?[\p{L}\d]{1,6}[).]|[—–•-])$/u.test(textOf(cells[0]) ?? '')
}

function numberedCell(cell: MarkupElement): Role {
  if (cell.place !== 1) return { is: 'inline' }
  // The number of a recital is its label.
  const holder = cell.parent?.parent?.parent?.parent
  return (attribute(holder, 'id') ?? '').startsWith('rct_')
    ? { is: 'label' }
    : { is: 'marked', before: '', after: '', label: true }
}

function hasClass(element: MarkupElement, name: string): boolean {
  return (attribute(element, 'class') ?? '').split(/\s+/).includes(name)
}

function fieldsOf(read: ReadTree): DocumentFields {
  const page = pageFields(read)
  const all = [...descendants(read.tree.root)]
  const classed = (...names: readonly string[]): readonly MarkupElement[] =>
    all.filter((each) => names.some((name) => hasClass(each, name) || hasClass(each, `oj-${name}`)))
  const title =
    classed('doc-ti', 'title-doc-first', 'title-doc-last')
      .slice(0, 4)
      .map((each) => textOf(each) ?? '')
      .join(' ')
      .trim() || page.title
  const eli =
    page.identifier ??
    all
      .map((each) => attribute(each, 'resource', 'about', 'href'))
      .find((url) => /data\.europa\.eu\/eli\//.test(url ?? ''))
  const consolidated = consolidationIn(textOf(classed('reference')[0]))
  const celex = consolidated?.celex ?? celexInTitle(title ?? '') ?? celexOfEli(eli)
  const shown = textOf(classed('hd-date')[0])
  const [, day = '', month = '', year = ''] = /(\d{1,2})\.(\d{1,2})\.(\d{4})/.exec(shown ?? '') ?? []
  const published = dayIn(`${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`)
  const signed = dayInWords(title)
  const applies = applicationIn(textOf(read.tree.root) ?? '')
  return {
    title,
    identifier: celex ?? eli,
    language: languageTag(textOf(classed('hd-lg')[0])) ?? consolidated?.language ?? page.language,
    jurisdiction: 'EU',
    url:
      page.url ??
      (celex === undefined ? undefined : `https://eur-lex.europa.eu/legal-content/EN/TXT/?uri=CELEX:${celex}`),
    publishedAt:
      published === undefined
        ? signed === undefined
          ? undefined
          : { day: signed, rule: 'enactment' }
        : { day: published },
    effectiveFrom: consolidated?.from === undefined ? applies : { day: consolidated.from },
  }
}

interface Consolidation {
  readonly celex: string
  readonly language: string | undefined
  readonly from: string | undefined
}

/** What the first line of a consolidated act says: `2009L0065 — EN — 20.06.2013 — 003.001`. */
function consolidationIn(line: string | undefined): Consolidation | undefined {
  const [, number, language, day, month, year] =
    /^0?(\d{4}[A-Z]{1,2}\d{4})\s*[—–-]\s*([A-Z]{2})\s*[—–-]\s*(\d{2})\.(\d{2})\.(\d{4})/.exec(line?.trim() ?? '') ?? []
  if (number === undefined) return undefined
  return { celex: `3${number}`, language: languageTag(language), from: dayIn(`${year}-${month}-${day}`) }
}

function celexOfEli(eli: string | undefined): string | undefined {
  const [, kind, year, number] = /\/eli\/(reg|dir|dec)(?:_\w+)?\/(\d{4})\/(\d+)/.exec(eli ?? '') ?? []
  const letter = kind === 'reg' ? 'R' : kind === 'dir' ? 'L' : 'D'
  return year === undefined || number === undefined ? undefined : `3${year}${letter}${number.padStart(4, '0')}`
}
