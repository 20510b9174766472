import { attribute, childNamed, childrenNamed, elementsOf, firstNamed, textOf, wordSet } from './tree.ts'
import type { MarkupElement } from './tree.ts'
import { cfrCitation } from './cfr-citation.ts'
import type { Citation, DocumentFields } from './document.ts'
import { dated, dayIn, dayInWords, languageTag, nearest } from './format.ts'
import type { CitedProvision, MarkupFormat, ReadTree } from './format.ts'
import { lead, omitted, type Role } from './roles.ts'
import { CITED_TITLE_CHARACTERS_MAX, wordsCitation } from './words-citation.ts'
import NAMES from './names/uslm.json' with { type: 'json' }
import { formatOf, withWindow } from './vocabulary.ts'
import { parseXml } from './xml.ts'

const DIVISIONS = wordSet(NAMES.divisions)
const PARTS = wordSet(NAMES.parts)
const { roles: ROLES, vocabulary: VOCABULARY } = formatOf(
  NAMES,
  [DIVISIONS, PARTS],
  [frontOf, 'preface backMatter'],
  [headingOf, 'heading subheading'],
  [referenceOf, 'ref'],
)
/** Documents of an issue of the Federal Register: what they say of the CFR is no provision of it. */
const NOTICES = wordSet('rule proposedRule notice presidentialDoc correction')

/** United States Legislative Markup, schemas 1 (uscode.house.gov) and 2 (govinfo). */
export const USLM: MarkupFormat = {
  format: 'uslm',
  parse: parseXml,
  recognises: ({ kind, tag }) =>
    kind === 'xml' && /schemas\.gpo\.gov\/xml\/uslm|xml\.house\.gov\/schemas\/uslm/.test(tag),
  vocabulary: (read) => withWindow(VOCABULARY, fieldsOf(read).effectiveFrom?.day, 'startPeriod', 'endPeriod'),
  roles: () => roleOf,
  fields: fieldsOf,
  cite: citationOf,
}

function roleOf(element: MarkupElement, { quoted }: { readonly quoted: boolean }): Role {
  const { name } = element
  if (!quoted && isUnit(element)) return unitOf(element)
  const isQuotedUnit = quoted && (PARTS.has(name) || DIVISIONS.has(name) || ['section', 'note'].includes(name))
  return ROLES(element) ?? { is: isQuotedUnit ? 'block' : 'inline' }
}

function frontOf({ parent }: MarkupElement): Role {
  return parent?.name === 'cfrDoc' ? omitted('front matter of the volume') : { is: 'block' }
}

function referenceOf(element: MarkupElement): Role {
  return /\bfootnoteRef\b/.test(attribute(element, 'class') ?? '')
    ? omitted('mark of a footnote, which stands where the note is')
    : { is: 'inline' }
}

/** The heading of what is no provision (`Authority:`) stands in its text. */
function headingOf({ parent }: MarkupElement): Role {
  if (parent !== undefined && (isUnit(parent) || ['note', 'notes', 'quotedContent'].includes(parent.name)))
    return { is: 'heading' }
  return ['authority', 'source', 'editorialNote'].includes(parent?.name ?? '') ? lead('', ' ') : { is: 'break' }
}

/** `title` is a level of the law, but `dc:title` a title. */
function isUnit({ name, namespace, attributes, parent }: MarkupElement): boolean {
  if (namespace.includes('purl.org/dc')) return false
  if (NOTICES.has(name)) return attributes.has('identifier')
  if (name === 'pLaw') return parent !== undefined
  return ['section', 'appropriations', 'notes', 'note'].includes(name) || DIVISIONS.has(name) || PARTS.has(name)
}

function unitOf(element: MarkupElement): Role {
  const { name } = element
  const anchor = attribute(element, 'identifier', 'id')
  if (attribute(element, 'type') === 'footnote') return { is: 'note' }
  if (name === 'notes' || name === 'note') return { is: 'unit', kind: 'note', level: 'passage', anchor, quoted: true }
  if (name === 'section' || name === 'appropriations') return { is: 'unit', kind: name, level: 'passage', anchor }
  if (name === 'pLaw') {
    // A volume of the Statutes at Large.
    const heading = textOf(childNamed(childNamed(element, 'meta'), 'citableAs'))
    return { is: 'unit', kind: 'law', level: 'division', anchor, heading }
  }
  if (NOTICES.has(name)) {
    const heading = textOf(childNamed(childNamed(element, 'preface'), 'subject'))
    return { is: 'unit', kind: name, level: 'passage', anchor, heading, quoted: true }
  }
  if (PARTS.has(name)) return { is: 'unit', kind: name, level: 'part', anchor }
  return { is: 'unit', kind: name, level: 'division', anchor }
}

function fieldsOf({ tree: { root } }: ReadTree): DocumentFields {
  const meta = childNamed(root, 'meta', 'amendMeta')
  const main = childNamed(root, 'main')
  const stated = textOf(firstNamed(meta, 'title'))
  const code = root.name === 'uscDoc' ? firstNamed(main, 'title', 'appendix') : undefined
  const heading = textOf(childNamed(code, 'heading'))
  const number = textOf(childNamed(meta, 'docNumber'))
  const isCfr = root.name === 'cfrDoc' && number !== undefined
  const identifier = attribute(root, 'identifier') ?? attribute(code, 'identifier')
  return {
    title: heading === undefined ? stated : `${stated ?? ''}—${heading}`,
    identifier:
      identifier ?? (isCfr ? `${number} CFR` : (textOf(childNamed(meta, 'citableAs')) ?? numberOf(stated) ?? stated)),
    language: languageTag(attribute(root, 'lang') ?? textOf(firstNamed(meta, 'language'))) ?? 'en',
    jurisdiction: 'US',
    authority: authorityOf(meta),
    url: urlOf(identifier ?? (isCfr ? `/us/cfr/t${number}` : lawOf(root, meta))),
    ...datesOf(root, meta),
  }
}

/** `115 SJRES 1 ENR` before the title of a bill. */
function numberOf(title: string | undefined): string | undefined {
  return /^\d+ [A-Z]+ \d+ [A-Z\d]+(?=: )/.exec(title ?? '')?.[0]
}

/** What produced a file is stated as a creator too. */
function authorityOf(meta: MarkupElement | undefined): string | undefined {
  return childrenNamed(meta, 'creator')
    .flatMap((each) => textOf(each) ?? [])
    .find((name) => /^(?:Office|House|Senate|U\.S\.|United States|National)[\w .]*$/.test(name))
}

/** The identifier of a public law, which its parts state and its root does not. */
function lawOf(root: MarkupElement, meta: MarkupElement | undefined): string {
  const [congress, number] = ['congress', 'docNumber'].map((name) => textOf(childNamed(meta, name)))
  return root.name === 'pLaw' && textOf(childNamed(meta, 'publicPrivate')) !== 'private'
    ? `/us/pl/${congress}/${number}`
    : ''
}

type Dates = Pick<DocumentFields, 'publishedAt' | 'effectiveFrom'>

/**
 * A law: the day of its approval. A compilation of statutes: from the day of the last act in it. A bill: its last stage,
 * from which this text of it exists. An issue of the Federal Register: its day; what is in it takes effect on others.
 * A code: the day up to which it is current, or was produced.
 */
function datesOf(root: MarkupElement, meta: MarkupElement | undefined): Dates {
  const enacted = dated(approvalOf(root, meta), 'enactment')
  switch (root.name) {
    case 'statuteCompilation': {
      const amended = dayOf(firstNamed(firstNamed(root, 'editionNote'), 'date'))
      return { publishedAt: enacted, effectiveFrom: dated(amended, 'amendment-date') ?? enacted }
    }
    case 'bill':
    case 'resolution':
    case 'amendment':
    case 'engrossedAmendment': {
      const staged = lastAction(root) ?? dayIn(textOf(childNamed(meta, 'date')))
      return { publishedAt: dated(staged), effectiveFrom: dated(staged, 'expression') }
    }
    case 'frDoc':
      return { publishedAt: dated(dayIn(textOf(childNamed(meta, 'date')))), effectiveFrom: undefined }
    default: {
      const released = dayIn(textOf(childNamed(meta, 'docReleasePoint')))
      const made = dayIn(textOf(childNamed(meta, 'created')) ?? textOf(childNamed(meta, 'processedDate')))
      const produced = ['uscDoc', 'cfrDoc'].includes(root.name) ? dated(made, 'processed') : undefined
      const date = enacted ?? dated(released, 'amendment-date') ?? produced
      return { publishedAt: date, effectiveFrom: date }
    }
  }
}

/** The day of approval is stated with the metadata, or in words after the law. */
function approvalOf(root: MarkupElement, meta: MarkupElement | undefined): string | undefined {
  const stated = firstNamed(meta, 'approvedDate') ?? firstNamed(root, 'approvedDate')
  const action = childNamed(childNamed(root, 'main') ?? root, 'action')
  const words = textOf(action)
  return (
    dayOf(firstNamed(stated, 'date')) ??
    dayIn(textOf(stated)) ??
    (words?.startsWith('Approved') === true ? (dayOf(firstNamed(action, 'date')) ?? dayInWords(words)) : undefined)
  )
}

/** What was done with a bill stands before its text, and where it was passed after it. */
function lastAction(root: MarkupElement): string | undefined {
  const places = elementsOf(root).filter(({ name }) => ['preface', 'amendPreface', 'attestation'].includes(name))
  const actions = places.flatMap(elementsOf).filter(({ name }) => name === 'action')
  const days = actions.flatMap((each) => dayOf(childNamed(each, 'date')) ?? [])
  return days.toSorted().at(-1)
}

function dayOf(date: MarkupElement | undefined): string | undefined {
  return dayIn(attribute(date, 'date')) ?? dayInWords(textOf(date))
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
  if (known === undefined) return citationOfAct(provision, fields)
  const words =
    provision.label === '' && provision.heading === '' ? provision.kind : `${provision.label} ${provision.heading}`
  const act = `usc:${known.replace(/^0+/, '')}`
  if (section === undefined || number === undefined) {
    // An appendix to a title holds acts and rules that count their sections anew.
    const compiled = provision.around.find(({ kind }) => /^(?:compiledAct|courtRules|reorganizationPlan)$/.test(kind))
    const code = known.endsWith('a') ? `${known.slice(0, -1)} U.S.C. App.` : `${known} U.S.C.`
    const parts = [code, compiled?.heading ?? '', words.trim()].filter((part) => part !== '')
    return { label: parts.join(', ').slice(0, 300), act }
  }
  const note = provision.kind === 'note' ? ' note' : ''
  // `19...19c`: the ends of a range of sections.
  const reference = number.split('...').map((each) => `${known} U.S.C. ${each}${note}`)
  return { label: `${known} U.S.C. ${number}${note}`, act, reference: reference.join('; ') }
}

/** A public law and a bill are cited by their numbers. A division of an act counts its sections anew. */
function citationOfAct(provision: CitedProvision, fields: DocumentFields): Citation {
  const stated = nearest(provision, 'law')?.heading ?? fields.identifier
  const name = /^(?:Public Law|Private Law|\d+ [HS])/.test(stated ?? '') ? stated : undefined
  const compiled = name?.includes('as amended') === true
  const named = name === undefined || compiled ? fields : { ...fields, title: name, identifier: name }
  const cited = wordsCitation(provision, named)
  const division = provision.around.find(({ kind, label }) => kind === 'division' && label !== '')
  if (division === undefined) return cited
  const place = cited.label.slice((named.title ?? '').slice(0, CITED_TITLE_CHARACTERS_MAX).trim().length)
  const { reference: _, ...rest } = cited
  return { ...rest, label: `${named.title ?? ''}, ${division.label.replace(/[.—–\s]+$/u, '')}${place}`.slice(0, 300) }
}
