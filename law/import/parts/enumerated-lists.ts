import { firstIndex } from '#core/platform/first-index.ts'
import { romanOf } from '#law/readers/written-number.ts'

/** Words below a list that end its sentence: `(a) …; or (b) …;` and then `commits an offence`. */
interface Closing {
  /** Offset of the first item of the list, and that of the words. */
  readonly from: number
  readonly at: number
}

/** An enumerated list in which a line of a text stands, outermost first among several. */
interface OpenList {
  readonly style: string
  last: number
  readonly indent: number
  /** Whether the lines of an item are indented below its mark; undefined while an item has one line. */
  hanging: boolean | undefined
  /** The text that introduces the list, from its item or paragraph on; empty where nothing does. */
  readonly leadIn: string
  itemStart: number
  /** Offset of the first item. */
  readonly start: number
  /** Of a table: a row of its head that is not yet in what introduces it. */
  readonly head?: string | undefined
}

/** Marks at the start of an item: `(1)`, `(a)`, `(iv)`, `2a.`, `b)`, `aa)`, `[1]`, `1°`, `1.1`, `(1bis)`, or a bullet. */
const MARK =
  /^(\s*)(?:([([])?(\d{1,4}(?:\s?(?:bis|ter|quater|quinquies|sexies)|\p{Ll}{0,2})|\p{L}{1,4})([.)\]°º])|(\d{1,4}(?:\.\d{1,4})+)\.?|([-–—•*●▪]))(?=\s|$)/u
/** Figures and syllables in wide type before a wide sign, and figures in circles. */
const FIGURE =
  /^\s*(（?)(?:([①-⑳])|(?:([\d０-９]{1,3})|([一二三四五六七八九十百]{1,4})|[イロハニホヘトチリヌ])(?=[\u3000、．）]))/u
/** First letters of alphabets, after `a`. */
const FIRST_LETTERS = 'аαაաאا가ก'
/** Of items without a mark below a line that introduces them, and of the rows of a table below its head. */
const INTRODUCES = /[:—–]\s*$/
/** Of the paragraph after the last item; a conjunction alone stands between items. */
const CLOSES = /^\s*\p{Ll}\S*\s+\S/u
const [PLAIN, TABLE] = ['(plain', '(table'] as const

interface Numbered {
  readonly style: string
  readonly number: number
}

/**
 * Returns a function that gives the lead-ins of the lists in which an offset of a text lies, outermost first, and the
 * closing words of the lists. A list begins with a first number or an unknown kind of number; what stands before it in
 * its item introduces it, unless that ends a sentence. A paragraph without a number that is indented no further than a
 * list of indented items ends it.
 */
export function listsOf(text: string) {
  const closings: Closing[] = []
  const starts: number[] = []
  const chains: (readonly string[])[] = []
  const separator = /\n[^\S\n]*\n/.test(text) ? /\n[^\S\n]*\n/ : /\n/
  let open: readonly OpenList[] = []
  let [from, afterBlank, previous] = [0, true, '']
  for (const { index, 0: line } of text.matchAll(/[^\n]*(?:\n|$)/g)) {
    if (line === '') break
    const indent = indentOf(line)
    const items = numbersOf(line)
    const isRow = /^\s*\||\s\|(?:\s|$)/.test(line)
    const before = (): string => text.slice(open.at(-1)?.itemStart ?? from, index)
    const place = { indent, at: index, leadIn: () => introduction(before(), separator) }
    const lastBefore = (): string => before().trim().split(separator).at(-1)?.trim() ?? ''
    const isParagraph = items.length === 0 && !isRow && (afterBlank || separator.source === '\\n')
    const closed = isParagraph && CLOSES.test(line) && /[;,]\s*$/.test(previous) ? closedAt(open, indent) : undefined
    if (closed !== undefined) closings.push({ from: closed.start, at: index })
    if (isRow) open = withRow(open, line, { ...place, leadIn: lastBefore })
    else if (line.trim() !== '') open = open.filter(({ style }) => style !== TABLE)
    if (isRow) previous = line
    else if (items.length > 0) open = withItem(open, items, place)
    else if (afterBlank && line.trim() !== '') {
      // Numbers in brackets count paragraphs, whose lines are rarely indented.
      const ended = open.findIndex((list) => (list.hanging ?? !list.style.startsWith('(')) && list.indent >= indent)
      if (ended !== -1) open = open.slice(0, ended)
      if (open.length === 0 && !INTRODUCES.test(previous)) from = index
    } else if (line.trim() !== '') {
      const last = open.at(-1)
      if (last !== undefined) last.hanging ??= indent > last.indent
    }
    if (!isRow && items.length === 0 && line.trim() !== '') {
      const isDefinition = /,\s*$/.test(previous) && /^\s*[“"‘«„]/u.test(line)
      open = withPlain(open, previous, place, isDefinition || INTRODUCES.test(previous))
      if (open.length === 0 && afterBlank) from = index
    }
    if (line.trim() !== '') previous = line
    afterBlank = line.trim() === ''
    starts.push(index)
    chains.push(open.map(({ leadIn }) => leadIn).filter((leadIn) => leadIn !== ''))
  }
  const leadInsAt = (offset: number): readonly string[] =>
    chains[firstIndex(starts.length, (line) => (starts[line] ?? 0) > offset) - 1] ?? []
  return { leadInsAt, closings }
}

/** The list that a paragraph without a mark closes: the inner one of those that are indented as the paragraph is. */
function closedAt(open: readonly OpenList[], indent: number): OpenList | undefined {
  const around = open.filter((list) => list.style !== PLAIN && list.indent >= indent)
  const least = Math.min(...around.map((list) => list.indent))
  return around.findLast((list) => list.indent === least)
}

/** The lists that are open at a line without a mark: below an introduction it begins a list, and after a sentence ends it. */
function withPlain(
  open: readonly OpenList[],
  previous: string,
  { indent, at, leadIn }: ItemPlace,
  isIntroduced: boolean,
): readonly OpenList[] {
  const last = open.at(-1)
  if (isIntroduced && (last === undefined || last.style === PLAIN))
    return [
      ...open.filter(({ style }) => style !== PLAIN),
      { style: PLAIN, last: 0, indent, hanging: undefined, leadIn: leadIn(), itemStart: at, start: at },
    ]
  if (last?.style !== PLAIN) return open
  return /[.!?。]["'”’»)\]]*\s*$/u.test(previous)
    ? open.slice(0, -1)
    : [...open.slice(0, -1), { ...last, itemStart: at }]
}

/** The lists that are open at a row: below the head of a table, what stands before the table and its head. */
function withRow(open: readonly OpenList[], line: string, { indent, at, leadIn }: ItemPlace): readonly OpenList[] {
  const table = open.at(-1)
  const row = line.trim()
  if (table?.style !== TABLE)
    return [
      ...open,
      { style: TABLE, last: 0, indent, hanging: undefined, leadIn: leadIn(), itemStart: at, start: at, head: row },
    ]
  const { head = '', last } = table
  const isHead = head !== '' && (last === 0 || /\d/.test(row))
  // Words below cells that reach over several columns, or over the next row, are a second row of the head.
  const isWider = /^\|(?:\s*\||.*[^|\s]$)/.test(head) || row.split('|').length > head.split('|').length
  const isItem = MARK.test(row.replace(/^[|\s]+/, ''))
  const isSecond = last === 0 && isWider && !isItem && /^[^\d]*\p{L}[^\d]*$/u.test(row)
  const introduced = isHead ? `${table.leadIn}\n${head}`.trim() : table.leadIn
  return [...open.slice(0, -1), { ...table, leadIn: introduced, last: 1, head: isSecond ? row : undefined }]
}

interface ItemPlace {
  readonly indent: number
  readonly at: number
  readonly leadIn: () => string
}

/** Returns the lists that are open at an item: it continues one of them, or begins one within the last. */
function withItem(
  open: readonly OpenList[],
  items: readonly Numbered[],
  { indent, at, leadIn }: ItemPlace,
): readonly OpenList[] {
  const indexOf = (fits: (list: OpenList, item: Numbered) => boolean): number =>
    open.findLastIndex((list) => items.some((item) => list.style === item.style && fits(list, item)))
  const isOpen = (style: string): boolean => open.some((list) => list.style === style)
  const first = items.find(
    ({ number, style }) => number === 1 || number === BULLET || (Math.floor(number) === 1 && !isOpen(style)),
  )
  const next = indexOf((list, { number }) => number === list.last + 1 || number === BULLET)
  const found = next === -1 && first === undefined ? indexOf(() => true) : next
  const continued = open[found]
  const item = items.find(({ style }) => style === continued?.style) ?? first ?? items[0]
  if (item === undefined) return open
  if (continued !== undefined) return [...open.slice(0, found), { ...continued, last: item.number, itemStart: at }]
  // A first number of a kind that is open at the same indentation begins a list beside that one.
  const beside = open.findIndex((list) => list.style === item.style && list.indent === indent)
  const around = beside === -1 ? open : open.slice(0, beside)
  const introduced = item === first ? leadIn() : ''
  const { style, number: last } = item
  return [...around, { style, last, indent, hanging: undefined, leadIn: introduced, itemStart: at, start: at }]
}

/** The number of every bullet. */
const BULLET = 0

/** Returns what a line may be the number of: `(i)` is the first of Roman numbers and the ninth of letters. */
function numbersOf(line: string): readonly Numbered[] {
  const [figure, open, ...kinds] = FIGURE.exec(line) ?? []
  if (figure !== undefined)
    return [{ style: `${open}${kinds.findIndex(Boolean)}`, number: /^\s*（?[1１一①イ]$/.test(figure) ? 1 : 2 }]
  const [, , bracket = '', written = '', end = '', decimal, bullet] = MARK.exec(line) ?? []
  // `1.31` is the 31st item of the list of `1`.
  const steps = decimal?.split('.') ?? []
  if (decimal !== undefined) return [{ style: `${steps.slice(0, -1).join('.')}.`, number: Number(steps.at(-1)) }]
  if (bullet !== undefined) return [{ style: `${bullet}${indentOf(line)}`, number: BULLET }]
  if (written === '') return []
  const kind = `${bracket}${end}`
  // `1a.` stands between 1 and 2, and begins no list.
  if (/^\d/.test(written))
    return [{ style: `${kind}1`, number: Number.parseInt(written, 10) + (/\d$/.test(written) ? 0 : 0.5) }]
  const isUpper = written === written.toUpperCase()
  const letters = [...written.toLowerCase()]
  const found: Numbered[] = []
  if (new Set(letters).size === 1)
    found.push({
      style: `${kind}${isUpper ? 'A' : 'a'}${letters.length}`,
      number: FIRST_LETTERS.includes(letters[0] ?? '') ? 1 : (letters[0]?.codePointAt(0) ?? 0) - 96,
    })
  const roman = /^x{0,3}(?:ix|iv|v?i{0,3})$/i.test(written) ? romanOf(letters.join('')) : undefined
  if (roman !== undefined) found.push({ style: `${kind}${isUpper ? 'I' : 'i'}`, number: roman })
  return found
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length
}

/** Returns the last paragraph before a list, unless it ends a sentence or holds no word. */
function introduction(before: string, separator: RegExp): string {
  const text = before.trim()
  if (!/\p{L}{2}/u.test(text) || /(?<!다)[.!?;]["'”’»)\]]*$/u.test(text)) return ''
  const paragraphs = text.split(separator)
  const last = paragraphs.at(-1) ?? ''
  const mark = paragraphs.at(-2) ?? ''
  return (/^\s*\S{1,6}\s*$/.test(mark) ? `${mark}\n${last}` : last).trim()
}
