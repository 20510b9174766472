import { attribute, at, childNamed, firstNamed, textOf } from './tree.ts'
import type { MarkupElement } from './tree.ts'
import { dayIn, nearest } from './format.ts'
import type { CitedProvision, MarkupFormat, ReadTree } from './format.ts'
import type { Citation, DocumentFields } from './document.ts'
import type { Role } from './roles.ts'
import { parseXml } from './xml.ts'

const BLOCKS = new Set('content analysisParagraph analysisHeader dash def-list callout line'.split(' '))

/** RegML of the Consumer Financial Protection Bureau (namespace `eregs`). */
export const REGML: MarkupFormat = {
  format: 'regml',
  parse: parseXml,
  recognises: ({ kind, root, tag }) =>
    kind === 'xml' && (root === 'regulation' || root === 'notice') && /["']eregs["']/.test(tag),
  roles: () => roleOf,
  fields: fieldsOf,
  cite: citationOf,
}

function roleOf(element: MarkupElement): Role {
  const { name, parent } = element
  const anchor = attribute(element, 'label')
  switch (name) {
    case 'fdsys':
    case 'preamble':
    case 'changeset':
      return { is: 'omit', rule: 'metadata' }
    case 'tableOfContents':
      return { is: 'omit', rule: 'table of contents' }
    case 'part':
    case 'subpart':
    case 'appendix':
    case 'interpretations':
      return { is: 'unit', kind: name, level: 'division', anchor, label: labelOf(element) }
    case 'analysis':
      return { is: 'unit', kind: name, level: 'division', heading: 'Section-by-section analysis' }
    case 'section':
    case 'appendixSection':
    case 'interpSection':
      return { is: 'unit', kind: name, level: 'passage', anchor }
    case 'analysisSection':
      return { is: 'unit', kind: name, level: 'passage' }
    case 'paragraph':
    case 'interpParagraph':
      return { is: 'unit', kind: name, level: 'part', anchor, label: attribute(element, 'marker') }
    case 'subject':
    case 'title':
    case 'appendixTitle':
    case 'subpartTitle':
      return { is: parent?.name === 'content' ? 'inline' : 'heading' }
    case 'footnote':
      return { is: 'note' }
    case 'text':
    case 'url':
    case 'thumb':
      return parent?.name === 'graphic' ? { is: 'omit', rule: 'address of an image' } : { is: 'inline' }
    case 'row':
      return { is: 'row' }
    case 'cell':
    case 'column':
      return { is: 'cell' }
    default:
      return { is: BLOCKS.has(name) ? 'block' : 'inline' }
  }
}

function labelOf(element: MarkupElement): string | undefined {
  const letter = attribute(element, 'appendixLetter', 'subpartLetter')
  return letter === undefined ? undefined : `${element.name === 'appendix' ? 'Appendix' : 'Subpart'} ${letter}`
}

function fieldsOf({ tree: { root } }: ReadTree): DocumentFields {
  const [fdsys, preamble] = [childNamed(root, 'fdsys'), childNamed(root, 'preamble')]
  const title = textOf(childNamed(fdsys, 'cfrTitleNum')) ?? textOf(at(preamble, 'cfr', 'title'))
  const part = attribute(firstNamed(root, 'part'), 'label') ?? textOf(at(preamble, 'cfr', 'section'))
  const published = dayIn(textOf(childNamed(fdsys, 'date')))
  const from = dayIn(textOf(childNamed(preamble, 'effectiveDate')))
  return {
    title: textOf(childNamed(fdsys, 'title')),
    identifier: title === undefined || part === undefined ? undefined : `${title} CFR Part ${part}`,
    language: 'en',
    jurisdiction: 'US',
    authority: textOf(childNamed(preamble, 'agency')),
    url: textOf(childNamed(preamble, 'federalRegisterURL')),
    publishedAt: published === undefined ? undefined : { day: published },
    effectiveFrom: from === undefined ? undefined : { day: from },
  }
}

function citationOf(provision: CitedProvision, { identifier = '', title }: DocumentFields): Citation {
  const [, number = '', part = ''] = /^(\d+) CFR Part (\w+)/.exec(identifier) ?? []
  const document = {
    document: `${number}-cfr-${part}`,
    title: `${title ?? ''} (${identifier})`,
    act: `cfr:${number}/${part}`,
  }
  const section = nearest(provision, 'section')
  const own = /^\w+-(\w+)$/.exec(section?.anchor ?? '')?.[1]
  if (own !== undefined) {
    const reference = `${number} CFR ${part}.${own}`
    return { ...document, label: reference, reference }
  }
  const letter = /^\w+-([A-Z]{1,2})\b/.exec(nearest(provision, 'appendix')?.anchor ?? '')?.[1]
  const heading =
    [provision.heading, ...provision.around.map((each) => each.heading)].find((each) => each !== '') ?? provision.kind
  if (letter !== undefined) {
    const reference = `${identifier}, Appendix ${letter}`
    return {
      ...document,
      label: `${reference}${provision.heading === '' ? '' : `, ${provision.heading}`}`.slice(0, 300),
      reference,
    }
  }
  const place = nearest(provision, 'interpretations') === undefined ? '' : ', Supplement I'
  return { ...document, label: `${identifier}${place}, ${heading}`.slice(0, 300) }
}
