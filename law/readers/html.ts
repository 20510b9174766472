import { defaultTreeAdapter, parse, type DefaultTreeAdapterMap } from 'parse5'
import { declaredInHtml, declaredInXml, decode } from './decode.ts'
import { UnreadableFile, type MarkupTree } from './tree.ts'
import { TreeBuilder, type OpenElement } from './tree-builder.ts'

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
  const builder = new TreeBuilder()
  return { root: copied(html, undefined, builder), texts: builder.texts, decoded }
}

function copied(
  node: DefaultTreeAdapterMap['element'],
  parent: OpenElement | undefined,
  builder: TreeBuilder,
): OpenElement {
  const { tagName: name, namespaceURI: namespace, attrs, sourceCodeLocation, childNodes } = node
  const line = sourceCodeLocation?.startLine ?? parent?.line ?? 1
  const attributes = new Map(attrs.map((each) => [each.name, each.value] as const))
  const element = builder.element(parent, { name, namespace, line, attributes })
  for (const child of childNodes) {
    if (defaultTreeAdapter.isElementNode(child)) copied(child, element, builder)
    if (!defaultTreeAdapter.isTextNode(child)) continue
    const { value, sourceCodeLocation: found } = child
    const source = { from: found?.startOffset ?? 0, to: found?.endOffset ?? 0 }
    builder.text(element, { value, line: found?.startLine ?? line, source })
  }
  return element
}
