import { attribute, childNamed, firstNamed, textOf } from './tree.ts'
import type { MarkupElement } from './tree.ts'
import { cfrCitation } from './cfr-citation.ts'
import type { Citation, DocumentFields } from './document.ts'
import { dayIn, languageTag, nearest } from './format.ts'
import type { CitedProvision, MarkupFormat, ReadTree } from './format.ts'
import type { Role } from './roles.ts'
import { parseXml } from './xml.ts'

const DIVISIONS = new Set(
  'title subtitle chapter subchapter part subpart division subdivision article subarticle appendix preliminary compiledAct courtRules courtRule reorganizationPlans reorganizationPlan schedule'.split(
    ' ',
  ),
)
const PARTS = new Set(
  'subsection paragraph subparagraph clause subclause item subitem subsubitem level listItem'.split(' '),
)
const BLOCKS = new Set(
  'p chapeau content continuation sourceCredit authority source editorialNote organizationNote explanationNote block signature signatures name role affiliation crossHeading figure caption list listContent proviso quotedText longTitle officialTitle enactingFormula recital approvedDate property ear header listHeading formula div docTitle'.split(
    ' ',
  ),
)
const RUNNING = new Set('leftRunningHead rightRunningHead endMarker page ear layout'.split(' '))

/** United States Legislative Markup, schemas 1 (uscode.house.gov) and 2 (govinfo). */
export const USLM: MarkupFormat = {
  format: 'uslm',
  parse: parseXml,
  recognises: ({ kind, tag }) =>
    kind === 'xml' && /schemas\.gpo\.gov\/xml\/uslm|xml\.house\.gov\/schemas\/uslm/.test(tag),
  roles: () => roleOf,
  fields: fieldsOf,
  cite: citationOf,
}

function roleOf(element: MarkupElement, { quoted }: { readonly quoted: boolean }): Role {
  const { name } = element
  if (RUNNING.has(name)) return { is: 'omit', rule: 'page number or running head' }
  if (!quoted && isUnit(element)) return unitOf(element)
  switch (name) {
    case 'meta':
      return { is: 'omit', rule: 'metadata' }
    case 'preface':
    case 'backMatter':
      return element.parent?.name === 'cfrDoc' ? { is: 'omit', rule: 'front matter of the volume' } : { is: 'block' }
    case 'toc':
    case 'index':
      return { is: 'omit', rule: 'table of contents' }
    case 'num':
      return { is: 'label' }
    case 'heading':
    case 'subheading':
      return headingOf(element)
    case 'footnote':
      return { is: 'note' }
    case 'quotedContent':
      return { is: 'quote' }
    case 'tr':
    case 'row':
      return { is: 'row' }
    case 'td':
    case 'th':
    case 'column':
    case 'entry':
      return { is: 'cell' }
    case 'sup':
      return { is: 'marked', before: '^', after: '' }
    case 'br':
      return { is: 'break' }
    default:
      return { is: isBlock(element, quoted) ? 'block' : 'inline' }
  }
}

/** The heading of what is no provision (`Authority:`) stands in its text. */
function headingOf({ parent }: MarkupElement): Role {
  if (parent !== undefined && (isUnit(parent) || ['note', 'notes', 'quotedContent'].includes(parent.name)))
    return { is: 'heading' }
  return ['authority', 'source', 'editorialNote'].includes(parent?.name ?? '')
    ? { is: 'marked', before: '', after: ' ', label: true }
    : { is: 'break' }
}

function isUnit({ name }: MarkupElement): boolean {
  return name === 'section' || name === 'notes' || name === 'note' || DIVISIONS.has(name) || PARTS.has(name)
}

function isBlock({ name }: MarkupElement, quoted: boolean): boolean {
  return BLOCKS.has(name) || (quoted && (PARTS.has(name) || DIVISIONS.has(name) || ['section', 'note'].includes(name)))
}

function unitOf(element: MarkupElement): Role {
  const { name } = element
  const anchor = attribute(element, 'identifier', 'id')
  if (attribute(element, 'type') === 'footnote') return { is: 'note' }
  if (name === 'notes' || name === 'note') return { is: 'unit', kind: 'note', level: 'passage', anchor, quoted: true }
  if (name === 'section') return { is: 'unit', kind: 'section', level: 'passage', anchor }
  if (PARTS.has(name)) return { is: 'unit', kind: name, level: 'part', anchor }
  return { is: 'unit', kind: name, level: 'division', anchor }
}

function fieldsOf({ tree: { root } }: ReadTree): DocumentFields {
  const meta = childNamed(root, 'meta')
  const main = childNamed(root, 'main')
  const isCfr = root.name === 'cfrDoc'
  const stated = textOf(firstNamed(meta, 'title'))
  const heading = textOf(childNamed(firstNamed(main, 'title', 'appendix'), 'heading'))
  const number = textOf(childNamed(meta, 'docNumber'))
  const released = dayIn(textOf(childNamed(meta, 'docReleasePoint')))
  const made = dayIn(textOf(childNamed(meta, 'created')) ?? textOf(childNamed(meta, 'processedDate')))
  const approved = dayIn(
    attribute(
      firstNamed(root, 'approvedDate')?.children.find((child) => child.kind === 'element'),
      'date',
    ),
  )
  const published = approved ?? released ?? made
  const rule = approved !== undefined ? 'enactment' : released !== undefined ? 'amendment-date' : 'processed'
  const date = published === undefined ? undefined : ({ day: published, rule } as const)
  return {
    title: isCfr || heading === undefined ? stated : `${stated ?? ''}—${heading}`,
    identifier:
      attribute(root, 'identifier') ??
      attribute(firstNamed(main, 'title'), 'identifier') ??
      (isCfr && number !== undefined ? `${number} CFR` : stated),
    language: languageTag(attribute(root, 'lang') ?? textOf(firstNamed(meta, 'language'))) ?? 'en',
    jurisdiction: 'US',
    authority: textOf(childNamed(meta, 'creator'))?.match(/^(?:Office|House|Senate|U\.S\.)[\w .]*$/)?.[0],
    url: urlOf(attribute(root, 'identifier') ?? (isCfr ? `/us/cfr/t${number}` : '')),
    publishedAt: date,
    effectiveFrom: date,
  }
}

function urlOf(identifier: string): string | undefined {
  const [, code, title] = /^\/us\/(usc|cfr)\/t(\w+)/.exec(identifier) ?? []
  if (code === 'usc') return `https://uscode.house.gov/view.xhtml?req=granuleid:USC-prelim-title${title}`
  if (code === 'cfr') return `https://www.ecfr.gov/current/title-${title}`
  const [, congress, law] = /^\/us\/pl\/(\d+)\/(\d+)/.exec(identifier) ?? []
  return congress === undefined ? undefined : `https://www.govinfo.gov/link/plaw/${congress}/public/${law}`
}

function citationOf(provision: CitedProvision, fields: DocumentFields): Citation {
  if (/\bCFR\b/.test(fields.identifier ?? '')) return cfrCitation(provision, fields)
  const section = nearest(provision, 'section')
  const [, title, number] = /^\/us\/usc\/t(\w+)\/s([^/]+)/.exec(section?.anchor ?? '') ?? []
  const known = title ?? /^\/us\/usc\/t(\w+)/.exec(fields.identifier ?? '')?.[1]
  const words =
    provision.label === '' && provision.heading === '' ? provision.kind : `${provision.label} ${provision.heading}`
  if (known === undefined) return { label: `${fields.title ?? ''}, ${words.trim()}`.slice(0, 300) }
  const act = `usc:${known.replace(/^0+/, '')}`
  if (section === undefined || number === undefined)
    return { label: `${known} U.S.C., ${words.trim()}`.slice(0, 300), act }
  const reference = `${known} U.S.C. ${number}`
  return { label: provision.kind === 'note' ? `${reference} note` : reference, act, reference }
}
