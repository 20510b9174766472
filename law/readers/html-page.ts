import { foldKey } from '#core/identity/fold.ts'
import { attribute, placeAmongNamed, descendants, elementsOf, firstNamed, textOf, type MarkupElement } from './tree.ts'
import { languageTag, type MarkupFormat, type ReadTree } from './format.ts'
import type { DocumentFields } from './document.ts'
import { parseHtml } from './html.ts'
import { lead, LOWERED, METADATA, omitted, RAISED, rolesByName, type Role, type Roles } from './roles.ts'
import { wordsCitation } from './words-citation.ts'

const ROLES = rolesByName(
  [
    { is: 'block' },
    'p div section article main aside header footer blockquote dl dd ul ol table caption figure figcaption details summary fieldset address center body html hr thead tbody tfoot',
  ],
  [
    omitted('script, style or form'),
    'script style template svg noscript iframe object button form select input math-error',
  ],
  [startOf, 'h1 h2 h3 h4 h5 h6'],
  [METADATA, 'head'],
  [(each) => (holdsHeadings(each) ? { is: 'block' } : omitted('navigation')), 'nav'],
  [(each) => ({ is: 'item', mark: bulletOf(each) }), 'li'],
  // A number is in the line of its text.
  [(each) => ((textOf(each)?.length ?? 0) <= DT_NUMBER_CHARACTERS_MAX ? lead() : { is: 'block' }), 'dt'],
  [{ is: 'row' }, 'tr'],
  [{ is: 'cell' }, 'td th'],
  [{ is: 'break' }, 'br'],
  [{ is: 'lines' }, 'pre'],
  [RAISED, 'sup'],
  [LOWERED, 'sub'],
)
const DT_NUMBER_CHARACTERS_MAX = 8

/** A web page: its headings are its structure. */
export const HTML: MarkupFormat = {
  format: 'html',
  parse: parseHtml,
  recognises: ({ kind }) => kind === 'html',
  roles: ({ tree }) => createPageRoles(tree.root),
  fields: pageFields,
  cite: (provision, fields) => wordsCitation(provision, fields),
}

/** On a page of law, headings with the number of a provision begin provisions; one such heading may be a title. */
function createPageRoles(root: MarkupElement): Roles {
  const numbered = [...descendants(root)].filter(isProvisionHeading)
  if (numbered.length < 2) return pageRole
  const links = linksBefore(new Set(numbered))
  return (element) => {
    if (links.has(element)) return omitted('navigation')
    const role = pageRole(element)
    return role.is === 'start' && isProvisionHeading(element) ? { ...role, kind: 'section', level: 'passage' } : role
  }
}

function isProvisionHeading(element: MarkupElement): boolean {
  return /^h[2-6]$/.test(element.name) && SECTION.test(textOf(element) ?? '')
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

/** What an element of any page is. */
export function pageRole(element: MarkupElement): Role {
  if (isSectionLine(element))
    return { is: 'start', kind: 'section', level: 'passage', rank: 8, anchor: anchorOf(element), names: 'heading' }
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
  if (text === undefined || text.length > 200 || !SECTION.test(text)) return false
  return element.children.every((child) =>
    child.kind === 'text' ? child.value.trim() === '' : textOf(child) === undefined || isStrong(child),
  )
}

function isStrong(element: MarkupElement): boolean {
  return (
    ['b', 'strong'].includes(element.name) ||
    /section-?(?:level|head|title|num)/i.test(attribute(element, 'class') ?? '')
  )
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

function holdsHeadings(element: MarkupElement): boolean {
  return firstNamed(element, 'h1', 'h2', 'h3', 'h4', 'h5', 'h6') !== undefined
}

function bulletOf(item: MarkupElement): string {
  if (item.parent?.name !== 'ol') return '-'
  const stated = Number(attribute(item, 'value') ?? Number.NaN)
  if (Number.isSafeInteger(stated)) return `${stated}.`
  const first = Number(attribute(item.parent, 'start') ?? 1)
  const place = placeAmongNamed(item)
  return `${(Number.isSafeInteger(first) ? first : 1) + place}.`
}

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
