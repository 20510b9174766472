import { attribute, childNamed, descendants, elementsOf, firstNamed, textOf } from './tree.ts'
import type { MarkupElement } from './tree.ts'
import { addressOf, celexOf, instrumentIn, isCorrigendum } from './celex.ts'
import { dayIn, endIn, isWithin, languageTag } from './format.ts'
import type { MarkupFormat, ReadTree } from './format.ts'
import type { DocumentFields, ReaderWarning } from './document.ts'
import { applicationIn, euCitation } from './eu-citation.ts'
import { formulaRole } from './formex-formula.ts'
import type { Role } from './roles.ts'
import { parseXml } from './xml.ts'

const ROOTS = new Set(
  'ACT CONS.ACT CONS.OTH CONS.ANNEX ANNEX AGR LETTER PROT FINAL DECISION RECOMMENDATION CORR CJT CASE OPINION GENERAL DOC PUBLICATION LEXP.COMBINED NOTICE'.split(
    ' ',
  ),
)
const METADATA =
  /^(?:BIB\..+|INFO\.(?:CONSLEG|PROD)|FAM\.COMP|FAM\.COMP\.CL|DOCUMENT\.REF.*|PUBLICATION\.REF|FMX|PAPER|PDF|OJ|VOLUME|GR\.MOD\.ACT|GR\.CORRIG|PROD\.ID|FIN\.ID|INCL\.ELEMENT|INCLUSIONS)$/
const INLINE = new Set(
  'HT DATE FT TXT REF.DOC REF.DOC.OJ REF.DOC.SE REF.CONSOLID IE ARTICLES ACRONYM ADDR.S ANNOTATION.REF GR.CONSID GR.VISA ENACTING.TERMS CONTENTS CORPUS CONS.DOC CONS.DOC.SUBDOC ACT CONS.ACT TERM DEFINITION PREFIX BR QUOT.S.IN'.split(
    ' ',
  ),
)

/** Formex 4 to 6 of the Publications Office: acts of the Official Journal and consolidated acts. */
export const FORMEX: MarkupFormat = {
  format: 'formex',
  parse: parseXml,
  recognises: ({ kind, root, head }) =>
    kind === 'xml' &&
    (/formex\.publications\.europa\.eu|opoce\/formex/i.test(head.slice(0, 4_000)) ||
      (ROOTS.has(root) && /<(?:BIB\.|INFO\.CONSLEG|WORK>|EXPRESSION)/.test(head))),
  roles: () => roleOf,
  fields: fieldsOf,
  cite: euCitation,
  warnings: warningsOf,
}

/** Files that describe an act and hold no text of it. */
const DESCRIPTIONS: ReadonlyMap<string, string> = new Map([
  ['NOTICE', 'a notice of EUR-Lex: metadata without the text of the act'],
  ['DOC', 'the wrapper of a publication: it names the files that hold the text'],
  ['PUBLICATION', 'the contents of an issue of the Official Journal: it names the files that hold the text'],
])

function roleOf(element: MarkupElement, { quoted }: { readonly quoted: boolean }): Role {
  const { name, parent } = element
  if (parent === undefined && DESCRIPTIONS.has(name)) return { is: 'omit', rule: 'metadata' }
  if (METADATA.test(name) || (name === 'NOTE' && parent?.name === 'INFO.CONSLEG'))
    return { is: 'omit', rule: 'metadata' }
  const unit = quoted ? undefined : unitOf(element)
  if (unit !== undefined) return unit
  const formula = formulaRole(element)
  if (formula !== undefined) return formula
  switch (name) {
    case 'TOC':
    case 'TOC.BLK':
      return { is: 'omit', rule: 'table of contents' }
    case 'TI.ART':
    case 'NO.PARAG':
      return { is: 'label' }
    case 'NO.P':
      return numberRole(element)
    case 'NP':
      return { is: NUMBERED.has(parent?.name ?? '') ? 'inline' : 'block' }
    case 'TERM':
      return { is: 'marked', before: '', after: '', label: true }
    case 'STI.ART':
    case 'TI.CJT':
      return { is: 'heading' }
    case 'TI':
    case 'STI':
      return { is: isWithin(element, 'TBL') ? 'block' : 'heading' }
    case 'DESCRIPTION':
      return { is: parent?.name === 'CORRECTION' ? 'heading' : 'block' }
    case 'OLD.CORR':
    case 'NEW.CORR':
      return { is: 'quote' }
    case 'TITLE':
    case 'TI.BLK':
    case 'STI.BLK':
      return { is: parent !== undefined && isTitled(parent) ? 'inline' : 'block' }
    case 'NOTE':
      return noteRole(element)
    case 'QUOT.S':
      return { is: 'quote' }
    case 'QUOT.START':
    case 'QUOT.END':
      return { is: 'marked', before: quoteOf(element), after: '' }
    case 'HT':
      return scriptOf(element)
    case 'ROW':
      return { is: 'row' }
    case 'CELL':
    case 'TI.COL':
      return { is: 'cell' }
    case 'ITEM':
      return { is: 'item', mark: bulletOf(element) }
    default:
      return { is: INLINE.has(name) ? 'inline' : 'block' }
  }
}

function unitOf(element: MarkupElement): Role | undefined {
  const { name } = element
  const anchor = attribute(element, 'IDENTIFIER')
  switch (name) {
    case 'DIVISION':
      return { is: 'unit', kind: 'division', level: 'division' }
    case 'PREAMBLE':
      return { is: 'unit', kind: 'preamble', level: 'division' }
    case 'FINAL':
      return { is: 'unit', kind: 'final', level: 'division' }
    case 'ARTICLE':
      return { is: 'unit', kind: 'article', level: 'passage', anchor }
    case 'CONSID':
      return { is: 'unit', kind: 'recital', level: 'passage' }
    case 'ANNEX':
    case 'CONS.ANNEX':
      return { is: 'unit', kind: 'annex', level: 'passage', anchor }
    case 'PARAG':
      return { is: 'unit', kind: 'paragraph', level: 'part', anchor }
    case 'CORRECTION':
      return { is: 'unit', kind: 'correction', level: 'passage' }
    case 'GR.SEQ':
      return { is: 'unit', kind: 'sequence', level: 'part' }
    case 'ITEM':
      return bulletOf(element) === '' ? { is: 'unit', kind: 'point', level: 'part' } : undefined
    default:
      return undefined
  }
}

/** The notes of a table stand with it, and its cells refer to them. */
function noteRole(note: MarkupElement): Role {
  const number = Number(/\d+$/.exec(attribute(note, 'NOTE.ID', 'NOTE.REF') ?? '')?.[0] ?? 1)
  if (isWithin(note, 'GR.NOTES')) return { is: 'item', mark: `(${number})` }
  if (attribute(note, 'NOTE.REF') === undefined) return { is: 'note' }
  return attribute(note, 'TYPE') === 'TABLE' ? { is: 'marked', before: `(${number})`, after: '' } : { is: 'inline' }
}

const NUMBERED: ReadonlySet<string> = new Set(['ITEM', 'CONSID', 'TI', 'STI'])

/** The number of a point or a recital is its label; any other stands in the line of its text. */
function numberRole({ parent }: MarkupElement): Role {
  const holder = parent?.name === 'NP' ? parent.parent?.name : parent?.name
  return NUMBERED.has(holder ?? '') ? { is: 'label' } : { is: 'marked', before: '', after: '', label: true }
}

function isTitled({ name, parent }: MarkupElement): boolean {
  return (
    ['DIVISION', 'ANNEX', 'CONS.ANNEX', 'GR.SEQ', 'ACT', 'CONS.DOC', 'TITLE', 'AGR'].includes(name) ||
    parent === undefined
  )
}

function scriptOf(element: MarkupElement): Role {
  const type = attribute(element, 'TYPE')
  if (type === 'SUP') return { is: 'marked', before: '^', after: '' }
  return type === 'SUB' ? { is: 'marked', before: '_', after: '' } : { is: 'inline' }
}

/** Quotation marks are elements with the code point of the mark. */
function quoteOf(element: MarkupElement): string {
  const code = Number.parseInt(attribute(element, 'CODE') ?? '', 16)
  return code > 0x20 && code < 0x3100 ? String.fromCodePoint(code) : '"'
}

/** An item without a number has the mark of its list. */
function bulletOf(item: MarkupElement): string {
  const first = elementsOf(item)[0]
  if (first?.name === 'NP' && childNamed(first, 'NO.P') !== undefined) return ''
  const type = attribute(item.parent, 'TYPE') ?? ''
  return type === 'NDASH' || type === 'DASH' ? '–' : type === 'BULLET' ? '•' : '-'
}

function fieldsOf({ tree: { root } }: ReadTree): DocumentFields {
  const bib = firstNamed(root, 'BIB.INSTANCE', 'BIB.DOC', 'BIB.OJ')
  const info = firstNamed(root, 'INFO.CONSLEG')
  const title = [firstNamed(root, 'CONS.DOC'), root]
    .map((each) => textWithSpaces(each && (childNamed(each, 'TITLE') ?? firstNamed(each, 'TITLE'))))
    .find((found) => found !== undefined)
  const signed = dayIn(attribute(childNamed(bib, 'DATE'), 'ISO') ?? attribute(firstNamed(root, 'DATE'), 'ISO'))
  // Of a consolidated act, the other dates are those of the consolidation.
  const basic = info === undefined ? undefined : firstNamed(firstNamed(root, 'FAM.COMP'), 'BIB.INSTANCE.CONS')
  const published = dayIn(attribute(childNamed(basic, 'DATE'), 'ISO'))
  const from = dayIn(attribute(info, 'START.DATE'))
  const applies = applicationIn(textOf(firstNamed(root, 'ENACTING.TERMS')) ?? '')
  const to = endIn(attribute(info, 'END.DATE'), info?.line)
  const celex = celexIn(root, info, title)
  return {
    title,
    identifier: celex,
    language: languageTag(
      textOf(firstNamed(bib, 'LG.DOC', 'LG.OJ')) ?? textOf(firstNamed(root, 'LG.DOC', 'LG.OJ', 'LG')),
    ),
    jurisdiction: 'EU',
    authority: textOf(firstNamed(root, 'PREAMBLE.INIT'))?.replace(/,$/, '').slice(0, 200),
    url: addressOf(celex, languageTag(textOf(firstNamed(bib, 'LG.DOC')))),
    publishedAt:
      published !== undefined
        ? { day: published }
        : signed === undefined
          ? undefined
          : { day: signed, rule: info === undefined ? 'enactment' : 'publication' },
    effectiveFrom: from === undefined ? applies : { day: from },
    effectiveTo: to === undefined ? undefined : { day: to },
  }
}

/** The number that the file states, or the one that its document number and the kind of act make. */
function celexIn(root: MarkupElement, info: MarkupElement | undefined, title: string | undefined): string | undefined {
  // A corrigendum names the number of the act that it corrects.
  if (root.name === 'CORR' || isCorrigendum(title ?? '')) return undefined
  const stated =
    textOf(firstNamed(root, 'NO.CELEX')) ?? textOf(firstNamed(root, 'ID_CELEX'))?.match(/\d\d{4}[A-Z]{1,2}\d{4}/)?.[0]
  if (stated !== undefined) return stated
  const consolidated = /^(\d{4}[A-Z]{1,2}\d{4})$/.exec(attribute(info, 'CONSLEG.REF') ?? '')?.[1]
  if (consolidated !== undefined) return `3${consolidated}`
  const number = firstNamed(root, 'NO.DOC')
  const kind = textOf(firstNamed(root, 'LEGAL.VALUE')) ?? instrumentIn(title ?? '')
  return celexOf(textOf(childNamed(number, 'YEAR')), textOf(childNamed(number, 'NO.CURRENT')), kind)
}

function textWithSpaces(element: MarkupElement | undefined): string | undefined {
  if (element === undefined) return undefined
  const lines = [...descendants(element)].filter(({ name }) => name === 'P').map((each) => textOf(each) ?? '')
  return lines.length === 0 ? textOf(element) : lines.join(' ').trim() || undefined
}

function warningsOf({ tree: { root } }: ReadTree): readonly ReaderWarning[] {
  const message = DESCRIPTIONS.get(root.name)
  return message === undefined ? [] : [{ message, line: root.line, xpath: '/*[1]' }]
}
