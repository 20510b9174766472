import type { Citation, DocumentFields, ReadDate } from './document.ts'
import { dayInWords, languageTag, type CitedProvision } from './format.ts'
import NAMES from './names/words.json' with { type: 'json' }
import { wordsCitation } from './words-citation.ts'

/** Words for the kinds of acts of the European Union, by the letter that a CELEX number has for it (sector 3). */
const INSTRUMENTS = Object.entries(NAMES.instruments).map(
  ([letter, words]) => [new RegExp(words, 'iu'), letter] as const,
)

/** Returns the letter of the kind of act that a title names first. */
export function instrumentIn(title: string): string | undefined {
  const found = INSTRUMENTS.map(([words, letter]) => ({ letter, at: words.exec(title)?.index ?? Infinity }))
  return found.filter(({ at }) => at < Infinity).toSorted((a, b) => a.at - b.at)[0]?.letter
}

const VALUES: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.celex))

/** Returns the CELEX number of an act of sector 3: `32016R0679`. */
export function celexOf(
  year: string | undefined,
  number: string | undefined,
  kind: string | undefined,
): string | undefined {
  const letter = VALUES.get(kind ?? '') ?? (kind?.length === 1 ? kind : undefined)
  if (letter === undefined || year === undefined || number === undefined || !/^\d{1,4}$/.test(number)) return undefined
  const full = /^\d{4}$/.test(year) ? year : /^\d{2}$/.test(year) ? `19${year}` : undefined
  return full === undefined ? undefined : `3${full}${letter}${number.padStart(4, '0')}`
}

const LANGUAGES = 'BG CS DA DE EL EN ES ET FI FR GA HR HU IT LT LV MT NL PL PT RO SK SL SV'.split(' ')

/** Returns the page of an act on EUR-Lex, in its language. */
export function addressOf(celex: string | undefined, language: string | undefined): string | undefined {
  if (celex === undefined) return undefined
  const shown = LANGUAGES.find((each) => languageTag(each) === language?.slice(0, 2)) ?? 'EN'
  return `https://eur-lex.europa.eu/legal-content/${shown}/TXT/?uri=CELEX:${celex}`
}

const CORRIGENDUM =
  /^\s*(?:corrigend|berichtigung|rectificatif|correcci[oó]n de errores|rettifica|retifica[cç]|rectifica(?:re|tie)|sprostowanie|berigtigelse|r[aä]ttelse|oikaisu|oprava|korigend|helyesb[ií]t|διορθωτικ|поправка|popravek|ispravak|parandus|k[lļ]ūdu labojums|klaidų ištaisymas|rettifika)/iu
/** A day before a number: the number is that of another act, which this one amends or implements. */
const DAY = /\d{1,2}\.?\s+(?:de\s+)?\p{L}{3,}\.?\s+(?:de\s+)?\d{4}/u
/** `(EU) 2016/679`, `(EEC) No 2658/87`, `95/46/EC`: before letters, the year comes first. */
const NUMBER =
  /(?:\((?:EU|EC|EEC|Euratom|UE|CE|EG|EWG)[^)]*\)|\b)\s*(?:No|Nr\.?|n[°o]\.?)?\s*(\d{1,4})\/(\d{1,4})(?!\d)(\/\p{Lu}{2,})?/u
const NUMBER_IN_BRACKETS = /\((\d{2,4})\/(\d{1,4})(\/\p{Lu}{2,7})\)/u

/** Whether a title is that of a correction of an act, which has a number of its own. */
export function isCorrigendum(title: string): boolean {
  return CORRIGENDUM.test(title)
}

/**
 * Returns the number of an act in its title. Where a day comes first, its own number is the one in brackets: `Decision of
 * 3 May 2007 … (2007/363/EC)`; any other is that of an act which it amends or implements.
 */
function ownNumber(title: string): RegExpExecArray | null {
  const found = NUMBER.exec(title)
  return found !== null && DAY.test(title.slice(0, found.index)) ? NUMBER_IN_BRACKETS.exec(title) : found
}

/** Returns the kind and number of an act, or its kind, day and number, without what it is about. */
function shortTitle(title: string): string {
  const [short] = /^.{0,120}?\d{1,4}\/\d{1,4}(?:\/\p{Lu}{2,4})?/u.exec(title) ?? []
  const day = DAY.exec(short ?? '')
  if (short === undefined || day === null) return short ?? title
  return `${title.slice(0, day.index + day[0].length)} ${NUMBER_IN_BRACKETS.exec(title)?.[0] ?? ''}`.trim()
}

/** Returns the CELEX number of an act by the number in its title: `Regulation (EU) 2016/679`, `(EU) No 604/2013`. */
export function celexInTitle(title: string): string | undefined {
  const start = title.slice(0, 120)
  const named = INSTRUMENTS.some(([words]) => (words.exec(start)?.index ?? 99) < 30)
  if (!named || isCorrigendum(title) || /proposal|resolution/i.test(start)) return undefined
  const [, first, second, letters] = ownNumber(title) ?? []
  if (first === undefined || second === undefined) return undefined
  const isYear = (written: string): boolean => /^(?:19|20)\d\d$/.test(written)
  const isYearFirst = letters !== undefined || (isYear(first) && !(isYear(second) && /No|Nr|n°/.test(start)))
  const kind = instrumentIn(start)
  return isYearFirst ? celexOf(first, second, kind) : celexOf(second, first, kind)
}

/** Cites a provision of an act of the European Union, whose id is its CELEX number. */
export function euCitation(provision: CitedProvision, fields: DocumentFields): Citation {
  const celex = /^\d\d{4}[A-Z]{1,2}\d{4}$/.exec(fields.identifier ?? '')?.[0]
  const title = /^[A-Z]{3,4}\(\d{4}\) \d/.test(fields.identifier ?? '')
    ? fields.identifier
    : fields.title && shortTitle(fields.title)
  return wordsCitation(provision, { ...fields, title }, celex && `celex:${celex}`)
}

/** The day from which the text says, once and in English, that it applies or is in force. */
export function applicationIn(text: string): ReadDate | undefined {
  const found = [...text.matchAll(/It shall (?:apply|enter into force) (?:from|on) (\d{1,2} \p{L}+ \d{4})/gu)]
  const days = new Set(found.map(([, written]) => dayInWords(written)))
  const [day] = days
  return days.size !== 1 || day === undefined ? undefined : { day, rule: 'application' }
}
