import { attribute, childNamed, firstNamed, textOf } from './tree.ts'
import type { MarkupElement } from './tree.ts'
import { cfrCitation, emphasis } from './cfr-citation.ts'
import { dayIn, dayInWords, isWithin } from './format.ts'
import type { MarkupFormat, ReadTree } from './format.ts'
import type { Role } from './roles.ts'
import { parseXml } from './xml.ts'

const DIVISIONS: ReadonlyMap<string, string> = new Map([
  ['TITLE', 'title'],
  ['SUBTITLE', 'subtitle'],
  ['CHAPTER', 'chapter'],
  ['SUBCHAP', 'subchapter'],
  ['PART', 'part'],
  ['SUBPART', 'subpart'],
  ['SUBJGRP', 'subject group'],
])
const INLINE = new Set('I B FR FTREF AC PSPACE MID URL ENT'.split(' '))
const CONTENTS = new Set('TOC CFRTOC CONTENTS SECHD PGHD LOF TOCHD'.split(' '))
const RUNNING = new Set('PRTPAGE LRH RRH EAR PG'.split(' '))
const FRONT = new Set('FMTR TITLEPG BTITLE EXPL EXPLA OENOTICE THISTITL ALPHLIST'.split(' '))

/** The annual Code of Federal Regulations (CFR XML of govinfo: CFRDOC, and granules of it). */
export const CFR: MarkupFormat = {
  format: 'cfr',
  parse: parseXml,
  recognises: ({ kind, root }) => kind === 'xml' && /^(?:CFRDOC|CFRGRANULE|CFRMERGEDXML)$/i.test(root),
  roles: () => roleOf,
  fields: fieldsOf,
  cite: cfrCitation,
}

function roleOf(element: MarkupElement): Role {
  const { name } = element
  const kind = DIVISIONS.get(name)
  if (kind !== undefined && element.parent !== undefined && !isWithin(element, 'FMTR', 'FDSYS'))
    return { is: 'unit', kind, level: 'division' }
  if (CONTENTS.has(name)) return { is: 'omit', rule: 'table of contents' }
  if (RUNNING.has(name)) return { is: 'omit', rule: 'page number or running head' }
  if (FRONT.has(name)) return { is: 'omit', rule: 'front matter of the volume' }
  switch (name) {
    case 'AMDDATE':
    case 'FDSYS':
    case 'GID':
      return { is: 'omit', rule: 'metadata' }
    case 'FAIDS':
    case 'BMTR':
    case 'INDEX':
      return { is: 'omit', rule: 'finding aids of the volume' }
    case 'SECTION':
      return { is: 'unit', kind: 'section', level: 'passage', anchor: numberOf(element) }
    case 'APPENDIX':
      return { is: 'unit', kind: 'appendix', level: 'passage' }
    case 'SECTNO':
      return { is: 'label' }
    case 'SUBJECT':
      return { is: element.parent?.name === 'SECTION' ? 'heading' : 'block' }
    case 'RESERVED':
      return { is: isDivision(element.parent) ? 'heading' : 'block' }
    case 'HD':
      if (['AUTH', 'SOURCE', 'EDNOTE'].includes(element.parent?.name ?? ''))
        return { is: 'marked', before: '', after: ' ', label: true }
      return { is: isDivision(element.parent) && attribute(element, 'SOURCE') === 'HED' ? 'heading' : 'block' }
    case 'HED':
      return { is: 'marked', before: '', after: ' ', label: true }
    case 'SU':
      return { is: 'marked', before: '^', after: '' }
    case 'E':
      return emphasis(element)
    case 'ROW':
    case 'BOXHD':
      return { is: 'row' }
    case 'CHED':
    case 'ENT':
      return { is: 'cell' }
    default:
      return { is: INLINE.has(name) ? 'inline' : 'block' }
  }
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
  const date = revised === undefined ? undefined : ({ day: revised, rule: 'amendment-date' } as const)
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
