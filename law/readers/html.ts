import { defaultTreeAdapter, parse } from 'parse5'
import type { DefaultTreeAdapterMap } from 'parse5'
import { READER_BOUNDS } from './bounds.ts'
import { declaredInHtml, declaredInXml, decode } from './decode.ts'
import { UnreadableFile } from './tree.ts'
import type { MarkupElement, MarkupText, MarkupTree } from './tree.ts'

type HtmlNode = DefaultTreeAdapterMap['node']

/**
 * Parses HTML as a browser does; no page is malformed. Text whose place the parser does not know, such as text that it
 * moves out of a table, has an empty place.
 * @throws UnreadableFile for bytes that are not in the page's encoding, and beyond the bounds.
 */
export function parseHtml(bytes: Uint8Array): MarkupTree {
  const decoded = decode(bytes, declaredInXml(bytes) ?? declaredInHtml(bytes))
  const document = parse(decoded, { sourceCodeLocationInfo: true })
  const html = document.childNodes.find((node) => defaultTreeAdapter.isElementNode(node))
  if (html === undefined) throw new UnreadableFile('no element', { line: 1 })
  const texts: MarkupText[] = []
  const counts = { nodes: 0, characters: 0 }
  const root = copied(html, undefined, 1, 1, texts, counts)
  return { root, texts, decoded }
}

function copied(
  node: DefaultTreeAdapterMap['element'],
  parent: MarkupElement | undefined,
  place: number,
  depth: number,
  texts: MarkupText[],
  counts: { nodes: number; characters: number },
): MarkupElement {
  counts.nodes += 1
  const line = node.sourceCodeLocation?.startLine ?? parent?.line ?? 1
  if (counts.nodes > READER_BOUNDS.nodesMax)
    throw new UnreadableFile(`more than ${READER_BOUNDS.nodesMax} elements and texts`, { line })
  if (depth > READER_BOUNDS.depthMax)
    throw new UnreadableFile(`elements nested deeper than ${READER_BOUNDS.depthMax}`, { line })
  const element: MarkupElement = {
    kind: 'element',
    name: node.tagName,
    namespace: node.namespaceURI,
    parent,
    place,
    line,
    children: [],
    attributes: new Map(node.attrs.map(({ name, value }) => [name, value] as const)),
  }
  let [elements, textsHere] = [0, 0]
  for (const child of node.childNodes) {
    if (defaultTreeAdapter.isElementNode(child))
      element.children.push(copied(child, element, (elements += 1), depth + 1, texts, counts))
    if (!defaultTreeAdapter.isTextNode(child)) continue
    textsHere += 1
    const text = copiedText(child, element, textsHere, counts)
    element.children.push(text)
    texts.push(text)
  }
  return element
}

function copiedText(
  node: Extract<HtmlNode, { nodeName: '#text' }>,
  parent: MarkupElement,
  place: number,
  counts: { characters: number },
): MarkupText {
  const { value, sourceCodeLocation: found } = node
  const line = found?.startLine ?? parent.line
  if (value.length > READER_BOUNDS.nodeCharactersMax)
    throw new UnreadableFile(`a text of more than ${READER_BOUNDS.nodeCharactersMax} characters`, { line })
  const start = counts.characters
  counts.characters += value.length
  const source = { from: found?.startOffset ?? 0, to: found?.endOffset ?? 0 }
  return { kind: 'text', value, parent, place, line, start, source }
}
