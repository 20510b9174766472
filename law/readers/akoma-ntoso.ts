import { foldKey } from '#core/identity/fold.ts'
import { attribute, at, descendants, elementsOf, stack, textOf, wordSet, type MarkupElement } from './tree.ts'
import { isWithin, type CitedProvision, type MarkupFormat } from './format.ts'
import type { Citation, DocumentFields } from './document.ts'
import { createPeriods, fieldsOf, unreadPeriods } from './akoma-ntoso-fields.ts'
import { wordsCitation } from './words-citation.ts'
import { marked, omitted, RAISED, type Role } from './roles.ts'
import NAMES from './names/akoma-ntoso.json' with { type: 'json' }
import { formatOf } from './vocabulary.ts'
import { parseXml } from './xml.ts'

/** Elements of the hierarchy that structure others (Akoma Ntoso 1.0, section 5.4). */
const DIVISIONS = wordSet(NAMES.divisions)
/** Provisions that a citation names, unless one of them holds another. */
const PASSAGES = new Set(['section', 'article', 'rule', 'recital'])
const PARTS = wordSet(NAMES.parts)
/** Names of an `hcontainer` that structures others, and its kind: the paragraphs of a schedule are its own. */
const CONTAINERS: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.containers))
/** Names of an `hcontainer` that a citation names. */
const NAMED_PASSAGES = new Set(['regulation', 'rule', 'article', 'section', 'clause'])
/** They hold the whole document and are no part of its structure. */
const WRAPPERS = new Set(['body', 'mainBody', 'components', 'attachments', 'component', 'attachment', 'collectionBody'])
const { roles: ROLES, vocabulary: VOCABULARY } = formatOf(
  NAMES,
  [DIVISIONS, PASSAGES, PARTS, WRAPPERS],
  [(each) => marked(attribute(each, 'startQuote') ?? '', attribute(each, 'endQuote') ?? ''), 'quotedText embeddedText'],
  [(each) => (textOf(each) === '[tab]' ? omitted('mark of a tab') : { is: 'inline' }), 'placeholder'],
  [(each) => (isPlain(each) ? { is: 'inline' } : RAISED), 'sup'],
)

/** Akoma Ntoso of every version, and LegalDocML.de. */
export const AKOMA_NTOSO: MarkupFormat = {
  format: 'akoma-ntoso',
  parse: parseXml,
  recognises: ({ kind, root }) => kind === 'xml' && root === 'akomaNtoso',
  vocabulary: (read) => ({ ...VOCABULARY, ...createPeriods(read) }),
  losses: unreadPeriods,
  roles: () => roleOf,
  fields: fieldsOf,
  cite: (provision, fields) => citationOf(provision, fields),
}

function roleOf(element: MarkupElement, { quoted }: { readonly quoted: boolean }): Role {
  const { name } = element
  if (!quoted && ['attachment', 'doc'].includes(name)) {
    const schedule = scheduleOf(element)
    if (schedule !== undefined) return schedule
  }
  if (name === 'heading' && element.parent?.name === 'attachment') return { is: 'label' }
  if (!quoted && isUnit(element)) return unitOf(element)
  return ROLES(element) ?? { is: quoted && (PARTS.has(name) || PASSAGES.has(name)) ? 'block' : 'inline' }
}

/** Letters of a number (`6bis`, `1er`) are raised only in print; what is raised may be the mark of a note. */
function isPlain(raised: MarkupElement): boolean {
  const text = textOf(raised, 'authorialNote')
  return text === undefined || /^\p{L}{2,}$/u.test(text) || (isWithin(raised, 'num') && /^\p{L}$/u.test(text))
}

/**
 * A schedule or an annex: provisions in it are cited with its name, because their numbers are those of others. The name
 * is the heading of its attachment, or an alias of its own document in a component.
 */
function scheduleOf(element: MarkupElement): Role | undefined {
  const base = { is: 'unit', kind: 'schedule', level: 'division' } as const
  if (element.name === 'attachment')
    return isNamed(element) ? { ...base, anchor: attribute(element, 'eId', 'id') } : undefined
  const { parent } = element
  if (parent === undefined || !['attachment', 'component'].includes(parent.name) || isNamed(parent)) return undefined
  const label =
    attribute(at(element, 'meta', 'identification', 'FRBRWork', 'FRBRalias'), 'value') ?? nameOfAnnex(element)
  return /^schedule|^annex|^appendix/i.test(attribute(element, 'name') ?? '') && label !== undefined
    ? { ...base, anchor: attribute(parent, 'eId', 'id'), label }
    : undefined
}

/** Switzerland writes the number or the name of an annex into its preface. */
function nameOfAnnex(annex: MarkupElement): string | undefined {
  const preface = at(annex, 'preface')
  const blocks = preface === undefined ? [] : [...descendants(preface)]
  const named = (name: string) => blocks.find((each) => each.name === 'block' && attribute(each, 'name') === name)
  return textOf(named('num'), 'authorialNote') ?? textOf(named('heading'), 'authorialNote')
}

function isNamed(attachment: MarkupElement): boolean {
  return elementsOf(attachment).some(({ name }) => name === 'heading')
}

/** The document in an attachment with a name is the attachment. */
function isUnit({ name, parent }: MarkupElement): boolean {
  if (name === 'doc' && parent?.name === 'attachment' && isNamed(parent)) return false
  return !WRAPPERS.has(name) && (DIVISIONS.has(name) || PASSAGES.has(name) || PARTS.has(name))
}

function unitOf(element: MarkupElement): Role {
  const { name } = element
  const anchor = attribute(element, 'eId', 'id')
  const container = nameOfContainer(element)
  const kind = CONTAINERS.get(container) ?? (NAMED_PASSAGES.has(container) ? container : name)
  const base = { is: 'unit', kind, anchor } as const
  if (DIVISIONS.has(name) || CONTAINERS.has(container) || isHeadingOfJudgment(element))
    return { ...base, level: 'division' }
  const holds = holdsPassages(element)
  if (isPassage(element)) return { ...base, level: holds ? 'division' : 'passage' }
  return { ...base, level: holds ? 'division' : 'part' }
}

/** The numbered paragraphs of a judgment are cited, whatever heading they stand under. */
function isHeadingOfJudgment(element: MarkupElement): boolean {
  if (element.name !== 'level' || !isWithin(element, 'judgmentBody') || isWithin(element, 'paragraph')) return false
  return elementsOf(element).some(
    (each) => (each.name === 'paragraph' && at(each, 'num') !== undefined) || isHeadingOfJudgment(each),
  )
}

function nameOfContainer(element: MarkupElement): string {
  return element.name === 'hcontainer' ? foldKey(attribute(element, 'name') ?? '') : ''
}

function isPassage(element: MarkupElement): boolean {
  return PASSAGES.has(element.name) || NAMED_PASSAGES.has(nameOfContainer(element))
}

/** Whether a provision holds another one that a citation names by itself. */
function holdsPassages(element: MarkupElement): boolean {
  const waiting = [...elementsOf(element)]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (['quotedStructure', 'embeddedStructure', 'authorialNote'].includes(next.name)) continue
    if (isPassage(next)) return true
    stack(waiting, elementsOf(next))
  }
  return false
}

function citationOf(provision: CitedProvision, fields: DocumentFields): Citation {
  const [, type, year, number] =
    /legislation\.gov\.uk\/(?:id\/)?(ukpga|uksi)\/(\d{4})\/(\d+)/.exec(fields.identifier ?? '') ?? []
  const act = type === undefined ? undefined : `${type}:${year}/${number}`
  // The number of a level says nothing without its heading.
  const kind = provision.kind === 'level' && provision.heading !== '' ? 'heading' : provision.kind
  return wordsCitation({ ...provision, kind, around: namesAround(provision) }, fields, act)
}

/**
 * Articles are numbered through the sections of an act. What a later act has added to it, as transitional provisions,
 * has numbers of its own.
 */
function namesAround({ kind, around }: CitedProvision): CitedProvision['around'] {
  return around
    .filter((each) => kind !== 'article' || each.kind !== 'section')
    .map((each) =>
      ['transitional', 'proviso'].includes(each.kind) && each.heading !== '' ? { ...each, kind: 'schedule' } : each,
    )
}
