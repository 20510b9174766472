import { attribute, descendants, elementsOf, textOf, type MarkupElement } from './tree.ts'
import { isWithin, type MarkupFormat } from './format.ts'
import { euCitation } from './celex.ts'
import { ANNEX_RANK, ARTICLE_RANK, divisionRank, FINAL_RANK, namesDivision } from './eur-lex-divisions.ts'
import { classesOf, isAmendmentMark, pageOfActFields } from './eur-lex-fields.ts'
import { CONSOLIDATED_LINE, createPlainRoles, isPlainPage, plainFields } from './eur-lex-plain.ts'
import { isProposal, proposalFields, proposalRole } from './eur-lex-proposal.ts'
import { parseHtml } from './html.ts'
import { pageLosses } from './shell-page.ts'
import { pageRole, pageVocabulary } from './html-page.ts'
import { CONTENTS, lead, omitted, type Role, type Roles } from './roles.ts'

/** Kinds of `eli-subdivision` by the start of their id (EUR-Lex HTML with ELI subdivisions). */
const SUBDIVISIONS: readonly (readonly [RegExp, string, 'division' | 'passage'])[] = [
  [/^art_/, 'article', 'passage'],
  [/^rct_/, 'recital', 'passage'],
  [/^anx_/, 'annex', 'passage'],
  [/^(?:cpt|prt|tis|sct|sbs)_/, 'division', 'division'],
  [/^pbl_/, 'preamble', 'division'],
  [/^fnp_/, 'final', 'division'],
]
/** Divisions, and annexes of consolidated acts, are elements without a class of their own. */
const DIVISION = /^(?:anx_[^.]+|(?:cpt|prt|tis|sct|sbs)_[^.]*(?:\.(?:cpt|prt|tis|sct|sbs)_[^.]*)*)$/
const RUNNING = /^(?:hd-(?:date|lg|ti|oj|uniq|coll)|doc-end)$/
const ANNEX_TITLES = ['doc-ti', 'title-annex-1', 'title-annex-2'] as const
/** Headings within an annex. The first one may be its title. */
const SEQUENCE_TITLES = ['ti-grseq-1', 'title-gr-seq-level-1'] as const
const DIVISION_TITLES = ['ti-section-1', 'title-division-1'] as const
const TITLES = ['doc-ti', ...SEQUENCE_TITLES, ...DIVISION_TITLES] as const
const ARTICLE_TITLES = ['ti-art', 'title-article-norm'] as const
const ARTICLE_HEADINGS = ['sti-art', 'stitle-article-norm'] as const
/** They follow the number of an article or of a division. */
const FOLLOWING = [...ARTICLE_HEADINGS, 'ti-section-2', 'title-division-2'] as const

/** Acts as EUR-Lex shows them: the Official Journal with and without ELI subdivisions, consolidated acts, proposals. */
export const EUR_LEX: MarkupFormat = {
  format: 'eur-lex',
  parse: parseHtml,
  recognises: ({ kind, head }) =>
    kind === 'html' &&
    (/class=["'](?:oj-|eli-|ti-art|sti-art|doc-ti|title-article-norm|hd-oj|title-doc-first|Rfrenceinstitutionnelle)|eur-lex\.europa\.eu\/eli|LexUriServ\.do\?uri=CELEX/.test(
      head,
    ) ||
      CONSOLIDATED_LINE.test(head)),
  vocabulary: pageVocabulary,
  losses: ({ tree }) => pageLosses(tree.root),
  roles: ({ tree: { root } }) => {
    if (isProposal(root)) return proposalRole
    if (isPlainPage(root)) return createPlainRoles(root)
    return createRoles(root)
  },
  fields: (read) => {
    const { root } = read.tree
    if (isProposal(root)) return proposalFields(read)
    return isPlainPage(root) ? plainFields(read) : pageOfActFields(read)
  },
  cite: euCitation,
}

type LinesBefore = ReadonlyMap<MarkupElement, MarkupElement>

function createRoles(root: MarkupElement): Roles {
  const before = linesBeforeTitles(root)
  const quoted = quotedTitles(root)
  const hasSubdivisions = [...descendants(root)].some((each) => isArticle(each) && classesOf(each)('eli-subdivision'))
  const roles = hasSubdivisions ? createMarkedRoles(before) : createFlatRoles(before, marksOf(root, before, quoted))
  return (element, context) => (quoted.has(element) ? { is: 'block' } : roles(element, context))
}

/** Roles of a page whose elements hold the articles. */
function createMarkedRoles(before: LinesBefore): Roles {
  return (element) => {
    const has = classesOf(element)
    if (element.name === 'div' && (has('eli-subdivision') || DIVISION.test(attribute(element, 'id') ?? '')))
      return subdivisionOf(element)
    if (has(...ARTICLE_TITLES)) return { is: 'label' }
    if (has(...DIVISION_TITLES)) return { is: 'heading' }
    if (has(...SEQUENCE_TITLES)) return { is: isTitleOfAnnex(element, before.get(element)) ? 'heading' : 'block' }
    return lineRole(element)
  }
}

/** What an element is that means the same on all pages of acts. */
function lineRole(element: MarkupElement): Role {
  const has = classesOf(element)
  if (element.name === 'p' && has.some((name) => RUNNING.test(name))) return omitted('running head')
  if (isAmendmentMark(element)) return omitted('mark of an amendment')
  if (has('title-toc', 'toc-item')) return CONTENTS
  if (has('grid-list') || isEnumerated(element)) return { is: 'item', mark: '' }
  if (has('grid-list-column-1', 'no-parag')) return lead()
  if (has('grid-list-column-2', 'inline-element')) return { is: 'inline' }
  // A longer row is looked at once, not for each of its cells.
  if (element.name === 'td' && element.place <= 3 && element.parent !== undefined && isEnumerated(element.parent))
    return numberedCell(element)
  if (has(...FOLLOWING, 'eli-title', ...ANNEX_TITLES, 'title-doc-first', 'title-doc-last')) return { is: 'heading' }
  return pageRole(element)
}

/** Roles of a page on which headings begin the articles. */
function createFlatRoles(before: LinesBefore, { recitals, annexes }: Marks): Roles {
  return (element) => {
    const has = classesOf(element)
    const anchor = attribute(element, 'id')
    if (recitals.has(element)) return { is: 'unit', kind: 'recital', level: 'passage' }
    if (element.name === 'td' && element.parent !== undefined && recitals.has(element.parent))
      return { is: element.place === 1 ? 'label' : 'inline' }
    if (element.name === 'div' && has('final'))
      return { is: 'unit', kind: 'final', level: 'division', ends: FINAL_RANK }
    if (element.name === 'hr' && has('note', 'separator-short'))
      return { is: 'start', kind: 'notes', level: 'division', rank: ANNEX_RANK, names: 'heading' }
    if (has(...ARTICLE_TITLES))
      return { is: 'start', kind: 'article', level: 'passage', rank: ARTICLE_RANK, anchor, names: 'label' }
    if (annexes.has(element))
      return { is: 'start', kind: 'annex', level: 'division', rank: ANNEX_RANK, anchor, names: 'heading' }
    if (has(...DIVISION_TITLES, ...SEQUENCE_TITLES)) {
      if (continuesHeading(element, before.get(element))) return { is: 'heading' }
      const rank = divisionRank(textOf(element) ?? '')
      return { is: 'start', kind: 'division', level: 'division', rank, anchor, names: 'heading' }
    }
    return lineRole(element)
  }
}

interface Marks {
  /** Rows of tables before the first article, numbered from 1. */
  readonly recitals: ReadonlySet<MarkupElement>
  /** Titles with which an annex begins. */
  readonly annexes: ReadonlySet<MarkupElement>
}

function marksOf(root: MarkupElement, before: LinesBefore, quoted: ReadonlySet<MarkupElement>): Marks {
  const [rows, annexes] = [new Set<MarkupElement>(), new Set<MarkupElement>()]
  let hasArticle = false
  for (const element of descendants(root)) {
    if (quoted.has(element)) continue
    const has = classesOf(element)
    if (has(...ARTICLE_TITLES)) hasArticle = true
    if (!hasArticle && isEnumerated(element) && textOf(elementsOf(element)[0]) === `(${rows.size + 1})`)
      rows.add(element)
    if (has('title-annex-1')) annexes.add(element)
    else if (has('doc-ti')) {
      const isFirst = !classesOf(before.get(element))('doc-ti')
      if (divisionRank(textOf(element) ?? '') === ANNEX_RANK || (hasArticle && isFirst)) annexes.add(element)
    }
  }
  return { recitals: hasArticle ? rows : new Set(), annexes }
}

/**
 * Titles of provisions that an act inserts into another one: those in a cell of a table, those that a quotation mark
 * begins, a second one in the element of an article, and the heading of each.
 */
function quotedTitles(root: MarkupElement): ReadonlySet<MarkupElement> {
  const titles = [...descendants(root)].filter((each) => classesOf(each)(...TITLES, ...ARTICLE_TITLES, ...FOLLOWING))
  const own = titles.some((each) => classesOf(each)(...ARTICLE_TITLES) && !isWithin(each, 'td'))
  const quoted = new Set<MarkupElement>()
  const named = new Set<MarkupElement>()
  let isQuoted = false
  for (const title of titles) {
    const { parent } = title
    if (!classesOf(title)(...FOLLOWING)) {
      const isSecond =
        classesOf(title)(...ARTICLE_TITLES) && parent !== undefined && isArticle(parent) && named.has(parent)
      isQuoted = isSecond || (own && isWithin(title, 'td')) || /^["'‘“„«]/.test(textOf(title) ?? '')
      if (parent !== undefined) named.add(parent)
    }
    if (isQuoted) quoted.add(title)
  }
  return quoted
}

function isArticle(element: MarkupElement): boolean {
  return (attribute(element, 'id') ?? '').startsWith('art_')
}

/** Whether a line goes on with the heading in the line before it. */
function continuesHeading(element: MarkupElement, before: MarkupElement | undefined): boolean {
  if (isTitleOfAnnex(element, before)) return true
  return (
    classesOf(before)(...DIVISION_TITLES, ...SEQUENCE_TITLES, ...FOLLOWING) && !namesDivision(textOf(element) ?? '')
  )
}

/** Whether a heading stands directly below the number of its annex. */
function isTitleOfAnnex(element: MarkupElement, before: MarkupElement | undefined): boolean {
  return classesOf(before)(...ANNEX_TITLES) && !namesDivision(textOf(element) ?? '')
}

/** For each title, the nearest element with text before it that has the same parent. */
function linesBeforeTitles(root: MarkupElement): LinesBefore {
  const found = new Map<MarkupElement, MarkupElement>()
  for (const parent of descendants(root)) {
    let before: MarkupElement | undefined
    for (const element of elementsOf(parent)) {
      if (before !== undefined && classesOf(element)(...TITLES)) found.set(element, before)
      if (holdsText(element)) before = element
    }
  }
  return found
}

function holdsText(element: MarkupElement): boolean {
  return element.children.some((child) => (child.kind === 'text' ? child.value.trim() !== '' : holdsText(child)))
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

/** Points and recitals stand in tables of two columns: the number or dash, and the text; a column before may be empty. */
function isEnumerated({ name, children }: MarkupElement): boolean {
  if (name !== 'tr') return false
  const cells = children.filter((child) => child.kind === 'element')
  if (cells.length < 2 || cells.length > 3) return false
  if (cells.length === 3 && textOf(cells[0]) !== undefined) return false
  return /^(?:\(?[\p{L}\d]{1,6}[).]|[—–•-])$/u.test(textOf(cells.at(-2)) ?? '')
}

function numberedCell(cell: MarkupElement): Role {
  if (cell.parent === undefined || elementsOf(cell.parent).at(-1) === cell || textOf(cell) === undefined)
    return { is: 'inline' }
  // The number of a recital is its label.
  return (attribute(cell.parent.parent?.parent?.parent, 'id') ?? '').startsWith('rct_') ? { is: 'label' } : lead()
}
