import { attribute, at, childNamed, firstNamed, textOf, type MarkupElement } from './tree.ts'
import { dated, dayIn, nearest, type CitedProvision, type MarkupFormat, type ReadTree } from './format.ts'
import type { Citation, DocumentFields } from './document.ts'
import { omitted, type Role } from './roles.ts'
import NAMES from './names/regml.json' with { type: 'json' }
import { formatOf } from './vocabulary.ts'
import { parseXml } from './xml.ts'

const { roles: ROLES, vocabulary: VOCABULARY } = formatOf(
  NAMES,
  [],
  [divisionOf, 'part subpart appendix interpretations'],
  [{ is: 'unit', kind: 'analysis', level: 'division', heading: 'Section-by-section analysis' }, 'analysis'],
  [sectionOf, 'section appendixSection interpSection'],
  [{ is: 'unit', kind: 'analysisSection', level: 'passage' }, 'analysisSection'],
  [paragraphOf, 'paragraph interpParagraph'],
  [
    ({ parent }) => ({ is: parent?.name === 'content' ? 'inline' : 'heading' }),
    'subject title appendixTitle subpartTitle',
  ],
  [({ parent }) => (parent?.name === 'graphic' ? omitted('address of an image') : { is: 'inline' }), 'text url thumb'],
)

/** RegML of the Consumer Financial Protection Bureau (namespace `eregs`). */
export const REGML: MarkupFormat = {
  format: 'regml',
  parse: parseXml,
  recognises: ({ kind, root, tag }) =>
    kind === 'xml' && (root === 'regulation' || root === 'notice') && /["']eregs["']/.test(tag),
  vocabulary: () => VOCABULARY,
  roles: () => (element) => ROLES(element) ?? { is: 'inline' },
  fields: fieldsOf,
  cite: citationOf,
}

function divisionOf(element: MarkupElement): Role {
  const { name } = element
  const letter = attribute(element, 'appendixLetter', 'subpartLetter')
  const label = letter === undefined ? undefined : `${name === 'appendix' ? 'Appendix' : 'Subpart'} ${letter}`
  return { is: 'unit', kind: name, level: 'division', anchor: attribute(element, 'label'), label }
}

function sectionOf(element: MarkupElement): Role {
  return { is: 'unit', kind: element.name, level: 'passage', anchor: attribute(element, 'label') }
}

function paragraphOf(element: MarkupElement): Role {
  const [anchor, label] = [attribute(element, 'label'), attribute(element, 'marker')]
  return { is: 'unit', kind: element.name, level: 'part', anchor, label }
}

function fieldsOf({ tree: { root } }: ReadTree): DocumentFields {
  const [fdsys, preamble] = [childNamed(root, 'fdsys'), childNamed(root, 'preamble')]
  const title = textOf(childNamed(fdsys, 'cfrTitleNum')) ?? textOf(at(preamble, 'cfr', 'title'))
  const part = attribute(firstNamed(root, 'part'), 'label') ?? textOf(at(preamble, 'cfr', 'section'))
  return {
    title: textOf(childNamed(fdsys, 'title')),
    identifier: title === undefined || part === undefined ? undefined : `${title} CFR Part ${part}`,
    language: 'en',
    jurisdiction: 'US',
    authority: textOf(childNamed(preamble, 'agency')),
    url: textOf(childNamed(preamble, 'federalRegisterURL')),
    publishedAt: dated(dayIn(textOf(childNamed(fdsys, 'date')))),
    effectiveFrom: dated(dayIn(textOf(childNamed(preamble, 'effectiveDate')))),
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
