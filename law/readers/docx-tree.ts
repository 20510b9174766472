import { foldKey } from '#core/identity/fold.ts'
import { ListNumbers, stylesOf, valueOf, type Styles } from './docx-lists.ts'
import { attribute, at, childNamed, elementsOf, type MarkupElement, type MarkupTree } from './tree.ts'
import { TreeBuilder, type OpenElement } from './tree-builder.ts'
import { parseXml } from './xml.ts'

/** Text of the main part and of formulas; that of drawings is not read. */
const TEXT_NAMESPACE = /(?:wordprocessingml|officeDocument\/math|\/2006\/math)(?:\/\d{4}\/main|\/main)?$/
const OFF = new Set(['0', 'false', 'off', 'none'])

export interface WordParts {
  readonly document: Buffer
  readonly styles: Buffer | undefined
  readonly numbering: Buffer | undefined
  readonly notes: readonly (Buffer | undefined)[]
}

/**
 * Makes the tree of a Word document: its main part, with each note in place of its first mark. What styles, lists and
 * properties say of an element stands in attributes: `rank` of a heading, `mark` of a number, `standing` of a run.
 */
export function wordTree({ document, styles, numbering, notes }: WordParts): MarkupTree & { readonly drawn: number } {
  const main = parseXml(document)
  const [lists, styled, ...noted] = [numbering, styles, ...notes].map((part) => part && parseXml(part).root)
  const copier = new Copier(lists, styled, noted)
  const root = copier.copy(main.root, undefined)
  return { root, texts: copier.builder.texts, decoded: main.decoded, drawn: copier.drawn }
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
  /** Properties of the paragraph that a deleted end joins to the next one: the number of that one stands there. */
  #joined: Map<string, string> | undefined

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
    const own = name === 'p' ? valueOf(childNamed(node, 'pPr'), 'pStyle') : style
    const attributes = new Map([...node.attributes, ...this.#stated(node, own)])
    const element = this.builder.element(parent, { name, line, namespace, attributes })
    if (name === 'pPr' && node.parent?.name === 'p') this.#number(node, attributes)
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
    return element
  }

  /** What properties and styles say of an element, as attributes. @param style that of its paragraph. */
  #stated(node: MarkupElement, style: string | undefined): readonly (readonly [string, string])[] {
    const stated: [string, string | undefined][] = []
    const properties = childNamed(node, `${node.name}Pr`)
    switch (node.name) {
      case 'p': {
        const chain = this.#chain(style)
        const named: readonly string[] = chain.map((one) => foldKey(valueOf(one, 'name') ?? ''))
        const outlines = [properties, ...chain.map((one) => childNamed(one, 'pPr'))].map((each) =>
          valueOf(each, 'outlineLvl'),
        )
        const outline = outlines.find((each) => each !== undefined)
        const rank = named.map((each) => /^heading ?([1-6])$/.exec(each)?.[1]).find(Boolean)
        const byOutline = /^[0-5]$/.test(outline ?? '') ? String(Number(outline) + 1) : undefined
        const kind = named.some((each) => /^toc ?\d/.test(each)) ? 'toc' : named.includes('title') ? 'title' : undefined
        stated.push(['rank', rank ?? byOutline], ['kind', kind])
        if (isJoined(properties) || this.#joined !== undefined) stated.push(['joined', 'yes'])
        break
      }
      case 'r': {
        const says = (name: string): MarkupElement | undefined => this.#property(node, style, name)
        const isHidden =
          isOn(says('vanish')) || isOn(says('specVanish')) || Number(attribute(says('sz'), 'val') ?? 20) <= 2
        const isStruck = isOn(says('strike')) || isOn(says('dstrike')) || childNamed(properties, 'del') !== undefined
        stated.push(['standing', isStruck ? 'struck' : isHidden ? 'hidden' : undefined])
        stated.push(['bold', isOn(says('b')) ? 'yes' : undefined], ['raised', attribute(says('vertAlign'), 'val')])
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
  #number(properties: MarkupElement, attributes: Map<string, string>): void {
    const place = this.#joined ?? attributes
    this.#joined = isJoined(properties) ? place : undefined
    if (this.#joined !== undefined) return
    const list = childNamed(properties, 'numPr')
    const level = Number(valueOf(list, 'ilvl') ?? Number.NaN)
    const number = this.#numbers.next({
      list: valueOf(list, 'numId'),
      level: Number.isNaN(level) ? undefined : level,
      style: valueOf(properties, 'pStyle'),
    })
    if (number !== '') place.set('mark', number)
  }

  /** A property of a run: its own, else that of its style, of its paragraph's, or of the document. */
  #property(run: MarkupElement, style: string | undefined, name: string): MarkupElement | undefined {
    const own = childNamed(run, 'rPr')
    const chain = [valueOf(own, 'rStyle'), style].flatMap((id) => this.#chain(id))
    return [own, ...chain.map((each) => childNamed(each, 'rPr')), this.#defaults]
      .map((properties) => childNamed(properties, name))
      .find((found) => found !== undefined)
  }
}

function isOn(property: MarkupElement | undefined): boolean {
  return property !== undefined && !OFF.has(attribute(property, 'val') ?? '')
}

/** Whether the end of a paragraph is deleted or moved away: what is left of it joins the next one. */
function isJoined(properties: MarkupElement | undefined): boolean {
  return childNamed(childNamed(properties, 'rPr'), 'del', 'moveFrom') !== undefined
}
