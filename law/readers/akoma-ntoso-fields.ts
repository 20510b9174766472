import { foldCode } from '#core/identity/fold.ts'
import type { DocumentFields, ReaderLoss } from './document.ts'
import NAMES from './names/akoma-ntoso.json' with { type: 'json' }
import { dated, dayIn, endIn, firstAfter, isWithin, languageTag, type ReadTree, type Vocabulary } from './format.ts'
import { allNamed, attribute, at, childrenNamed, descendants, elementsOf, firstNamed, textOf, wordSet } from './tree.ts'
import { FORCE_NOTE, type Standing } from './standing.ts'
import { saysStanding } from './vocabulary.ts'
import type { MarkupElement } from './tree.ts'

/** Codes of ISO 3166-1, alpha-3, of the member states, as the authority tables of the EU write them. */
const COUNTRIES: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.countries))

/** What the metadata of a document of Akoma Ntoso say of it. */
export function fieldsOf({ tree: { root } }: ReadTree): DocumentFields {
  const meta = firstNamed(root, 'meta')
  const identification = at(meta, 'identification')
  const work = at(identification, 'FRBRWork')
  const expression = at(identification, 'FRBRExpression')
  const uri = attribute(at(work, 'FRBRuri'), 'value') ?? attribute(at(work, 'FRBRthis'), 'value')
  const keywords = at(meta, 'classification')
  return {
    title: titleOf(root, work),
    identifier: uri && ofWork(uri, [...datesNamed(work, /./), ...datesNamed(expression, /./)]),
    language: languageTag(codeIn(attribute(at(expression, 'FRBRlanguage'), 'language')) ?? attribute(root, 'lang')),
    jurisdiction: countryOf(
      attribute(at(work, 'FRBRcountry'), 'value') ?? /\/akn\/([a-z]{2}(?:-[a-z]+)?)\//.exec(uri ?? '')?.[1],
    ),
    authority: authorOf(work, root),
    subjects: keywords === undefined ? [] : elementsOf(keywords).flatMap((each) => attribute(each, 'showAs') ?? []),
    url: urlOf(uri),
    ...datesOf(meta, work, expression),
  }
}

/**
 * A publisher may name the consolidated text of a day as a work of its own (`eli/cc/2014/522/20170301` in Switzerland).
 * Without that day the identifier is that of the act, of which such texts are revisions.
 */
function ofWork(uri: string, days: readonly string[]): string {
  const [, act, ...day] = /^(.*)\/(\d{4})(\d{2})(\d{2})$/.exec(uri) ?? []
  return act !== undefined && days.includes(day.join('-')) ? act : uri
}

function titleOf(root: MarkupElement, work: MarkupElement | undefined): string | undefined {
  const named = childrenNamed(work, 'FRBRalias').find(
    (each) => !['CELEXnumber', 'COMnumber', 'übergreifende-id'].includes(attribute(each, 'name') ?? ''),
  )
  const own = (name: string, ...within: readonly string[]) => textOf(ownNamed(root, name, ...within), 'authorialNote')
  return (
    own('docTitle') ??
    attribute(named, 'value') ??
    own('shortTitle', 'coverPage', 'preface') ??
    own('longTitle')?.replace(/(?<=\p{L}{3})\.$/u, '') ??
    own('shortTitle') ??
    nameOfWork(work)
  )
}

/** The first element of a name in the document itself: not in law that it quotes, and not in what is attached to it. */
function ownNamed(root: MarkupElement, name: string, ...within: readonly string[]): MarkupElement | undefined {
  for (const each of descendants(root)) {
    if (each.name !== name || isWithin(each, 'quotedStructure', 'embeddedStructure', 'attachments', 'components'))
      continue
    if (within.length === 0 || isWithin(each, ...within)) return each
  }
  return undefined
}

/** The name by which a work is known (`Smith v Jones`), where it is more than a step of an address (`title`). */
function nameOfWork(work: MarkupElement | undefined): string | undefined {
  const [known, ...others] = childrenNamed(work, 'FRBRname').flatMap((each) => attribute(each, 'value') ?? [])
  return known !== undefined && others.length === 0 && /\s|[^ -~]/u.test(known) ? known : undefined
}

function countryOf(code: string | undefined): string | undefined {
  const written = codeIn(code)
  if (written === undefined) return undefined
  const folded = foldCode(written)
  return COUNTRIES.get(folded) ?? folded
}

/** The code of a country or a language, which may be the last step of the address of an authority table. */
function codeIn(written: string | undefined): string | undefined {
  return written === undefined || !/^https?:/.test(written) ? written : /\/([A-Za-z]{2,3})$/.exec(written)?.[1]
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

/** The id at the end of a reference: `#sec_1`, `~sec_1`, `/akn/xx/act/2001/1#sec_1`. */
function idIn(reference: string | undefined): string {
  return /[^#~]*$/.exec(reference ?? '')?.[0] ?? ''
}

/** The day of the expression, and the intervals of an element at which its text is law. */
function timesOf(read: ReadTree) {
  const meta = firstNamed(read.tree.root, 'meta')
  const day = fieldsOf(read).effectiveFrom?.day
  const keyOf = (element: MarkupElement) => attribute(element, 'eId', 'id', 'GUID') ?? ''
  const days = new Map(allNamed(meta, 'eventRef').map((each) => [keyOf(each), dayIn(attribute(each, 'date'))]))
  const dayOf = (reference: string | undefined): string | undefined => dayIn(reference) ?? days.get(idIn(reference))
  const intervalOf = (each: MarkupElement) => {
    const [start, end] = ['start', 'end'].map((name) => attribute(each, name))
    const [from, to] = [dayOf(start), dayOf(end)]
    const kind = attribute(each, 'refersTo') ?? ''
    const isEndless = end === undefined || end.startsWith('9999')
    const lacks = (start !== undefined && from === undefined) || (!isEndless && to === undefined)
    const isAhead = day !== undefined && from !== undefined && from > day
    const change = firstAfter(day ?? '9999', [from, to])
    return {
      kind,
      change,
      isAhead,
      isIn: !isAhead && (to ?? '9999') > (day ?? ''),
      isUnread: lacks || NO_LAW.test(kind),
    }
  }
  const intervalsIn = (group: MarkupElement) => childrenNamed(group, 'timeInterval').map(intervalOf)
  const groups = new Map(allNamed(meta, 'temporalGroup').map((each) => [keyOf(each), intervalsIn(each)]))
  const intervalsOf = (element: MarkupElement) => {
    const hasOwn = attribute(element, 'start', 'end') !== undefined && !isWithin(element, 'meta')
    return groups.get(idIn(attribute(element, 'period'))) ?? (hasOwn ? [intervalOf(element)] : [])
  }
  return { meta, day, groups, intervalsOf }
}

/** What the attribute `period` of an element says at the day of the expression (Akoma Ntoso 1.0, section 5.8). */
export function createPeriods(read: ReadTree): Pick<Vocabulary, 'standingOf' | 'changeOf'> {
  const { day, intervalsOf } = timesOf(read)
  const standingOf = (element: MarkupElement): Standing | undefined => {
    const intervals = intervalsOf(element)
    if (day === undefined || intervals.length === 0 || intervals.some(({ isIn }) => isIn)) return undefined
    return intervals.every(({ isAhead }) => isAhead) ? 'prospective' : 'ended'
  }
  return {
    standingOf,
    changeOf: (element) =>
      firstAfter(
        '',
        intervalsOf(element).map(({ change }) => change),
      ),
  }
}

/** What an interval is of, where it is of no law. */
const NO_LAW = new RegExp(NAMES.no_law, 'i')
/** Modifications that a text has in it, or that leave it as it is (Akoma Ntoso 1.0, section 5.9). */
const HARMLESS = wordSet(NAMES.modifications)
/** They say from when a text is law: it is, unless their times say otherwise. */
const BEGINS = wordSet(NAMES.beginnings)

/** Periods that name no times of the document, and texts that its analysis says are gone. */
export function unreadPeriods(read: ReadTree): readonly ReaderLoss[] {
  const { meta, day, groups, intervalsOf } = timesOf(read)
  const isEnding = (each: MarkupElement): boolean => {
    const type = attribute(each, 'type') ?? ''
    const times = elementsOf(each).flatMap(intervalsOf)
    return BEGINS.has(type) ? times.some(({ isUnread, isIn }) => isUnread || !isIn) : !HARMLESS.has(type)
  }
  const ended = new Set(
    ['textualMod', 'forceMod', 'efficacyMod', 'scopeMod', 'meaningMod', 'legalSystemMod']
      .flatMap((name) => allNamed(firstNamed(meta, 'passiveModifications'), name))
      .filter(isEnding)
      .flatMap((each) => childrenNamed(each, 'destination').map((to) => idIn(attribute(to, 'href')))),
  )
  const lacksEnd = ({ attributes }: MarkupElement) => attributes.has('duration') && !attributes.has('end')
  const named = (name: string) => (each: MarkupElement) => ({ name, count: 1, line: each.line })
  const isOfNoTime = (each: MarkupElement): boolean => {
    const times = intervalsOf(each)
    const period = attribute(each, 'period')
    if (times.length === 0 || day === undefined) return (period ?? times[0]) !== undefined
    const kinds = [...Map.groupBy(times, ({ kind }) => kind).values()]
    const isInPart = times.some(({ isIn }) => isIn) && !kinds.every((own) => own.some(({ isIn }) => isIn))
    return isInPart || times.some(({ isUnread }) => isUnread) || (period !== undefined && !groups.has(idIn(period)))
  }
  const isEnded = (each: MarkupElement): boolean =>
    each.standing === undefined &&
    ['eId', 'id', 'wId', 'GUID'].some((name) => ended.has(attribute(each, name) ?? '#')) &&
    textOf(each) !== undefined
  const concepts = allNamed(meta, 'references').flatMap(elementsOf)
  const saysGone = (each: MarkupElement, name: string) => saysStanding(attribute(each, name) ?? '')
  const gone = concepts.filter((each) => saysGone(each, 'showAs') || saysGone(each, 'href'))
  const goneIds = new Set(gone.map((each) => attribute(each, 'eId', 'id')))
  const refers = (each: MarkupElement): boolean => goneIds.has(idIn(attribute(each, 'refersTo')))
  const notes = new Map(allNamed(meta, 'note').map((each) => [attribute(each, 'eId', 'id'), textOf(each)]))
  const isFar = (each: MarkupElement): boolean =>
    each.name === 'noteRef' && FORCE_NOTE.test(notes.get(idIn(attribute(each, 'href'))) ?? '')
  const body = [...descendants(read.tree.root)].filter((each) => !isWithin(each, 'meta'))
  return [
    ...allNamed(meta, 'timeInterval').filter(lacksEnd).map(named('time that states its duration')),
    ...body.filter(isOfNoTime).map(named('period of unknown times')),
    ...body.filter(isEnded).map(named('text that a modification has ended')),
    ...body.filter(isFar).map(named('note on force far from its text')),
    ...body.filter(refers).map(named('text that refers to an end of its force')),
  ]
}

/** A date of a work or an expression from which it applies, and not one of its making. */
const APPLIES = /applicab|entry-?in(?:to)?-?force|valid-?from/i

/**
 * Published: the date of publication, else of the work. In force: what an event of entry into force says, but not
 * before the expression itself; else the day from which the expression applies; else the date of the expression.
 */
function datesOf(
  meta: MarkupElement | undefined,
  work: MarkupElement | undefined,
  expression: MarkupElement | undefined,
): Pick<DocumentFields, 'publishedAt' | 'effectiveFrom' | 'effectiveTo'> {
  const announced =
    dayIn(attribute(at(meta, 'publication'), 'date')) ??
    dateNamed(work, /verk(?:ue|ü)ndungsdatum|publi/i) ??
    dayOfOntology(meta, 'publicationDate')
  const applies = datesNamed(expression, APPLIES).toSorted().at(-1) ?? dayOfOntology(meta, 'dateEntryInForce')
  // A publisher may state the day of issue and the day of publication.
  const ofExpression = datesNamed(expression, /./).toSorted().at(-1)
  const events = allNamed(meta, 'eventRef')
  const inForce = events.find((each) =>
    /inkraft|entry-?into-?force|in-?force/i.test(attribute(each, 'refersTo', 'type') ?? ''),
  )
  const ended = events.find((each) => /au(?:ss|ß)erkraft|repeal/i.test(attribute(each, 'refersTo', 'type') ?? ''))
  const issued = dateNamed(work, /^(?!.*(?:applicab|force|valid))/i)
  const entered = dayIn(attribute(inForce, 'date'))
  const isLater = entered !== undefined && (ofExpression === undefined || entered >= ofExpression)
  return {
    publishedAt: dated(announced) ?? dated(issued, 'enactment'),
    effectiveFrom: dated(isLater ? entered : applies) ?? dated(ofExpression, 'expression'),
    effectiveTo: dated(endIn(attribute(ended, 'date'), ended?.line)),
  }
}

/** What the ontology JOLux states beside the identification (Luxembourg). */
function dayOfOntology(meta: MarkupElement | undefined, name: string): string | undefined {
  return dayIn(textOf(allNamed(meta, 'jolux').find((each) => attribute(each, 'name', 'scl:name') === name)))
}

function dateNamed(level: MarkupElement | undefined, name: RegExp): string | undefined {
  return datesNamed(level, name)[0]
}

function datesNamed(level: MarkupElement | undefined, name: RegExp): readonly string[] {
  return childrenNamed(level, 'FRBRdate')
    .filter((each) => name.test(attribute(each, 'name') ?? 'date'))
    .flatMap((each) => dayIn(attribute(each, 'date')) ?? [])
}
