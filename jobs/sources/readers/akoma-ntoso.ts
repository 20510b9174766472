import { foldCode } from '#core/identity/fold.ts'
import { attribute, at, descendants, elementsOf, firstNamed, stack, textOf } from './tree.ts'
import type { MarkupElement } from './tree.ts'
import { dayIn, endIn, languageTag } from './format.ts'
import type { CitedProvision, MarkupFormat, ReadTree } from './format.ts'
import type { Citation, DocumentFields, ReadDate } from './document.ts'
import { wordsCitation } from './words-citation.ts'
import type { Role } from './roles.ts'
import { parseXml } from './xml.ts'

/** Elements of the hierarchy that structure others (Akoma Ntoso 1.0, section 5.4). */
const DIVISIONS = new Set(
  'part title chapter book tome division subdivision subpart subtitle subchapter act bill doc statement amendment debateReport judgment documentCollection component attachment coverPage preface preamble conclusions header body mainBody judgmentBody collectionBody portionBody introduction background arguments remedies motivation decision debateBody recitals citations'.split(
    ' ',
  ),
)
/** Provisions that a citation names, unless one of them holds another. */
const PASSAGES = new Set(['section', 'article', 'rule', 'recital'])
const PARTS = new Set(
  'paragraph subparagraph subsection clause subclause point indent alinea list sublist subrule proviso transitional level hcontainer tblock item'.split(
    ' ',
  ),
)
/** They hold the whole document and are no part of its structure. */
const WRAPPERS = new Set(['body', 'mainBody', 'components', 'attachments', 'component', 'attachment', 'collectionBody'])
const BLOCKS = new Set(
  'p block blockContainer container intro wrapUp content listIntroduction listWrapUp blockList longTitle formula citation caption foreign address scene narrative summary from speech question answer other toc ul ol blockQuote'.split(
    ' ',
  ),
)

/** Akoma Ntoso of every version, and LegalDocML.de. */
export const AKOMA_NTOSO: MarkupFormat = {
  format: 'akoma-ntoso',
  parse: parseXml,
  recognises: ({ kind, root }) => kind === 'xml' && root === 'akomaNtoso',
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
  switch (name) {
    case 'meta':
    case 'presentation':
    case 'style':
      return { is: 'omit', rule: 'metadata' }
    case 'toc':
    case 'tocItem':
      return { is: 'omit', rule: 'table of contents' }
    case 'num':
      return { is: 'label' }
    case 'heading':
    case 'subheading':
    case 'crossHeading':
      return { is: 'heading' }
    case 'authorialNote':
      return { is: 'note' }
    case 'quotedText':
    case 'embeddedText':
      return {
        is: 'marked',
        before: attribute(element, 'startQuote') ?? '',
        after: attribute(element, 'endQuote') ?? '',
      }
    case 'quotedStructure':
    case 'embeddedStructure':
      return { is: 'quote' }
    case 'li':
      return { is: 'item', mark: '-' }
    case 'tr':
      return { is: 'row' }
    case 'td':
    case 'th':
      return { is: 'cell' }
    case 'sup':
      return { is: 'marked', before: '^', after: '' }
    case 'br':
    case 'eol':
      return { is: 'break' }
    default:
      return {
        is:
          BLOCKS.has(name) || name === 'doc' || (quoted && (PARTS.has(name) || PASSAGES.has(name)))
            ? 'block'
            : 'inline',
      }
  }
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
  const label = attribute(at(element, 'meta', 'identification', 'FRBRWork', 'FRBRalias'), 'value')
  return /^schedule|^annex|^appendix/i.test(attribute(element, 'name') ?? '') && label !== undefined
    ? { ...base, anchor: attribute(parent, 'eId', 'id'), label }
    : undefined
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
  const base = { is: 'unit', kind: name, anchor } as const
  if (DIVISIONS.has(name)) return { ...base, level: 'division' }
  const holds = holdsPassages(element)
  if (PASSAGES.has(name)) return { ...base, level: holds ? 'division' : 'passage' }
  return { ...base, level: holds ? 'division' : 'part' }
}

/** Whether a provision holds another one that a citation names by itself. */
function holdsPassages(element: MarkupElement): boolean {
  const waiting = [...elementsOf(element)]
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (['quotedStructure', 'embeddedStructure', 'authorialNote'].includes(next.name)) continue
    if (PASSAGES.has(next.name)) return true
    stack(waiting, elementsOf(next))
  }
  return false
}

function fieldsOf({ tree: { root } }: ReadTree): DocumentFields {
  const meta = firstNamed(root, 'meta')
  const identification = at(meta, 'identification')
  const work = at(identification, 'FRBRWork')
  const expression = at(identification, 'FRBRExpression')
  const uri = attribute(at(work, 'FRBRuri'), 'value') ?? attribute(at(work, 'FRBRthis'), 'value')
  const keywords = at(meta, 'classification')
  return {
    title: titleOf(root, work),
    identifier: uri,
    language: languageTag(attribute(at(expression, 'FRBRlanguage'), 'language') ?? attribute(root, 'lang')),
    jurisdiction: countryOf(
      attribute(at(work, 'FRBRcountry'), 'value') ?? /\/akn\/([a-z]{2}(?:-[a-z]+)?)\//.exec(uri ?? '')?.[1],
    ),
    authority: authorOf(work, root),
    subjects: keywords === undefined ? [] : elementsOf(keywords).flatMap((each) => attribute(each, 'showAs') ?? []),
    url: urlOf(uri),
    ...datesOf(meta, work, expression),
  }
}

function titleOf(root: MarkupElement, work: MarkupElement | undefined): string | undefined {
  const named =
    work === undefined
      ? undefined
      : elementsOf(work).find(
          (each) =>
            each.name === 'FRBRalias' &&
            !['CELEXnumber', 'COMnumber', 'übergreifende-id'].includes(attribute(each, 'name') ?? ''),
        )
  const shown = textOf(firstNamed(root, 'docTitle'))
  return (
    shown ??
    attribute(named, 'value') ??
    textOf(firstNamed(root, 'longTitle')) ??
    textOf(firstNamed(root, 'shortTitle'))
  )
}

function countryOf(code: string | undefined): string | undefined {
  const written = code === undefined ? undefined : foldCode(code)
  return written === 'UK' ? 'GB' : written
}

/** The author by the name that the document's references give. */
function authorOf(work: MarkupElement | undefined, root: MarkupElement): string | undefined {
  const href = attribute(at(work, 'FRBRauthor'), 'href')
  if (href === undefined) return undefined
  const references = firstNamed(root, 'references')
  const found =
    references &&
    elementsOf(references).find((each) =>
      [attribute(each, 'eId', 'id'), attribute(each, 'href')].includes(href.replace(/^#/, '')),
    )
  return attribute(found, 'showAs')
}

function urlOf(uri: string | undefined): string | undefined {
  if (uri === undefined) return undefined
  if (/^https?:\/\//.test(uri)) return uri
  if (uri.startsWith('eli/bund/')) return `https://www.recht.bund.de/${uri}`
  return undefined
}

type Dates = Pick<DocumentFields, 'publishedAt' | 'effectiveFrom' | 'effectiveTo'>

/**
 * Published: the date of publication, else of the work. In force: what an event of entry into force says, but not
 * before the expression itself; else the date of the expression.
 */
function datesOf(
  meta: MarkupElement | undefined,
  work: MarkupElement | undefined,
  expression: MarkupElement | undefined,
): Dates {
  const announced =
    dayIn(attribute(at(meta, 'publication'), 'date')) ?? dateNamed(work, /verk(?:ue|ü)ndungsdatum|publi/i)
  // A publisher may state the day of issue and the day of publication.
  const ofExpression = datesNamed(expression, /./).toSorted().at(-1)
  const events = meta === undefined ? [] : [...descendants(meta)].filter(({ name }) => name === 'eventRef')
  const inForce = events.find((each) =>
    /inkraft|entry-?into-?force|in-?force/i.test(attribute(each, 'refersTo', 'type') ?? ''),
  )
  const ended = events.find((each) => /au(?:ss|ß)erkraft|repeal/i.test(attribute(each, 'refersTo', 'type') ?? ''))
  const published = announced ?? dateNamed(work, /./)
  const entered = dayIn(attribute(inForce, 'date'))
  const isLater = entered !== undefined && (ofExpression === undefined || entered >= ofExpression)
  const from: ReadDate | undefined = isLater
    ? { day: entered }
    : ofExpression === undefined
      ? undefined
      : { day: ofExpression, rule: 'expression' }
  return {
    publishedAt:
      published === undefined
        ? undefined
        : announced === undefined
          ? { day: published, rule: 'enactment' }
          : { day: published },
    effectiveFrom: from,
    effectiveTo: dayOrNone(endIn(attribute(ended, 'date'), ended?.line)),
  }
}

function dayOrNone(day: string | undefined): ReadDate | undefined {
  return day === undefined ? undefined : { day }
}

function dateNamed(level: MarkupElement | undefined, name: RegExp): string | undefined {
  return datesNamed(level, name)[0]
}

function datesNamed(level: MarkupElement | undefined, name: RegExp): readonly string[] {
  const dates = level === undefined ? [] : elementsOf(level).filter((each) => each.name === 'FRBRdate')
  return dates
    .filter((each) => name.test(attribute(each, 'name') ?? 'date'))
    .flatMap((each) => dayIn(attribute(each, 'date')) ?? [])
}

function citationOf(provision: CitedProvision, fields: DocumentFields): Citation {
  const [, type, year, number] =
    /legislation\.gov\.uk\/(?:id\/)?(ukpga|uksi)\/(\d{4})\/(\d+)/.exec(fields.identifier ?? '') ?? []
  const act = type === undefined ? undefined : `${type}:${year}/${number}`
  return wordsCitation(provision, fields, act)
}
