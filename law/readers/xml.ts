import { SaxesParser, type SaxesTagNS } from 'saxes'
import { declaredInXml, decode } from './decode.ts'
import { UnreadableFile, type MarkupTree } from './tree.ts'
import { TreeBuilder, type OpenElement } from './tree-builder.ts'

/**
 * Parses XML. A document type may be named, but neither fetched nor read: a file that declares entities is refused.
 * @throws UnreadableFile naming the line.
 */
export function parseXml(bytes: Uint8Array): MarkupTree {
  const decoded = decode(bytes, declaredInXml(bytes))
  const reader = new XmlReader(decoded)
  const { parser } = reader
  parser.on('error', (error) => {
    throw reader.fault(`not well-formed XML: ${shortened(error.message)}`)
  })
  parser.on('doctype', (doctype) => {
    if (/<!ENTITY/i.test(doctype)) throw reader.fault('its document type declares entities, which are not read')
    reader.passed()
  })
  parser.on('opentag', (tag) => reader.open(tag))
  parser.on('closetag', () => reader.close())
  parser.on('text', (value) => reader.text(value))
  parser.on('cdata', (value) => reader.cdata(value))
  parser.on('comment', () => reader.passed())
  parser.on('processinginstruction', () => reader.passed())
  parser.write(decoded).close()
  if (reader.root === undefined) throw new UnreadableFile('no element', { line: 1 })
  return { root: reader.root, texts: reader.texts, decoded }
}

/** Of the attributes that declare a namespace. */
const NAMESPACES = 'http://www.w3.org/2000/xmlns/'

class XmlReader {
  readonly parser = new SaxesParser({ xmlns: true, position: true })
  readonly #tree = new TreeBuilder()
  readonly #decoded: string
  readonly #open: OpenElement[] = []
  root: OpenElement | undefined
  /** Offset after the last tag, comment or instruction: a text begins there. */
  #after = 0

  constructor(decoded: string) {
    this.#decoded = decoded
  }

  get texts(): MarkupTree['texts'] {
    return this.#tree.texts
  }

  fault(message: string): UnreadableFile {
    return new UnreadableFile(message, { line: this.parser.line })
  }

  passed(): void {
    this.#after = this.parser.position
  }

  open({ local: name, uri: namespace, attributes: stated }: SaxesTagNS): void {
    const own = Object.values(stated).filter(({ uri }) => uri !== NAMESPACES)
    const attributes = new Map(own.map(({ local, value }) => [local, value] as const))
    const opened = this.#tree.element(this.#open.at(-1), { name, namespace, attributes, line: this.parser.line })
    this.root ??= opened
    this.#open.push(opened)
    this.passed()
  }

  close(): void {
    this.#open.pop()
    this.passed()
  }

  text(value: string): void {
    const end = this.#decoded.indexOf('<', this.#after)
    this.#add(value, this.#after, end === -1 ? this.#decoded.length : end)
  }

  cdata(value: string): void {
    const { position } = this.parser
    this.#add(value, this.#decoded.lastIndexOf('<![CDATA[', position) + CDATA_START, position - CDATA_END)
    this.passed()
  }

  #add(value: string, from: number, to: number): void {
    const parent = this.#open.at(-1)
    if (parent === undefined || value === '') return
    const line = this.parser.line - value.split('\n').length + 1
    this.#tree.text(parent, { value, line, source: { from, to } })
  }
}

const CDATA_START = 9
const CDATA_END = 3

/** A message of the parser without its position, which is said apart. */
function shortened(message: string): string {
  return message
    .replace(/^\d+:\d+: /, '')
    .replace(/\.$/, '')
    .slice(0, 200)
}
