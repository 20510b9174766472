import { attribute, childNamed, firstNamed, textOf, type MarkupElement } from './tree.ts'
import { cfrCitation, DIVISIONS, emphasis } from './cfr-citation.ts'
import { dated, dayIn, dayInWords, isWithin, type MarkupFormat, type ReadTree } from './format.ts'
import { lead, type Role } from './roles.ts'
import NAMES from './names/cfr.json' with { type: 'json' }
import { formatOf } from './vocabulary.ts'
import { parseXml } from './xml.ts'

const { roles: ROLES, vocabulary: VOCABULARY } = formatOf(
  NAMES,
  [DIVISIONS.keys()],
  [(each) => ({ is: 'unit', kind: 'section', level: 'passage', anchor: numberOf(each) }), 'SECTION'],
  [{ is: 'unit', kind: 'appendix', level: 'passage' }, 'APPENDIX'],
  [({ parent }) => ({ is: parent?.name === 'SECTION' ? 'heading' : 'block' }), 'SUBJECT'],
  [({ parent }) => ({ is: isDivision(parent) ? 'heading' : 'block' }), 'RESERVED'],
  [headRole, 'HD'],
  [lead('', ' '), 'HED'],
  [emphasis, 'E'],
)

/** The annual Code of Federal Regulations (CFR XML of govinfo: CFRDOC, and granules of it). */
export const CFR: MarkupFormat = {
  format: 'cfr',
  parse: parseXml,
  recognises: ({ kind, root }) => kind === 'xml' && /^(?:CFRDOC|CFRGRANULE|CFRMERGEDXML)$/i.test(root),
  vocabulary: () => VOCABULARY,
  roles: () => roleOf,
  fields: fieldsOf,
  cite: cfrCitation,
}

function roleOf(element: MarkupElement): Role {
  const { name } = element
  const kind = DIVISIONS.get(name)
  if (kind !== undefined && element.parent !== undefined && !isWithin(element, 'FMTR', 'FDSYS'))
    return { is: 'unit', kind, level: 'division' }
  return ROLES(element) ?? { is: 'block' }
}

function headRole(element: MarkupElement): Role {
  const { parent } = element
  if (['AUTH', 'SOURCE', 'EDNOTE'].includes(parent?.name ?? '')) return lead('', ' ')
  return { is: isDivision(parent) && attribute(element, 'SOURCE') === 'HED' ? 'heading' : 'block' }
}

function isDivision(element: MarkupElement | undefined): boolean {
  return element !== undefined && (DIVISIONS.has(element.name) || ['SECTION', 'APPENDIX'].includes(element.name))
}

function numberOf(section: MarkupElement): string | undefined {
  return textOf(firstNamed(section, 'SECTNO'))?.replaceAll(/[§\s]/gu, '')
}

function fieldsOf({ tree: { root } }: ReadTree): ReturnType<MarkupFormat['fields']> {
  const page = firstNamed(root, 'TITLEPG')
  const number = /\d+/.exec(
    textOf(firstNamed(page, 'TITLENUM')) ?? textOf(firstNamed(root, 'CFRTITLE', 'TITLENUM')) ?? '',
  )?.[0]
  const parts = ['TITLENUM', 'SUBJECT', 'PARTS'].map((name) => textOf(firstNamed(page, name)))
  const revised =
    dayInWords(textOf(firstNamed(root, 'REVISED')) ?? textOf(firstNamed(page, 'DATE'))) ??
    dayIn(textOf(childNamed(childNamed(root, 'FDSYS'), 'DATE')))
  const date = dated(revised, 'amendment-date')
  return {
    title: parts.filter((part) => part !== undefined).join(' ') || textOf(firstNamed(root, 'HD')),
    identifier: number === undefined ? undefined : `${number} CFR`,
    language: 'en',
    jurisdiction: 'US',
    url: number === undefined ? undefined : `https://www.ecfr.gov/current/title-${number}`,
    publishedAt: date,
    effectiveFrom: date,
  }
}
