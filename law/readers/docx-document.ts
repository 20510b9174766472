import { SaxesParser } from 'saxes'
import type { ListNumbers } from './docx-lists.ts'

interface OpenParagraph {
  list: string | undefined
  level: number | undefined
  style: string | undefined
  /** Its end is deleted: what is left of it joins the next paragraph. */
  isDeleted: boolean
}

/** Elements around text that the library does not look into, such as a field, or text with its reading above it. */
const WRAPPERS: ReadonlySet<string> = new Set(['fldSimple', 'dir', 'bdo', 'ruby', 'rubyBase'])
/** What stands here for newer programs stands again for the library. */
const NEWER = 'Choice'
/** An element of the same place that the library looks into. */
const READ_WRAPPER = 'smartTag'

/**
 * Returns the text of `word/document.xml` with what Word shows and the file states elsewhere: the numbers of its lists
 * stand before their paragraphs.
 */
export function withNumbers(document: string, numbers: ListNumbers): string {
  const parser = new SaxesParser({ xmlns: true, position: true })
  const open: string[] = []
  const paragraphs: OpenParagraph[] = []
  const edits: Edit[] = []
  const put = (from: number, to: number, text: string): void => void edits.push({ from, to, text })
  // Where a paragraph begins whose end is deleted: the number of the next one stands there.
  let joined: number | undefined
  parser.on('opentag', ({ local, prefix, attributes, isSelfClosing }) => {
    const within = open.at(-1)
    open.push(local)
    const paragraph = paragraphs.at(-1)
    if (local === 'p') paragraphs.push({ list: undefined, level: undefined, style: undefined, isDeleted: false })
    else if (WRAPPERS.has(local)) {
      const from = document.lastIndexOf('<', parser.position - 1)
      put(from, parser.position, `<${prefix}:${READ_WRAPPER}${isSelfClosing ? '/' : ''}>`)
    } else if (paragraph !== undefined && !open.includes('pPrChange')) {
      const value = attributes[`${prefix}:val`]?.value
      if (local === 'pStyle') paragraph.style = value
      if (within === 'numPr' && local === 'numId') paragraph.list = value
      if (within === 'numPr' && local === 'ilvl') paragraph.level = Number(value ?? 0)
      if (local === 'del' && within === 'rPr' && open.at(-3) === 'pPr') paragraph.isDeleted = true
    }
  })
  parser.on('closetag', ({ local, prefix, isSelfClosing }) => {
    open.pop()
    const paragraph = paragraphs.at(-1)
    if (local === 'p') paragraphs.pop()
    else if (WRAPPERS.has(local) && !isSelfClosing) {
      const from = document.lastIndexOf('<', parser.position - 1)
      put(from, parser.position, `</${prefix}:${READ_WRAPPER}>`)
    } else if (local === 'pPr' && paragraph !== undefined && open.at(-1) === 'p' && !open.includes(NEWER)) {
      const at: number = joined ?? parser.position
      joined = paragraph.isDeleted ? at : undefined
      const number = paragraph.isDeleted ? '' : numbers.next(paragraph)
      if (number !== '') put(at, at, runOf(number, prefix))
    }
  })
  parser.write(document).close()
  return edited(document, edits)
}

interface Edit {
  readonly from: number
  readonly to: number
  readonly text: string
}

function edited(document: string, edits: readonly Edit[]): string {
  const parts: string[] = []
  let at = 0
  for (const { from, to, text } of edits.toSorted((a, b) => a.from - b.from)) {
    parts.push(document.slice(at, from), text)
    at = to
  }
  return parts.join('') + document.slice(at)
}

function runOf(text: string, prefix: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<${prefix}:r><${prefix}:t xml:space="preserve">${escaped}</${prefix}:t></${prefix}:r>`
}
