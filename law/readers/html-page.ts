import { foldKey } from '#core/identity/fold.ts'
import { attribute, childrenNamed, descendants, elementsOf, firstNamed, textOf, type MarkupElement } from './tree.ts'
import { isWithin, languageTag, type MarkupFormat, type ReadTree, type Vocabulary } from './format.ts'
import type { DocumentFields } from './document.ts'
import { parseHtml } from './html.ts'
import { lead, omitted, type Role, type Roles } from './roles.ts'
import { createStyles, stylesOf } from './html-style.ts'
import { pageLosses } from './shell-page.ts'
import { provisionKind, provisionMarks } from './provision-marks.ts'
import { counted } from './written-number.ts'
import NAMES from './names/html.json' with { type: 'json' }
import { formatOf } from './vocabulary.ts'
import { wordsCitation } from './words-citation.ts'

const { roles: ROLES, vocabulary: VOCABULARY } = formatOf(
  NAMES,
  [],
  [(each) => (holdsLaw(each) ? { is: 'block' } : omitted('script, style or form')), 'form'],
  [startOf, 'h1 h2 h3 h4 h5 h6'],
  [(each) => (holdsHeadings(each) ? { is: 'block' } : omitted('navigation')), 'nav'],
  [(each) => ({ is: 'item', mark: bulletOf(each) }), 'li'],
  // A number is in the line of its text.
  [(each) => ((textOf(each)?.length ?? 0) <= DT_NUMBER_CHARACTERS_MAX ? lead() : { is: 'block' }), 'dt'],
)
const DT_NUMBER_CHARACTERS_MAX = 8

/** A web page: its headings are its structure. */
export const HTML: MarkupFormat = {
  format: 'html',
  parse: parseHtml,
  recognises: ({ kind }) => kind === 'html',
  vocabulary: pageVocabulary,
  losses: ({ tree }) => pageLosses(tree.root),
  roles: ({ tree }) => createPageRoles(tree.root),
  fields: pageFields,
  cite: (provision, fields) => wordsCitation(provision, fields),
}

export function pageVocabulary({ tree: { root } }: ReadTree): Vocabulary {
  return { ...VOCABULARY, standingOf: createStyles(root) }
}

/** On a page of law, headings with the number of a provision begin provisions; a title may begin with one. */
function createPageRoles(root: MarkupElement): Roles {
  const numbered = [...descendants(root)].filter(isProvisionHeading)
  const [only] = numbered
  // `Article 29 Working Party` is no article.
  if (numbered.length < 2 && provisionKind(textOf(only) ?? '') !== 'section') return createLineRoles(root)
  const links = linksBefore(new Set(numbered))
  return (element) => {
    if (links.has(element)) return omitted('navigation')
    const role = pageRole(element)
    return role.is === 'start' && isProvisionHeading(element) ? { ...role, kind: 'section', level: 'passage' } : role
  }
}

/** On a page without headings of its own, plain lines that count up begin provisions. */
function createLineRoles(root: MarkupElement): Roles {
  const lines = [...descendants(root)].filter(
    (each) =>
      ['p', 'div'].includes(each.name) &&
      each.children.length < 40 &&
      firstNamed(each, 'p', 'div') === each &&
      !isWithin(each, 'table', 'li', 'nav'),
  )
  const headings = [...descendants(root)].filter(({ name }) => /^h[2-6]$/.test(name)).length
  if (headings > 1 || lines.some(isSectionLine)) return pageRole
  const texts = lines.map((each) => textOf(each))
  const marks = provisionMarks(texts.map((text) => ((text?.length ?? 0) < LINE_CHARACTERS_MAX ? text : undefined)))
  // A line that holds text too cannot be a heading; those that begin in bold are read by their letters.
  const roles = new Map(
    lines.flatMap((each, index) => {
      const { kind = 'title', rank = 0, text } = marks.get(index) ?? {}
      if (text !== undefined || kind === 'title' || kind === 'note') return []
      const level = ['division', 'annex', 'schedule'].includes(kind) ? 'division' : 'passage'
      return [[each, { is: 'start', kind, level, rank, anchor: anchorOf(each), names: 'heading' } as const] as const]
    }),
  )
  return (element) => roles.get(element) ?? pageRole(element)
}

function isProvisionHeading(element: MarkupElement): boolean {
  return /^h[2-6]$/.test(element.name) && namesProvision(textOf(element) ?? '')
}

function namesProvision(text: string): boolean {
  return SECTION.test(text) || provisionKind(text) !== undefined
}

/** The links that stand in the same box directly before the heading of a provision: to the table of contents. */
function linksBefore(headings: ReadonlySet<MarkupElement>): ReadonlySet<MarkupElement> {
  const found = new Set<MarkupElement>()
  for (const box of new Set([...headings].flatMap(({ parent }) => parent ?? []))) {
    let isBefore = false
    for (const element of elementsOf(box).toReversed())
      if (element.name !== 'a') isBefore = headings.has(element)
      else if (isBefore && element.attributes.has('href')) found.add(element)
  }
  return found
}

export function pageRole(element: MarkupElement): Role {
  if (isSectionLine(element))
    return { is: 'start', kind: 'section', level: 'passage', rank: 8, anchor: anchorOf(element), names: 'heading' }
  if (isRunIn(element)) return { is: 'start', kind: 'section', level: 'passage', rank: 8, names: 'label' }
  const rank = divisionOf(element)
  if (rank !== undefined)
    return { is: 'start', kind: 'division', level: 'division', rank, anchor: anchorOf(element), names: 'heading' }
  return ROLES(element) ?? { is: 'inline' }
}

function startOf(heading: MarkupElement): Role {
  const [rank, anchor] = [Number(heading.name.slice(1)), anchorOf(heading)]
  return { is: 'start', kind: 'heading', level: 'division', rank, anchor, names: 'heading' }
}

const SECTION = /^(?:SECTION|SEC\.|Section|Sec\.|ARTICLE|Article|Artikel|Art\.?|§§?)\s*\d/

/** A line that only names a provision, all of it in bold or in a class for sections: pages without headings have those. */
function isSectionLine(element: MarkupElement): boolean {
  if (element.name !== 'p' && element.name !== 'div') return false
  const text = element.children.length > 40 ? undefined : textOf(element)
  if (text === undefined || text.length > LINE_CHARACTERS_MAX || !namesProvision(text)) return false
  return isAllStrong(element)
}

function isAllStrong(element: MarkupElement): boolean {
  return element.children.every((child) =>
    child.kind === 'text' ? child.value.trim() === '' : textOf(child) === undefined || isStrong(child),
  )
}

function isStrong(element: MarkupElement): boolean {
  return (
    ['b', 'strong'].includes(element.name) ||
    /section-?(?:level|head|title|num)/i.test(attribute(element, 'class') ?? '') ||
    (element.children.length > 0 && element.children.every((child) => child.kind === 'element' && isStrong(child)))
  )
}

/** The number of a provision in bold before its text: `<b>Sec. 101.</b> No funds may be used`. */
function isRunIn(element: MarkupElement): boolean {
  const { parent, place, name, attributes } = element
  if (place !== 1 || !RUN_IN.has(name) || (parent?.name !== 'p' && parent?.name !== 'div')) return false
  if (name === 'span' && !/initial-?cap|section|art(?:icle|igo|iculo)/i.test(attributes.get('class') ?? ''))
    return false
  const text = textOf(element) ?? ''
  const first = parent.children.find((child) => child.kind === 'element' || child.value.trim() !== '')
  const after = (textOf(parent) ?? '').slice(text.length).trim()
  return (
    first === element &&
    text.length < 40 &&
    SECTION_NUMBER.test(text) &&
    namesProvision(text) &&
    /^[\p{Lu}\p{Lo}([“"«¿]/u.test(after)
  )
}

const RUN_IN = new Set(['b', 'strong', 'span'])
const SECTION_NUMBER = /^[^\d]*\d[\w.°º-]*\s*[.:—–-]+$/
const LINE_CHARACTERS_MAX = 200
/** Divisions of an act by the words of classes, and their ranks: between headings of the page and provisions. */
const DIVISION_CLASSES = ['division', 'title', 'subtitle', 'chapter', 'subchapter', 'part', 'subpart', 'header']
const DIVISION_CLASS = /(division|subtitle|title|subchapter|chapter|subpart|part|header)-?(?:level|head|approp)/i

/** The rank of a line that is the heading of a division, by its class. */
function divisionOf(element: MarkupElement): number | undefined {
  if (element.name !== 'p' && element.name !== 'div') return undefined
  const [only, more] = element.children.filter((child) => child.kind === 'element' || child.value.trim() !== '')
  const classes = `${attribute(element, 'class') ?? ''} ${more === undefined && only?.kind === 'element' ? (attribute(only, 'class') ?? '') : ''}`
  const word = DIVISION_CLASS.exec(classes)?.[1]
  const text = word === undefined ? undefined : textOf(element)
  if (word === undefined || text === undefined || text.length > LINE_CHARACTERS_MAX) return undefined
  return 7 + DIVISION_CLASSES.indexOf(foldKey(word)) / 10
}

/** Its own, that of an empty link before it, or that of the nearest element around that holds nothing before it. */
function anchorOf(heading: MarkupElement): string | undefined {
  const own = attribute(heading, 'id') ?? attribute(firstNamed(heading, 'a'), 'id', 'name')
  if (own !== undefined) return own
  const { parent } = heading
  if (parent === undefined) return undefined
  // What stands before decides at its first element that is no link, however many follow.
  let named: MarkupElement | undefined
  for (const child of parent.children) {
    if (child === heading) break
    if (child.kind === 'text') continue
    if (child.name !== 'a') return undefined
    if (textOf(child) === undefined) named ??= child
  }
  if (heading.place > 1) return attribute(named, 'id', 'name')
  return parent.name === 'body' ? undefined : attribute(parent, 'id')
}

const FORM_CHARACTERS_MAX = 2_000

/** Some servers put the whole page into one form. */
function holdsLaw(form: MarkupElement): boolean {
  return holdsHeadings(form) || (textOf(form)?.length ?? 0) > FORM_CHARACTERS_MAX
}

function holdsHeadings(element: MarkupElement): boolean {
  return firstNamed(element, 'h1', 'h2', 'h3', 'h4', 'h5', 'h6') !== undefined
}

function bulletOf(item: MarkupElement): string {
  if (item.parent?.name !== 'ol') return '-'
  const marks = MARKS.get(item.parent) ?? marksOf(item.parent)
  MARKS.set(item.parent, marks)
  return marks.get(item) ?? ''
}

/** Marks of the items of a list, which are counted once a list. */
const MARKS = new WeakMap<MarkupElement, ReadonlyMap<MarkupElement, string>>()

function marksOf(list: MarkupElement): ReadonlyMap<MarkupElement, string> {
  const items = childrenNamed(list, 'li')
  const step = list.attributes.has('reversed') ? -1 : 1
  const style = listStyleOf(list)
  const [, reset] = /list-item(-?\d+)/.exec(stylesOf(list).get('counter-reset') ?? '') ?? []
  const start = reset ? Number(reset) + 1 : Number(attribute(list, 'start') ?? (step === 1 ? 1 : items.length))
  let count = (Number.isSafeInteger(start) ? start : 1) - step
  return new Map(
    items.map((item) => {
      const stated = Number(attribute(item, 'value') ?? Number.NaN)
      count = Number.isSafeInteger(stated) ? stated : count + step
      const type = listStyleOf(item) ?? attribute(item, 'type') ?? style ?? attribute(list, 'type')
      return [item, type === 'none' ? '' : `${counted(count, type)}.`]
    }),
  )
}

/** The style of the marks of a list. */
function listStyleOf(element: MarkupElement): string | undefined {
  const styles = stylesOf(element)
  const stated = styles.get('list-style-type') ?? styles.get('list-style')?.replace(/inside|outside|url\(.*\)/, '')
  return stated === undefined ? undefined : LIST_STYLES.get(stated.replace('!important', ''))
}

const LIST_STYLES: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.list_styles))

export function pageFields({ tree: { root } }: ReadTree): DocumentFields {
  const head = firstNamed(root, 'head')
  const all = head === undefined ? [] : [...descendants(head)]
  const link = all.find((each) => each.name === 'link' && attribute(each, 'rel') === 'canonical')
  const meta = (...names: readonly string[]): string | undefined =>
    attribute(
      all.find((each) => each.name === 'meta' && names.includes(foldKey(attribute(each, 'name', 'property') ?? ''))),
      'content',
    )
  const url = attribute(link, 'href') ?? meta('og:url')
  return {
    title: textOf(firstNamed(root, 'h1')) ?? textOf(firstNamed(head, 'title')) ?? meta('dc.title', 'og:title'),
    identifier: url,
    language: languageTag(attribute(root, 'lang') ?? meta('dc.language', 'language', 'wt.z_usr_lan')),
    authority: meta('dc.publisher', 'publisher'),
    url: url !== undefined && /^https?:/.test(url) ? url : undefined,
  }
}
