import { allNamed, attribute, childNamed, elementsOf, firstNamed, textOf, wordSet, type MarkupElement } from './tree.ts'
import { addressOf, applicationIn, celexOf, euCitation, instrumentIn, isCorrigendum } from './celex.ts'
import { dated, dayIn, endIn, isWithin, languageTag, type MarkupFormat, type ReadTree } from './format.ts'
import type { DocumentFields, ReaderWarning } from './document.ts'
import { grouped, isOneToken, lead, LOWERED, marked, METADATA, RAISED, rolesByName, type Role } from './roles.ts'
import NAMES from './names/formex.json' with { type: 'json' }
import { formatOf } from './vocabulary.ts'
import { parseXml } from './xml.ts'

const ROOTS = wordSet(NAMES.roots)
const METADATA_ELEMENT =
  /^(?:BIB\..+|INFO\.(?:CONSLEG|PROD)|FAM\.COMP|FAM\.COMP\.CL|DOCUMENT\.REF.*|PUBLICATION\.REF|FMX|PAPER|PDF|OJ|VOLUME|GR\.MOD\.ACT|GR\.CORRIG|PROD\.ID|FIN\.ID|INCL\.ELEMENT|INCLUSIONS)$/
const NUMBERED: ReadonlySet<string> = new Set(['ITEM', 'CONSID', 'TI', 'STI'])
const UNITS = rolesByName(
  [{ is: 'unit', kind: 'division', level: 'division' }, 'DIVISION'],
  [{ is: 'unit', kind: 'preamble', level: 'division' }, 'PREAMBLE'],
  [{ is: 'unit', kind: 'final', level: 'division' }, 'FINAL'],
  [(each) => ({ is: 'unit', kind: 'article', level: 'passage', anchor: anchorOf(each) }), 'ARTICLE'],
  [{ is: 'unit', kind: 'recital', level: 'passage' }, 'CONSID'],
  [(each) => ({ is: 'unit', kind: 'annex', level: 'passage', anchor: anchorOf(each) }), 'ANNEX CONS.ANNEX'],
  [(each) => ({ is: 'unit', kind: 'paragraph', level: 'part', anchor: anchorOf(each) }), 'PARAG'],
  [{ is: 'unit', kind: 'correction', level: 'passage' }, 'CORRECTION'],
  [{ is: 'unit', kind: 'sequence', level: 'part' }, 'GR.SEQ'],
)

const { roles: ROLES, vocabulary: VOCABULARY } = formatOf(
  NAMES,
  [UNITS.names, ROOTS],
  [numberRole, 'NO.P'],
  [({ parent }) => ({ is: NUMBERED.has(parent?.name ?? '') ? 'inline' : 'block' }), 'NP'],
  [(each) => ({ is: isWithin(each, 'TBL') ? 'block' : 'heading' }), 'TI STI'],
  [({ parent }) => ({ is: parent?.name === 'CORRECTION' ? 'heading' : 'block' }), 'DESCRIPTION'],
  [({ parent }) => ({ is: parent !== undefined && isTitled(parent) ? 'inline' : 'block' }), 'TITLE TI.BLK STI.BLK'],
  [noteRole, 'NOTE'],
  [(each) => marked(quoteOf(each)), 'QUOT.START QUOT.END'],
  [scriptOf, 'HT'],
  [(each) => ({ is: 'item', mark: bulletOf(each) }), 'ITEM'],
)

/** Formex 4 to 6 of the Publications Office: acts of the Official Journal and consolidated acts. */
export const FORMEX: MarkupFormat = {
  format: 'formex',
  parse: parseXml,
  recognises: ({ kind, root, head }) =>
    kind === 'xml' &&
    (/formex\.publications\.europa\.eu|opoce\/formex/i.test(head.slice(0, 4_000)) ||
      (ROOTS.has(root) && /<(?:BIB\.|INFO\.CONSLEG|WORK>|EXPRESSION)/.test(head))),
  vocabulary: () => ({ ...VOCABULARY, standingOf: strokeOf }),
  roles: () => roleOf,
  fields: fieldsOf,
  cite: euCitation,
  warnings: warningsOf,
}

/** Files that describe an act and hold no text of it. */
const DESCRIPTIONS: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.descriptions))

function roleOf(element: MarkupElement, { quoted }: { readonly quoted: boolean }): Role {
  const { name, parent } = element
  if (parent === undefined && DESCRIPTIONS.has(name)) return METADATA
  if (METADATA_ELEMENT.test(name) || (name === 'NOTE' && parent?.name === 'INFO.CONSLEG')) return METADATA
  const unit = quoted ? undefined : unitOf(element)
  return unit ?? formulaRole(element) ?? ROLES(element) ?? { is: 'block' }
}

function unitOf(element: MarkupElement): Role | undefined {
  if (element.name === 'ITEM' && bulletOf(element) === '') return { is: 'unit', kind: 'point', level: 'part' }
  return UNITS(element)
}

function anchorOf(element: MarkupElement): string | undefined {
  return attribute(element, 'IDENTIFIER')
}

/** The notes of a table stand with it, and its cells refer to them. */
function noteRole(note: MarkupElement): Role {
  const number = Number(/\d+$/.exec(attribute(note, 'NOTE.ID', 'NOTE.REF') ?? '')?.[0] ?? 1)
  if (isWithin(note, 'GR.NOTES')) return { is: 'item', mark: `(${number})` }
  if (attribute(note, 'NOTE.REF') === undefined) return { is: 'note' }
  return attribute(note, 'TYPE') === 'TABLE' ? marked(`(${number})`) : { is: 'inline' }
}

/** The number of a point or a recital is its label; any other stands in the line of its text. */
function numberRole({ parent }: MarkupElement): Role {
  return NUMBERED.has((parent?.name === 'NP' ? parent.parent?.name : parent?.name) ?? '') ? { is: 'label' } : lead()
}

function isTitled({ name, parent }: MarkupElement): boolean {
  return (
    ['DIVISION', 'ANNEX', 'CONS.ANNEX', 'GR.SEQ', 'ACT', 'CONS.DOC', 'TITLE', 'AGR'].includes(name) ||
    parent === undefined
  )
}

/** Text that is struck through in print. */
function strokeOf(element: MarkupElement): 'struck' | undefined {
  return element.name === 'HT' && attribute(element, 'TYPE')?.startsWith('STR') === true ? 'struck' : undefined
}

function scriptOf(element: MarkupElement): Role {
  const type = attribute(element, 'TYPE')
  return type === 'SUP' ? RAISED : type === 'SUB' ? LOWERED : { is: 'inline' }
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
    publishedAt: dated(published) ?? dated(signed, info === undefined ? 'enactment' : 'publication'),
    effectiveFrom: dated(from) ?? applies,
    effectiveTo: dated(to),
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
  const lines = allNamed(element, 'P').map((each) => textOf(each) ?? '')
  return lines.length === 0 ? textOf(element) : lines.join(' ').trim() || undefined
}

function warningsOf({ tree: { root } }: ReadTree): readonly ReaderWarning[] {
  const message = DESCRIPTIONS.get(root.name)
  return message === undefined ? [] : [{ message, line: root.line, xpath: '/*[1]' }]
}

const BRACKETS: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.brackets))
const SIGNS: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.signs))
/** A formula with more parts in one place is written without brackets that its layout stands for. */
const SIBLINGS_MAX = 200

const FORMULA = rolesByName(
  [expressionRole, 'EXPR'],
  [(each) => grouped(attribute(each, 'LOC') === 'SUP' ? '^' : '_', each), 'IND'],
  [(each) => grouped('^', each), 'EXPONENT'],
  [marked('(', ')'), 'DIVIDEND'],
  [marked(' / (', ')'), 'DIVISOR'],
  [{ is: 'inline' }, 'FORMULA FRACTION FUNCTION OVERLINE UNDER BAR VECTOR'],
)

/** What an element of a formula is: it is written in one line, with the brackets that its layout stands for. */
function formulaRole(element: MarkupElement): Role | undefined {
  const { name } = element
  const sign = SIGNS.get(name.startsWith('OP.') ? (attribute(element, 'TYPE') ?? '') : name)
  return sign === undefined ? FORMULA(element) : marked(sign)
}

function expressionRole(element: MarkupElement): Role {
  const [before = '', after] = BRACKETS.get(attribute(element, 'TYPE') ?? '') ?? (isGrouped(element) ? '()' : '')
  return marked(before, after)
}

/** Whether an expression is a side of a fraction, or below a root, and more than one number or name. */
function isGrouped(element: MarkupElement): boolean {
  const { parent } = element
  const siblings = parent === undefined || parent.children.length > SIBLINGS_MAX ? [] : elementsOf(parent)
  const [before, after] = [siblings[element.place - 2]?.name, siblings[element.place]?.name]
  return (before === 'OVER' || before === 'ROOT' || after === 'OVER') && !isOneToken(element)
}
