import { foldKey } from '#core/identity/fold.ts'
import { firstIndex } from '#core/platform/first-index.ts'
import { ANNEX_RANK, divisionRank } from './eur-lex-divisions.ts'
import NAMES from './names/words.json' with { type: 'json' }
import { romanOf } from './written-number.ts'

/** What a line on its own begins, with the lengths of its parts: signs between them are no text. */
export interface ProvisionMark {
  readonly kind: 'article' | 'section' | 'rule' | 'regulation' | 'division' | 'annex' | 'schedule' | 'title' | 'note'
  readonly rank: number
  /** Offsets in the line of the number with its word, of the heading, and of the text that begins in the line. */
  readonly label: Span
  readonly heading: Span | undefined
  readonly text: Span | undefined
}

type Span = Readonly<{ from: number; to: number }>

interface Found extends ProvisionMark {
  readonly line: number
  /** What is compared where marks count up; undefined for what does not count. */
  readonly order: readonly number[] | undefined
}

/** Words of Latin that follow a number, in their order: `6 bis` before `6 ter`. */
const SUFFIXES = NAMES.suffixes.split(' ')
const LATIN = `(?:${SUFFIXES.join('|')})(?!\\p{L})`
/** A letter apart from its number ends there, or begins no sentence: `Article 1 A`, but not `Section 5 A person`. */
const suffixOf = (letters: string): string =>
  `(?:\\s?-?\\s?(?i:${LATIN})(?:-\\d+)?|-?(?:[A-Z]{1,2}|[a-z])(?!\\p{L})|\\s(?:(?![IVX]{2})[A-Z]{1,2}(?=\\s*(?:$|[(:—–*_-]))|${letters}(?=[\\s*_]*(?:[.(:—–*_-]|\\p{Lu}))|[A-Z](?=\\s${LATIN})|[a-z](?=\\s*(?:$|[.:—–*_-])|\\s\\p{Lu}))(?!\\p{L}))`
/** Ordinals, and by their values the words of which they are made. */
const VALUES = Object.entries(NAMES.ordinals).map(
  ([value, words]) => [Number(value), new RegExp(`^(?:${words})$`, 'iu')] as const,
)
const WORD = `(?:${Object.values(NAMES.ordinals).join('|')})`
const ALL_WORDS = new RegExp(WORD, 'giu')
const ORDINAL_WORDS = `(?i:${WORD}(?:[\\s-]?${WORD})?|[úu]nic[oa]?|unique)`
const numberOf = (suffix: string): string =>
  `(?i:(?:[LRDA]{1,2}|LO)\\.?\\s?(?:\\*\\s?)?)?\\d+(?:[.-]\\d+)*(?:er|re|\\.?[ºª°](?=${suffix}))?${suffix}{0,3}|${ORDINAL_WORDS}|(?i:[IVXLC]+)`
/** Words before a number, by what they name, in the languages whose law has them. */
const WORD_FIRST = (['article', 'section', 'rule', 'regulation'] as const).map((kind) => {
  const number = numberOf(suffixOf(kind === 'article' ? '[A-HJ-Z]' : '[B-HJ-Z]'))
  const words = `^(?i:${NAMES.provisions[kind]})\\s*(?i:n[º°.]\\s*)?(${number})(?![\\p{Lu}\\p{Ll}\\p{N}])`
  return [kind, new RegExp(words, 'u')] as const
})
/** The number stands before the word: Hungarian, Finnish, Swedish, Lithuanian, Latvian, Slovene. */
const NUMBER_FIRST =
  /^(\d+(?:-\d+)?(?:[\s/-]?[a-z])?)\.?\s?(?:§|straipsnis|pants|člen|cikk|artikla|artikkel)(?![\p{L}\p{N}])/iu
const EAST_ASIAN =
  /^(?:第\s?([\d０-９一二三四五六七八九十百千〇]+)\s?[条條](?:の[\d０-９一二三四五六七八九十]+)*|제\s?(\d+)\s?조(?:의\s?\d+)?)/u
/** Final provisions are counted by words below a line that says so. */
const FINAL = /^disposi(?:ci[oó]n|tion|zion|ç)\p{L}*\s+(?:\p{L}+[\s,]+)*\p{L}+[\s,]*\.?$/iu
const ORDINAL = new RegExp(`^${ORDINAL_WORDS}(?=\\s*[.:—–-])`, 'u')
/** What an editor or a publisher has put between provisions. */
const NOTE =
  /^(?:\(?\*+\)?\s*(?:\*\*)?(?:\p{L}+\s+){1,3}(?:modificad|derogad|incorporad|sustituid|agregad|modifi|abrog|insér|inserted|amended|substituted|repealed|geändert|aufgehoben)|\(\*\)|ver (?:comentario|nota|concordancia)|concordancias?\s*:|\[?enlace web|nota\s?(?:\*\*)*:)/iu

export const SECTION = /^sec[ct]i[oó]n\s/iu
const ARTICLE_RANK = 20
const HEADING_CHARACTERS_MAX = 100

/**
 * Finds the lines that begin provisions of an act which has no headings of its own: each names one, and together they
 * count up. Below the first of them divisions, final provisions and editors' notes are lines too.
 * @param written the lines of the text, undefined for what is none. @returns by number of the line.
 */
export function provisionMarks(written: readonly (string | undefined)[]): ReadonlyMap<number, ProvisionMark> {
  let isCode = false
  const lines = written.map((line = '') => {
    const isFence = /^ {0,3}(?:```|~~~)/.test(line)
    if (isFence) isCode = !isCode
    return isFence || isCode ? undefined : line
  })
  const found = lines.flatMap((line, index) => {
    const mark = line === undefined ? undefined : markOf(line)
    return mark === undefined ? [] : [{ ...mark, line: index }]
  })
  // Sections are divisions of an act that has articles.
  const hasArticles = found.filter(({ kind }) => kind === 'article').length > 1
  const numbered = risingOf(found.filter(({ line }) => !hasArticles || !SECTION.test(bare(lines[line] ?? ''))))
  if (numbered.length < 2 && !/\p{L}\s+(?:[úu]nico?|unique)(?!\p{L})/iu.test(lines[numbered[0]?.line ?? -1] ?? ''))
    return new Map()
  const marks = new Map<number, ProvisionMark>(numbered.map((mark) => [mark.line, mark]))
  let above: ProvisionMark | undefined
  let isFinal = false
  for (const [index, line = ''] of lines.entries()) {
    const known = marks.get(index)
    const other: ProvisionMark | undefined = known ?? otherMark(line, isFinal) ?? titleOf(line, above)
    if (known !== undefined) isFinal = false
    else if (other !== undefined) {
      if (other.kind !== 'title' && other.kind !== 'note')
        isFinal = other.kind === 'schedule' || (isFinal && other.kind === 'article')
      marks.set(index, other)
    }
    if (other !== undefined || line.trim() !== '') above = other
  }
  return marks
}

/** What a line names that is a provision's number, or begins with it; undefined for any other. */
export function provisionKind(line: string): 'article' | 'section' | 'rule' | 'regulation' | undefined {
  const kind = markOf(line)?.kind
  return kind === 'article' || kind === 'section' || kind === 'rule' || kind === 'regulation' ? kind : undefined
}

export function provisionName(written: string): { readonly label: string; readonly heading: string } | undefined {
  const line = written.replace(RAISED_SUFFIX, '$1$2$3').replace(BOLD_BEFORE_SUFFIX, '$1')
  const mark = markOf(line)
  if (mark === undefined) return undefined
  const { label, heading, text } = mark
  const shown = heading ?? text
  return {
    label: line.slice(label.from, label.to),
    heading: shown === undefined ? '' : line.slice(shown.from, shown.to),
  }
}

/** A line without the marks of bold text around it, as it is read and where it begins. */
function bare(line: string): string {
  return line.replaceAll('**', '').trim()
}

/** A line in capitals below that of a division is the heading of the division. */
function titleOf(line: string, above: ProvisionMark | undefined): ProvisionMark | undefined {
  const text = bare(line)
  const isTitle = above?.kind === 'division' && !/\p{Ll}/u.test(text) && /\p{Lu}{2}/u.test(text)
  if (!isTitle || text.length > HEADING_CHARACTERS_MAX * 2) return undefined
  const from = line.indexOf(text)
  return from === -1 ? undefined : { ...above, kind: 'title', heading: { from, to: from + text.length } }
}

function markOf(line: string): Omit<Found, 'line'> | undefined {
  const from = /^[\s*_]*/.exec(line)?.[0].length ?? 0
  const rest = line.slice(from)
  if (!/^[\p{Lu}\p{Lo}§\d]/u.test(rest)) return undefined
  for (const [kind, pattern] of WORD_FIRST) {
    const [all, number] = pattern.exec(rest) ?? []
    if (all !== undefined && number !== undefined) return placed(line, from, all.length, kind, orderOf(number))
  }
  const [all, first, second] = NUMBER_FIRST.exec(rest) ?? EAST_ASIAN.exec(rest) ?? []
  const number = first ?? second
  if (all === undefined || number === undefined) return undefined
  return placed(line, from, all.length, rest.includes('§') ? 'section' : 'article', orderOf(number))
}

/** What follows the number: signs, then a heading, or the text itself. A sentence that goes on is no mark. */
function placed(
  line: string,
  from: number,
  length: number,
  kind: ProvisionMark['kind'],
  order: readonly number[] | undefined,
): Omit<Found, 'line'> | undefined {
  const end = from + length
  const signs = /^(?:\s\/\s|[\s.:;—–ºª°*_-])*/u.exec(line.slice(end))?.[0] ?? ''
  const start = end + signs.length
  const base = { kind, rank: ARTICLE_RANK, order, label: { from, to: end } }
  const rest = line.slice(start).trimEnd()
  if (rest === '') return { ...base, heading: undefined, text: undefined }
  // `Artículo 7 de la Ley` is a part of a sentence; `Art. 7 (Fees)` and `第一条 目的` are not.
  const isApart = /[.:—–ºª°*_/-]/u.test(signs) || /^[\p{Lu}\p{Lo}([（]/u.test(rest)
  if (!isApart || /^[,;)]/.test(line.slice(end))) return undefined
  const isBold = /^[\s]*(?:\*\*|__)/.test(line) && !signs.includes('**') && !signs.includes('__')
  const bold = isBold ? /\*\*|__/.exec(rest) : null
  const headed = bold === null ? rest : rest.slice(0, bold.index)
  const isHeading = bold !== null || (rest.length <= HEADING_CHARACTERS_MAX && !/[.:;,]$/.test(rest))
  if (!isHeading) return { ...base, heading: undefined, text: { from: start, to: line.length } }
  const name = headed.replace(/[\s.:*_-]+$/u, '')
  const after = start + headed.length + (bold?.[0].length ?? 0)
  const heading = name === '' ? undefined : { from: start, to: start + name.length }
  const hasText = /[^\s*_]/.test(line.slice(after))
  return { ...base, heading, text: hasText ? { from: after, to: line.length } : undefined }
}

function otherMark(line: string, isFinal: boolean): ProvisionMark | undefined {
  const text = bare(line)
  const from = line.length - line.trimStart().length + (/^\s*\*\*/.test(line) && !/^\s*\*\*\*/.test(line) ? 2 : 0)
  const whole = { from, to: from + text.length }
  if (text === '' || (line.slice(whole.from, whole.to) !== text && !NOTE.test(text))) return undefined
  if (NOTE.test(line.trim()) || NOTE.test(text))
    return { kind: 'note', rank: 0, label: { from: 0, to: line.length }, heading: undefined, text: undefined }
  const ordinal = isFinal ? ORDINAL.exec(text)?.[0] : undefined
  if (ordinal !== undefined) return placed(line, from, ordinal.length, 'article', undefined)
  const rank = FINAL.test(text) ? TITLE_RANK : divisionRank(text)
  const isDivision = rank !== divisionRank('') && (DIVISION.test(text) || !/\p{Ll}/u.test(text))
  if (!isDivision || text.length > HEADING_CHARACTERS_MAX * 2 || /[.;,]$/.test(text)) return undefined
  const kind = FINAL.test(text) ? 'schedule' : rank === ANNEX_RANK ? 'annex' : 'division'
  return { kind, rank: 10 + rank, label: { from, to: from }, heading: whole, text: undefined }
}

const TITLE_RANK = 3
/** `Titre III : Aide sociale`, `CAPÍTULO II`. */
const DIVISION = /^\p{Lu}\p{L}*\s+(?:[IVXLC]+|\d+\p{L}*|[A-Z]|\p{L}{4,}(?=\s*:))\s*(?:[:.—–-].*)?$/u

const KANJI = '〇一二三四五六七八九'

/** `**Art. 4*a*** Aim`, `**Art. 2**<sup>bis</sup>`, `**Art. 2** a` */
const RAISED_SUFFIX = /^(\D{1,20}\d[\d.-]*(?:\*\*)?\s?)(?:\*(\p{L}{1,16})\*|<sup>\s*(\p{L}{1,16})\s*<\/sup>)/u
const BOLD_BEFORE_SUFFIX = new RegExp(`^\\*\\*([^*]{1,60})\\*\\*(?=${suffixOf('[A-Z]')})`, 'u')
const LAST_WORDS = new RegExp(`^\\p{L}+\\.?\\s+(${ORDINAL_WORDS})$`, 'u')
/** `6 A` stands before `6 bis`. */
const SUFFIX_RANKS: readonly string[] = [...'abcdefghijklmnopqrstuvwxyz', ...SUFFIXES]
const SUFFIX_PARTS = new RegExp(`${LATIN}|[a-z]|\\d+`, 'gu')
/** What is inserted behind an article stands behind its parts. */
const SUFFIX_FROM = 100_000

function orderOf(number: string): readonly number[] | undefined {
  if (/^[一二三四五六七八九十百千〇]+$/.test(number)) return [0, kanjiNumber(number)]
  const folded = foldKey(number.replace(/\.?[ºª°]/, ''))
  const [, prefix = '', digits = '', rest = ''] = /^([lrdao]{0,2})[.\s*]*(\d[\d.-]*)?(.*)$/.exec(folded) ?? []
  if (digits === '') return [0, ordinalOf(number) || (romanOf(folded) ?? 1)]
  const suffixes = rest.replace(/^(?:er|re)(?![a-z])/, '').match(SUFFIX_PARTS) ?? []
  return [
    // Codes of France: laws, then decrees of both kinds by their numbers.
    prefix === '' ? 0 : prefix.startsWith('l') ? 1 : 2,
    ...digits.split(/[.-]/).filter(Boolean).map(Number),
    ...suffixes.map((part) => (/\d/.test(part) ? Number(part) : SUFFIX_FROM + SUFFIX_RANKS.indexOf(part))),
  ]
}

/** The number of a label that writes it as a word: 2 of `Article segon`. */
export function ordinalIn(label: string): string | undefined {
  const word = LAST_WORDS.exec(label)?.[1]
  return word === undefined ? undefined : String(ordinalOf(word) || 1)
}

function ordinalOf(written: string): number {
  const values = (written.match(ALL_WORDS) ?? []).map((word) => VALUES.find(([, each]) => each.test(word))?.[0] ?? 0)
  return values.reduce((sum, value) => sum + value, 0)
}

function kanjiNumber(written: string): number {
  let [sum, digit] = [0, 0]
  for (const sign of written) {
    const unit = { 十: 10, 百: 100, 千: 1_000 }[sign]
    if (unit === undefined) digit = KANJI.indexOf(sign)
    else [sum, digit] = [sum + Math.max(1, digit) * unit, 0]
  }
  return sum + digit
}

/** The longest run of marks that count up; another count may begin at 1, as in an annex. */
function risingOf(found: readonly Found[]): readonly Found[] {
  const runs: Found[][] = [[]]
  for (const mark of found) {
    const last = runs.at(-1)?.at(-1)
    const isFirst = mark.order?.slice(1).join() === '1'
    if (isFirst && last !== undefined && compare(last.order, mark.order) > 0) runs.push([])
    runs.at(-1)?.push(mark)
  }
  return runs.flatMap(longestRising)
}

function longestRising(marks: readonly Found[]): readonly Found[] {
  /** Of each length, the index of the mark with the least number that ends such a run. */
  const ends: number[] = []
  const before: number[] = []
  for (const [index, { order }] of marks.entries()) {
    const length = firstIndex(ends.length, (at) => compare(marks[ends[at] ?? 0]?.order, order) > 0)
    before[index] = ends[length - 1] ?? -1
    ends[length] = index
  }
  const run: Found[] = []
  for (let index = ends.at(-1) ?? -1; index !== -1; index = before[index] ?? -1) {
    const mark = marks[index]
    if (mark !== undefined) run.unshift(mark)
  }
  return run
}

function compare(one: readonly number[] = [], other: readonly number[] = []): number {
  for (let index = 0; index < Math.max(one.length, other.length); index += 1) {
    const difference = (one[index] ?? -1) - (other[index] ?? -1)
    if (difference !== 0) return difference
  }
  return 0
}
