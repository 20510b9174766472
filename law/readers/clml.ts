import { attribute, at, childNamed, descendants, firstNamed, placeAmongNamed, textOf, xpathOf } from './tree.ts'
import type { MarkupElement } from './tree.ts'
import { dated, dayIn, endIn, isWithin, languageTag } from './format.ts'
import type { CitedProvision, MarkupFormat, ReadTree } from './format.ts'
import type { Citation, DocumentFields, ReaderLoss, ReaderWarning } from './document.ts'
import { lead, marked, type Role, type Roles } from './roles.ts'
import { wordsCitation } from './words-citation.ts'
import { counted } from './written-number.ts'
import { FORCE_NOTE } from './standing.ts'
import NAMES from './names/clml.json' with { type: 'json' }
import { formatOf, withWindow } from './vocabulary.ts'
import { parseXml } from './xml.ts'

const DIVISIONS: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.divisions))
const PARTS: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.parts))
/** Notes and annotations stand at the end of the file. */
const NOTES = new Set(['Footnotes', 'MarginNotes', 'Commentaries'])
const { roles: ROLES, vocabulary: VOCABULARY } = formatOf(
  NAMES,
  [DIVISIONS.keys(), PARTS.keys(), NOTES],
  [numberOf, 'Pnumber'],
  [({ parent }) => (isTitled(parent) ? { is: 'label' } : lead()), 'Number'],
  [({ parent }) => ({ is: isTitled(parent) ? 'heading' : 'block' }), 'Title TitleBlock'],
  [(each) => marked(referenceMark(attribute(each, 'Ref'))), 'FootnoteRef MarginNoteRef'],
  [(each) => ({ is: 'item', mark: referenceMark(attribute(each, 'id')) }), 'Footnote MarginNote'],
  [(each) => ({ is: 'item', mark: bulletOf(each) }), 'ListItem'],
  // A repealed provision has a row of dots for its text.
  [(each) => (isRepealedRow(each) ? marked('[Repealed] ') : { is: 'block' }), 'Text'],
)

/** Crown Legislation Markup Language of legislation.gov.uk, with retained law of the European Union. */
export const CLML: MarkupFormat = {
  format: 'clml',
  parse: parseXml,
  recognises: ({ kind, root, tag }) =>
    kind === 'xml' && root === 'Legislation' && tag.includes('legislation.gov.uk/namespaces/legislation'),
  vocabulary: ({ tree: { root } }) => {
    // The whole text states the day from which it holds.
    const day = dayOf(root) ?? dayIn(attribute(root, 'RestrictStartDate'))
    return withWindow(VOCABULARY, day, 'RestrictStartDate', 'RestrictEndDate')
  },
  roles: ({ tree }) => createRoles(firstLevelOf(tree.root)),
  fields: fieldsOf,
  cite: citationOf,
  warnings: warningsOf,
  losses: ({ tree }) => otherTexts(tree.root),
}

/** Ids say what a provision of an instrument is; a file without them says what kind of instrument it is. */
function firstLevelOf(root: MarkupElement): string {
  if (firstNamed(root, 'EURetained') !== undefined) return 'article'
  const minor = attribute(firstNamed(childNamed(root, 'Metadata'), 'DocumentMinorType'), 'Value') ?? ''
  if (firstNamed(root, 'P1')?.attributes.has('id') === true) return 'section'
  return minor === 'order' ? 'article' : minor === 'regulation' || minor === 'rule' ? minor : 'section'
}

/** @param first what a provision of the first level is called: CLML has one element for sections, regulations and articles. */
function createRoles(first: string): Roles {
  return (element, { quoted }) => {
    const { name } = element
    const unit = quoted ? undefined : unitOf(element, first)
    const isQuotedUnit = quoted && (PARTS.has(name) || DIVISIONS.has(name) || name === 'P1')
    return unit ?? ROLES(element) ?? { is: isQuotedUnit ? 'block' : 'inline' }
  }
}

function isRepealedRow(element: MarkupElement): boolean {
  const [only, more] = element.children
  return (
    more === undefined && only?.kind === 'text' && /^[\s.]{5,}$/.test(only.value) && statusOf(element) === 'Repealed'
  )
}

function unitOf(element: MarkupElement, first: string): Role | undefined {
  const { name } = element
  const anchor = attribute(element, 'id')
  if (name === 'P1') {
    const kind = anchor === undefined && isWithin(element, 'Schedule') ? 'paragraph' : first
    return { is: 'unit', kind, level: 'passage', anchor }
  }
  const part = PARTS.get(name)
  if (part !== undefined) return { is: 'unit', kind: part, level: 'part', anchor }
  const division = DIVISIONS.get(name)
  if (division !== undefined) return { is: 'unit', kind: division, level: 'division', anchor }
  // A recital of retained law stands in a numbered division of the preamble.
  if (name === 'Division' && element.parent?.name === 'EUPreamble')
    return { is: 'unit', kind: 'recital', level: 'passage', anchor }
  return NOTES.has(name) ? { is: 'unit', kind: 'note', level: 'passage', heading: name, quoted: true } : undefined
}

function isTitled(element: MarkupElement | undefined): boolean {
  if (element === undefined) return false
  if (element.name === 'TitleBlock') return isTitled(element.parent)
  return DIVISIONS.has(element.name) || (element.name === 'Division' && element.parent?.name === 'EUPreamble')
}

/** The punctuation of a number is left to its level unless its attributes say it (CLML schema, `Pnumber`). */
function numberOf(element: MarkupElement): Role {
  const level = element.parent?.name ?? ''
  if (level === 'P1' || !/^[\w]{1,6}$/.test(textOf(element) ?? '')) return { is: 'label' }
  const stated = element.attributes.has('PuncBefore') || element.attributes.has('PuncAfter')
  const [before, after] = stated
    ? [attribute(element, 'PuncBefore') ?? '', attribute(element, 'PuncAfter') ?? '']
    : ['(', ')']
  return lead(before, after)
}

function bulletOf(item: MarkupElement): string {
  const given = attribute(item, 'NumberOverride')
  if (given !== undefined) return given
  const list = item.parent
  const place = placeAmongNamed(item) + 1
  if (list?.name === 'UnorderedList') return ['none', undefined].includes(attribute(list, 'Decoration')) ? '' : '-'
  if (list?.name !== 'OrderedList') return ''
  const [before = '', after = '.'] = DECORATIONS.get(attribute(list, 'Decoration') ?? '') ?? []
  return `${before}${counted(place, FIGURES.get(attribute(list, 'Type') ?? ''))}${after}`
}

const FIGURES: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.figures))
const DECORATIONS: ReadonlyMap<string, readonly string[]> = new Map(Object.entries(NAMES.decorations))

function fieldsOf({ tree: { root } }: ReadTree): DocumentFields {
  const metadata = childNamed(root, 'Metadata')
  const uri = attribute(root, 'DocumentURI') ?? textOf(firstNamed(metadata, 'identifier'))
  const all = metadata === undefined ? [] : [...descendants(metadata)]
  const named = (name: string): MarkupElement | undefined => all.find((each) => each.name === name)
  const enacted = dayIn(
    attribute(named('EnactmentDate'), 'Date') ?? textOf(named('EnactmentDate')) ?? attribute(named('Made'), 'Date'),
  )
  const commenced = dayIn(attribute(at(named('ComingIntoForce'), 'DateTime'), 'Date'))
  // The publisher's day of a fragment is `valid`; its root may have the days of the whole act.
  const restricted = dayIn(textOf(named('valid'))) ?? dayIn(attribute(root, 'RestrictStartDate'))
  const published = dated(enacted, 'enactment')
  const from = restricted ?? commenced
  const end = endIn(attribute(root, 'RestrictEndDate'), root.line)
  const ended = end !== undefined && (from === undefined || end > from) ? end : undefined
  const provisions = provisionsOf(root)
  const isProspective = provisions.length > 0 && provisions.every((each) => statusOf(each) === 'Prospective')
  return {
    title: textOf(named('title')),
    identifier: uri,
    language: languageTag(textOf(named('language')) ?? attribute(root, 'lang')) ?? 'en',
    jurisdiction: 'GB',
    subjects: all
      .filter(({ name, namespace }) => name === 'subject' && namespace.includes('purl.org/dc'))
      .flatMap((each) => textOf(each) ?? []),
    url: uri,
    publishedAt: published,
    effectiveFrom: isProspective ? undefined : (dated(restricted, 'in-force') ?? dated(commenced) ?? published),
    effectiveTo: dated(ended),
  }
}

/** The day of the text, where its publisher made it for one. */
function dayOf(root: MarkupElement): string | undefined {
  return dayIn(textOf(firstNamed(childNamed(root, 'Metadata'), 'valid')))
}

/** `f00004` and `m00004` are the fourth note. */
function referenceMark(id: string | undefined): string {
  const number = /^[fm]0*(\d+)$/.exec(id ?? '')?.[1]
  return number === undefined ? '' : `[${number}]`
}

/** Provisions of the first level, without those that amend other acts. */
function provisionsOf(root: MarkupElement): readonly MarkupElement[] {
  return [...descendants(root)].filter((p) => p.name === 'P1' && !isWithin(p, 'BlockAmendment', 'BlockExtract'))
}

/** `Prospective` or `Repealed`, as an element or one around it states it. */
function statusOf(element: MarkupElement): string | undefined {
  for (let next: MarkupElement | undefined = element; next !== undefined; next = next.parent) {
    const status = attribute(next, 'Status')
    if (status !== undefined) return status
  }
  return undefined
}

const saysNotInForce = (note: string): boolean => FORCE_NOTE.test(note) && !/in force (?:at|on|for)\b.*\d{4}/.test(note)

function partsOf(extent: string): readonly string[] {
  return /^(?:GB|UK)$/.test(extent) ? ['E', 'W', 'S'] : (extent.match(/\b[EWS]\b(?!\.)/g) ?? [])
}

/** Texts for other extents or times than those of the file, and changes that its publisher has not made in it. */
function otherTexts(root: MarkupElement): readonly ReaderLoss[] {
  const all = [root, ...descendants(root)]
  const losing = (name: string, { line }: MarkupElement): ReaderLoss => ({ name, count: 1, line })
  const day = dayOf(root)
  // The jurisdiction is that of the whole act, as far as it is in Great Britain.
  const whole = partsOf(attribute(root, 'RestrictExtent') ?? 'GB')
  return all.flatMap((each) => {
    const extent = attribute(each, 'RestrictExtent')
    if (each.name === 'UnappliedEffect' && attribute(each, 'RequiresApplied') !== 'false')
      return [losing('change that the publisher has not made in the text', each)]
    // Words that are repealed for a part of the kingdom alone are left out for all of it.
    if (each.name === 'Repeal' && attribute(each, 'RetainText') === 'true' && textOf(each))
      return [losing('Repeal whose text is retained for another extent', each)]
    if (each.name === 'Commentary' && saysNotInForce(textOf(each) ?? ''))
      return [losing('note on force far from its text', each)]
    if (each === root && (dayIn(attribute(each, 'RestrictEndDate')) ?? '9999') <= (day ?? ''))
      return [losing('end of the act before the day of its text', each)]
    const isElsewhere = extent !== undefined && whole.some((part) => !partsOf(extent).includes(part))
    return isElsewhere && each.standing === undefined ? [losing(`extent ${extent}`, each)] : []
  })
}

function warningsOf({ tree: { root } }: ReadTree): readonly ReaderWarning[] {
  const prospective = provisionsOf(root).filter((each) => statusOf(each) === 'Prospective')
  const [first] = prospective
  if (first === undefined) return []
  const message = `prospective provisions, not in force as the publisher says: ${prospective.length}, the first here`
  return [{ message, line: first.line, xpath: xpathOf(first) }]
}

/**
 * What a provision is called is in its id: `regulation-2`, `schedule-1-part-II-paragraph-5`, `schedule-paragraph-1`.
 */
function citationOf(provision: CitedProvision, fields: DocumentFields): Citation {
  const inSchedule = provision.around.some(({ kind }) => kind === 'schedule')
  const word = /(?:^|-)([a-z]+)-[\w.]+$/.exec(provision.anchor ?? '')?.[1]
  const kind = provision.kind === 'section' && word !== undefined ? word : provision.kind
  const around = inSchedule ? provision.around : provision.around.filter((each) => each.kind !== 'section')
  return wordsCitation({ ...provision, kind, around }, fields, actOf(fields.identifier))
}

function actOf(uri: string | undefined): string | undefined {
  const [, type, year, number] = /legislation\.gov\.uk\/(?:id\/)?([a-z]+)\/(\d{4})\/(\d+)/.exec(uri ?? '') ?? []
  return type === undefined ? undefined : `${type}:${year}/${number}`
}
