import { at as below, attribute, childNamed, childrenNamed, type MarkupElement } from './tree.ts'
import NAMES from './names/docx.json' with { type: 'json' }
import { counted } from './written-number.ts'

/** One level of a list of Word (ECMA-376, part 1, section 17.9). */
interface Level {
  readonly start: number
  readonly format: string
  /** The number as it is written: `%1` is that of the first level. */
  readonly text: string
  readonly style: string | undefined
  readonly isLegal: boolean
  readonly isApart: boolean
  /** It begins anew after a paragraph of this level or of one further out, from 1; 0: never. */
  readonly restart: number
}

interface List {
  readonly abstract: string
  /** Levels that this list begins anew, with their first number. */
  readonly starts: ReadonlyMap<number, number>
  /** Levels that it writes in its own way. */
  readonly own: ReadonlyMap<number, Level>
}

/** What a paragraph says of its number, itself or by its style. */
export interface ListPlace {
  readonly list: string | undefined
  readonly level: number | undefined
  readonly style: string | undefined
}

const LEVELS_MAX = 9

/** Counts the paragraphs of the lists of a Word document, in their order, and returns the number of each. */
export class ListNumbers {
  readonly #levels: ReadonlyMap<string, readonly Level[]>
  readonly #lists: ReadonlyMap<string, List>
  readonly #styles: Styles
  readonly #links: ReadonlyMap<string, string>
  readonly #counts = new Map<string, (number | undefined)[]>()
  readonly #begun = new Set<string>()

  constructor(lists: MarkupElement | undefined, styles: Styles) {
    this.#styles = styles
    this.#levels = new Map(
      childrenNamed(lists, 'abstractNum').map((each) => [idOf(each, 'abstractNumId'), levelsOf(each)]),
    )
    this.#links = new Map(
      childrenNamed(lists, 'abstractNum').flatMap((each) => {
        const style = valueOf(each, 'numStyleLink')
        return style === undefined ? [] : [[idOf(each, 'abstractNumId'), style] as const]
      }),
    )
    this.#lists = new Map(childrenNamed(lists, 'num').map((each) => [idOf(each, 'numId'), listOf(each)]))
  }

  /** The number of the next paragraph, with a space where Word leaves one; '' for a paragraph in no list. */
  next(paragraph: ListPlace): string {
    const { list: id, level: stated } = this.#placeOf(paragraph)
    const list = this.#linked(this.#lists.get(id ?? ''))
    const levels = [...(this.#levels.get(list?.abstract ?? '') ?? [])]
    for (const [place, own] of list?.own ?? []) levels[place] = own
    const styled = levels.findIndex(({ style }) => style !== undefined && style === paragraph.style)
    const at = stated ?? Math.max(0, styled)
    const level = levels[at]
    if (id === undefined || list === undefined || level === undefined) return ''
    const counts = this.#counts.get(list.abstract) ?? []
    this.#counts.set(list.abstract, counts)
    const first = this.#begun.has(`${id} ${at}`) ? undefined : list.starts.get(at)
    this.#begun.add(`${id} ${at}`)
    counts[at] = first ?? (counts[at] === undefined ? level.start : counts[at] + 1)
    for (let deeper = at + 1; deeper < counts.length; deeper += 1)
      if (at < (levels[deeper]?.restart ?? deeper)) counts[deeper] = undefined
    const number = level.format === 'bullet' ? '•' : numbered(level, levels, counts)
    return number === '' ? '' : `${number}${level.isApart ? ' ' : ''}`
  }

  /** A list may be that of a style, which another list defines. */
  #linked(list: List | undefined): List | undefined {
    const style = this.#links.get(list?.abstract ?? '')
    if (list === undefined || style === undefined) return list
    const defined = this.#lists.get(valueOf(below(this.#styles(style)[0], 'pPr', 'numPr'), 'numId') ?? '')
    return { ...list, abstract: defined?.abstract ?? list.abstract }
  }

  /** The list and level of a paragraph: its own, else those of its style or of one that this is based on. */
  #placeOf(paragraph: ListPlace): Pick<ListPlace, 'list' | 'level'> {
    let { list, level } = paragraph
    for (const style of list === undefined ? this.#styles(paragraph.style) : []) {
      const stated = below(style, 'pPr', 'numPr')
      list ??= valueOf(stated, 'numId')
      level ??= numberOf(stated, 'ilvl')
      if (list !== undefined) break
    }
    return { list, level }
  }
}

const FORMATS: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.formats))

function idOf(element: MarkupElement, name: string): string {
  return attribute(element, name) ?? ''
}

function numberOf(parent: MarkupElement | undefined, name: string): number | undefined {
  const value = Number(valueOf(parent, name) ?? Number.NaN)
  return Number.isSafeInteger(value) && value >= 0 ? value : undefined
}

function levelsOf(list: MarkupElement): readonly Level[] {
  const levels: Level[] = []
  for (const each of childrenNamed(list, 'lvl').slice(0, LEVELS_MAX)) levels[placeOf(each)] = levelOf(each)
  return levels
}

/** Position of a level, from 0. */
function placeOf(level: MarkupElement): number {
  const place = Number(attribute(level, 'ilvl') ?? 0)
  return Number.isSafeInteger(place) && place >= 0 && place < LEVELS_MAX ? place : 0
}

function levelOf(level: MarkupElement): Level {
  return {
    start: numberOf(level, 'start') ?? 0,
    format: valueOf(level, 'numFmt') ?? 'decimal',
    text: valueOf(level, 'lvlText') ?? '',
    style: valueOf(level, 'pStyle'),
    isLegal: childNamed(level, 'isLgl') !== undefined,
    isApart: valueOf(level, 'suff') !== 'nothing',
    restart: numberOf(level, 'lvlRestart') ?? placeOf(level),
  }
}

function listOf(list: MarkupElement): List {
  const overrides = childrenNamed(list, 'lvlOverride').slice(0, LEVELS_MAX)
  const starts = overrides.flatMap((each) => {
    const start = numberOf(each, 'startOverride')
    return start === undefined ? [] : [[placeOf(each), start] as const]
  })
  const own = overrides.flatMap((each) =>
    childrenNamed(each, 'lvl').map((level) => [placeOf(each), levelOf(level)] as const),
  )
  return { abstract: valueOf(list, 'abstractNumId') ?? '', starts: new Map(starts), own: new Map(own) }
}

function numbered({ text, isLegal }: Level, levels: readonly Level[], counts: readonly (number | undefined)[]): string {
  return text
    .replaceAll(/%([1-9])/g, (_, digit: string) => {
      const at = Number(digit) - 1
      const level = levels[at]
      const count = counts[at] ?? level?.start ?? 1
      return isLegal ? String(count) : counted(count, FORMATS.get(level?.format ?? ''))
    })
    .trim()
}

const STYLES_MAX = 20

/** A style of a Word document by its id, or else the usual one of a type, then those that it is based on. */
export type Styles = (id: string | undefined, type?: 'paragraph' | 'table') => readonly MarkupElement[]

export function stylesOf(root: MarkupElement | undefined): Styles {
  const all = childrenNamed(root, 'style')
  const byId = new Map(all.map((each) => [attribute(each, 'styleId') ?? '', each] as const))
  const usual = all.filter((each) => /^(?:1|true|on)$/.test(attribute(each, 'default') ?? ''))
  return (id, type) => {
    const chain: MarkupElement[] = []
    const first = byId.get(id ?? '') ?? usual.find((each) => attribute(each, 'type') === type)
    for (let next = first; next !== undefined; next = byId.get(valueOf(next, 'basedOn') ?? ''))
      if (chain.push(next) === STYLES_MAX) break
    return chain
  }
}

export function valueOf(parent: MarkupElement | undefined, name: string): string | undefined {
  return attribute(childNamed(parent, name), 'val')
}
