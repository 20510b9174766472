import { foldKey } from '#core/identity/fold.ts'
import { ListNumbers, stylesOf, valueOf, type Styles } from './docx-lists.ts'
import { attribute, at, childNamed, childrenNamed, elementsOf, firstNamed, writtenIn } from './tree.ts'
import type { MarkupElement, MarkupTree } from './tree.ts'
import { TreeBuilder, type OpenElement } from './tree-builder.ts'
import { parseXml } from './xml.ts'

/** Text of the main part and of formulas; that of drawings is not read. */
const TEXT_NAMESPACE = /(?:wordprocessingml|officeDocument\/math|\/2006\/math)(?:\/\d{4}\/main|\/main)?$/
const OFF = new Set(['0', 'false', 'off', 'none'])
/** At their begin and end, nothing waits for a paragraph that joins it. */
const JOINS_NONE = /^(?:p|tbl|tc|txbxContent|footnote|endnote)$/

export interface WordParts {
  readonly document: Buffer
  readonly styles: Buffer | undefined
  readonly numbering: Buffer | undefined
  readonly notes: readonly (Buffer | undefined)[]
  /** Comments, and heads and feet of pages. */
  readonly beside: readonly Buffer[]
}

/**
 * Makes the tree of a Word document: its main part, with each note in place of its first mark. What styles, lists and
 * properties say of an element stands in attributes: `rank` of a heading, `mark` of a number, `standing` of a run.
 */
export function wordTree(parts: WordParts): MarkupTree & { readonly drawn: number } {
  const main = parseXml(parts.document)
  const rootOf = (part: Buffer | undefined) => part && parseXml(part).root
  const copier = new Copier(rootOf(parts.numbering), rootOf(parts.styles), parts.notes.map(rootOf))
  const [root, drawn] = [copier.copy(main.root, undefined), copier.drawn]
  for (const part of parts.beside) copier.copy(parseXml(part).root, root)
  return { root, texts: copier.builder.texts, decoded: main.decoded, drawn }
}

class Copier {
  readonly builder = new TreeBuilder()
  /** Characters of drawings, which are not read. */
  drawn = 0
  readonly #numbers: ListNumbers
  readonly #chain: Styles
  readonly #defaults: MarkupElement | undefined
  readonly #notes: ReadonlyMap<string, MarkupElement>
  readonly #noted = new Set<string>()
  /** Attributes of the paragraph that a deleted end joins to the next one: the number of that one stands there. */
  #joined: Map<string, string> | undefined
  /** Styles of the table around. */
  #table: readonly MarkupElement[] = []

  constructor(
    lists: MarkupElement | undefined,
    styles: MarkupElement | undefined,
    notes: readonly (MarkupElement | undefined)[],
  ) {
    this.#chain = stylesOf(styles)
    this.#numbers = new ListNumbers(lists, this.#chain)
    this.#defaults = at(styles, 'docDefaults', 'rPrDefault', 'rPr')
    this.#notes = new Map(
      notes
        .flatMap((part) => (part === undefined ? [] : elementsOf(part)))
        .map((each) => [`${each.name} ${attribute(each, 'id')}`, each]),
    )
  }

  copy(node: MarkupElement, parent: OpenElement | undefined, style?: string): OpenElement {
    const { name, line, namespace } = node
    const properties = childNamed(node, `${name}Pr`)
    const own = name === 'p' ? valueOf(properties, 'pStyle') : style
    const [joined, table] = [this.#joined, this.#table]
    if (JOINS_NONE.test(name)) this.#joined = undefined
    if (name === 'tbl') this.#table = this.#chain(valueOf(properties, 'tblStyle'), 'table')
    const attributes = new Map([...node.attributes, ...this.#stated(node, own)])
    const element = this.builder.element(parent, { name, line, namespace, attributes })
    if (name === 'p') this.#number(properties, joined ?? attributes)
    // What stands here for newer programs stands again for the others.
    const isTwice = name === 'Choice' && childNamed(node.parent, 'Fallback') !== undefined
    for (const child of isTwice ? [] : node.children)
      if (child.kind === 'element') this.copy(child, element, own)
      else if (name === 't' || name === 'delText') {
        const { value, source } = child
        if (TEXT_NAMESPACE.test(namespace)) this.builder.text(element, { value, line: child.line, source })
        else this.drawn += value.length
      }
    const note = /^(footnote|endnote)Reference$/.exec(name)?.[1]
    const key = `${note} ${attribute(node, 'id')}`
    const held = note === undefined || this.#noted.has(key) ? undefined : this.#notes.get(key)
    if (held !== undefined) {
      this.#noted.add(key)
      for (const child of elementsOf(held)) this.copy(child, element)
    }
    const isEndGone = name === 'p' && isJoined(properties)
    const isKept = isEndGone && (joined !== undefined || isShown(element))
    if (JOINS_NONE.test(name)) this.#joined = isKept ? (joined ?? attributes) : undefined
    if (isKept || (name === 'p' && joined !== undefined)) attributes.set('joined', 'yes')
    else if (isEndGone) attributes.set('joined', 'gone')
    this.#table = table
    return element
  }

  /** What properties and styles say of an element, as attributes. @param style that of its paragraph. */
  #stated(node: MarkupElement, style: string | undefined): readonly (readonly [string, string])[] {
    const stated: [string, string | undefined][] = []
    const properties = childNamed(node, `${node.name}Pr`)
    switch (node.name) {
      case 'p': {
        const chain = this.#chain(style, 'paragraph')
        const named: readonly string[] = chain.map((one) => foldKey(valueOf(one, 'name') ?? ''))
        const styled = chain.map((one) => valueOf(childNamed(one, 'pPr'), 'outlineLvl'))
        const outline = valueOf(properties, 'outlineLvl') ?? styled.find((each) => each !== undefined)
        const rank = named.map((each) => /^heading ?([1-6])$/.exec(each)?.[1]).find(Boolean)
        const byOutline = /^[0-5]$/.test(outline ?? '') ? String(Number(outline) + 1) : undefined
        const kind = named.some((each) => /^toc ?\d/.test(each)) ? 'toc' : named.includes('title') ? 'title' : undefined
        stated.push(['rank', rank ?? byOutline], ['kind', kind])
        break
      }
      case 'r': {
        const own = childrenNamed(node, 'rPr')
        const named = own.flatMap((each) => this.#chain(valueOf(each, 'rStyle')))
        const styles = [...named, ...this.#chain(style, 'paragraph'), ...this.#table]
        const places = [...own, ...styles.map((each) => childNamed(each, 'rPr')), this.#defaults]
        const says = (name: string) => places.map((each) => childNamed(each, name)).find(Boolean)
        stated.push(['standing', own.some((each) => childNamed(each, 'del')) ? 'struck' : goneBy(says)])
        stated.push(['bold', isOn(says('b')) ? 'yes' : undefined], ['raised', attribute(says('vertAlign'), 'val')])
        const color = says('color')
        // Letters of a style stand on the ground that styles state.
        const isOnStyle = color && color.parent?.parent !== node && styles.some((each) => firstNamed(each, 'shd'))
        const isGround = /^(?:background|light)1$/.test(attribute(color, 'themeColor') ?? '')
        stated.push(['colour', isOnStyle === true ? undefined : isGround ? 'ffffff' : attribute(color, 'val')])
        break
      }
      case 'instrText':
        stated.push(['instr', writtenIn(node)])
        break
      case 'tbl': {
        const parts = this.#table.flatMap((each) => childrenNamed(each, 'tblStylePr'))
        const gone = parts.find((part) => goneBy((name) => at(part, 'rPr', name)))
        stated.push(['standing', gone && 'of a part of its table style'])
        break
      }
      case 'tr':
        stated.push(['standing', childNamed(properties, 'del', 'moveFrom') === undefined ? undefined : 'struck'])
        break
      case 'tc':
        stated.push(['standing', childNamed(properties, 'cellDel') === undefined ? undefined : 'struck'])
        stated.push(['colspan', valueOf(properties, 'gridSpan')])
        break
      default:
    }
    return stated.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  }

  /** Counts a paragraph of a list; one whose end is deleted has the number of the next one. */
  #number(properties: MarkupElement | undefined, place: Map<string, string>): void {
    if (isJoined(properties)) return
    const list = childNamed(properties, 'numPr')
    const level = Number(valueOf(list, 'ilvl') ?? Number.NaN)
    const number = this.#numbers.next({
      list: valueOf(list, 'numId'),
      level: Number.isNaN(level) ? undefined : level,
      style: valueOf(properties, 'pStyle'),
    })
    if (number !== '') place.set('mark', number)
  }
}

/** Whether an element has text that no property or change takes away. */
function isShown({ name, attributes, children }: MarkupElement): boolean {
  if (/^(?:del|moveFrom)$/.test(name) || attributes.has('standing')) return false
  return children.some((child) => (child.kind === 'text' ? /\S/.test(child.value) : isShown(child)))
}

function goneBy(says: (property: string) => MarkupElement | undefined): string | undefined {
  if (isOn(says('strike')) || isOn(says('dstrike'))) return 'struck'
  const isHidden = isOn(says('vanish')) || isOn(says('specVanish')) || Number(attribute(says('sz'), 'val') ?? 20) <= 2
  return isHidden ? 'hidden' : undefined
}

function isOn(property: MarkupElement | undefined): boolean {
  return property !== undefined && !OFF.has(attribute(property, 'val') ?? '')
}

/** Whether the end of a paragraph is deleted or moved away: what is left of it joins the next one. */
function isJoined(properties: MarkupElement | undefined): boolean {
  return childNamed(childNamed(properties, 'rPr'), 'del', 'moveFrom') !== undefined
}
