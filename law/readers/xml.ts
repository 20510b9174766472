import { SaxesParser } from 'saxes'
import { declaredInXml, decode } from './decode.ts'
import { UnreadableFile, type MarkupTree } from './tree.ts'
import { TreeBuilder, type OpenElement } from './tree-builder.ts'

/**
 * Parses XML. A document type may be named, but neither fetched nor read: a file that declares entities is refused.
 * @throws UnreadableFile naming the line.
 */
export function parseXml(bytes: Uint8Array): MarkupTree {
  const decoded = decode(bytes, declaredInXml(bytes))
  const parser = new SaxesParser({ xmlns: true, position: true })
  const tree = new TreeBuilder()
  const roots: OpenElement[] = []
  const open: OpenElement[] = []
  /** Offset after the last tag, comment or instruction: a text begins there. */
  let after = 0
  const passed = (): void => {
    after = parser.position
  }
  const fault = (message: string): UnreadableFile => new UnreadableFile(message, { line: parser.line })
  const add = (value: string, from: number, to: number): void => {
    const parent = open.at(-1)
    if (parent === undefined || value === '') return
    const line = parser.line - value.split('\n').length + 1
    tree.text(parent, { value, line, source: { from, to } })
  }
  parser.on('error', (error) => {
    throw fault(`not well-formed XML: ${shortened(error.message)}`)
  })
  parser.on('doctype', (doctype) => {
    if (/<!ENTITY/i.test(doctype)) throw fault('its document type declares entities, which are not read')
    passed()
  })
  parser.on('opentag', ({ local: name, uri: namespace, attributes: stated }) => {
    const own = Object.values(stated).filter(({ uri }) => uri !== NAMESPACES)
    const attributes = new Map(own.map(({ local, value }) => [local, value] as const))
    const element = tree.element(open.at(-1), { name, namespace, attributes, line: parser.line })
    if (open.length === 0) roots.push(element)
    open.push(element)
    passed()
  })
  parser.on('closetag', () => {
    open.pop()
    passed()
  })
  parser.on('text', (value) => {
    const end = decoded.indexOf('<', after)
    add(value, after, end === -1 ? decoded.length : end)
  })
  parser.on('cdata', (value) => {
    const { position } = parser
    add(value, decoded.lastIndexOf('<![CDATA[', position) + '<![CDATA['.length, position - ']]>'.length)
    passed()
  })
  parser.on('comment', passed)
  parser.on('processinginstruction', passed)
  parser.write(decoded).close()
  const [root] = roots
  if (root === undefined) throw new UnreadableFile('no element', { line: 1 })
  return { root, texts: tree.texts, decoded }
}

/** Of the attributes that declare a namespace. */
const NAMESPACES = 'http://www.w3.org/2000/xmlns/'

/** A message of the parser without its position, which is said apart. */
function shortened(message: string): string {
  return message
    .replace(/^\d+:\d+: /, '')
    .replace(/\.$/, '')
    .slice(0, 200)
}
