import { attribute, childNamed, firstNamed, textOf, type MarkupElement } from './tree.ts'
import { cfrCitation, DIVISIONS, emphasis } from './cfr-citation.ts'
import { dated, dayIn, dayInWords, isWithin, type MarkupFormat, type ReadTree } from './format.ts'
import { CONTENTS, lead, METADATA, omitted, RAISED, rolesByName, type Role } from './roles.ts'
import NAMES from './names/cfr.json' with { type: 'json' }
import { vocabularyOf } from './vocabulary.ts'
import { parseXml } from './xml.ts'

const ROLES = rolesByName(
  [METADATA, 'AMDDATE FDSYS GID'],
  [CONTENTS, 'TOC CFRTOC CONTENTS SECHD PGHD LOF TOCHD'],
  [omitted('page number or running head'), 'PRTPAGE LRH RRH EAR PG'],
  [omitted('front matter of the volume'), 'FMTR TITLEPG BTITLE EXPL EXPLA OENOTICE THISTITL ALPHLIST'],
  [omitted('finding aids of the volume'), 'FAIDS BMTR INDEX'],
  [(each) => ({ is: 'unit', kind: 'section', level: 'passage', anchor: numberOf(each) }), 'SECTION'],
  [{ is: 'unit', kind: 'appendix', level: 'passage' }, 'APPENDIX'],
  [{ is: 'label' }, 'SECTNO'],
  [({ parent }) => ({ is: parent?.name === 'SECTION' ? 'heading' : 'block' }), 'SUBJECT'],
  [({ parent }) => ({ is: isDivision(parent) ? 'heading' : 'block' }), 'RESERVED'],
  [headRole, 'HD'],
  [lead('', ' '), 'HED'],
  [RAISED, 'SU'],
  [emphasis, 'E'],
  [{ is: 'row' }, 'ROW BOXHD'],
  [{ is: 'cell' }, 'CHED ENT'],
  [{ is: 'inline' }, 'I B FR FTREF AC PSPACE MID URL'],
)

const VOCABULARY = vocabularyOf({
  elements: [ROLES.names, DIVISIONS.keys(), NAMES.elements],
  apart: 'FDSYS',
  out: { struck: 'del s strike DEL S STRIKE' },
})

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
