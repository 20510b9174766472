import type { Selector } from '#core/index/passages/selector.ts'
import { firstOffset } from './places.ts'
import { elementsOf, type MarkupElement, type MarkupTree } from './tree.ts'

/** The texts of a parsed file, by places. */
export interface TreeTexts {
  /** Undefined where the tree has no such element, or its text is shorter. */
  ofElement(selector: Extract<Selector, { type: 'XPathSelector' }>): string | undefined
  /** Undefined where no line of the page has the corners. */
  ofLines(selector: Extract<Selector, { type: 'PdfSelector' }>): string | undefined
}

export function treeTexts({ root, texts }: MarkupTree): TreeTexts {
  const joined = texts.map(({ value }) => value).join('')
  const lines = new Map(texts.map(({ value, page, box }) => [`${page} ${box?.join(' ')}`, value]))
  return {
    ofElement({ value, ranges }) {
      const element = elementAt(root, value)
      const first = element === undefined ? undefined : firstOffset(element)
      if (first === undefined) return undefined
      const points = pointsFrom(joined, first)
      const parts = ranges.map(({ start, end }) => joined.slice(points(start), points(end)))
      return parts.some((part) => part === '') ? undefined : parts.join(' ')
    },
    ofLines({ lines: wanted }) {
      const parts = wanted.map(({ page, quad: [left, top, right, , , bottom], start, end }) => {
        const text = lines.get(`${page} ${left} ${bottom} ${right} ${top}`)?.trimEnd()
        return text === undefined || start === undefined ? text : [...text].slice(start, end).join('')
      })
      return parts.includes(undefined) ? undefined : parts.join(' ')
    },
  }
}

function elementAt(root: MarkupElement, xpath: string): MarkupElement | undefined {
  const [first, ...places] = Array.from(xpath.matchAll(/\[(\d+)\]/g), ([, place]) => Number(place))
  let element: MarkupElement | undefined = first === 1 ? root : undefined
  for (const place of places)
    element = element === undefined ? undefined : elementsOf(element).find((child) => child.place === place)
  return element
}

/** Returns a function that gives the offset of so many code points after an offset. */
function pointsFrom(text: string, first: number): (points: number) => number {
  let [offset, passed] = [first, 0]
  return (points) => {
    if (points < passed) [offset, passed] = [first, 0]
    for (; passed < points && offset < text.length; passed += 1)
      offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1
    return offset
  }
}
