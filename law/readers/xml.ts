import { SaxesParser } from 'saxes'
import type { SaxesTagNS } from 'saxes'
import { READER_BOUNDS } from './bounds.ts'
import { declaredInXml, decode } from './decode.ts'
import { UnreadableFile } from './tree.ts'
import type { MarkupElement, MarkupText, MarkupTree } from './tree.ts'

interface OpenElement extends MarkupElement {
  texts: number
  elements: number
}

/**
 * Parses XML. A document type may be named, but neither fetched nor read: a file that declares entities is refused.
 * @throws UnreadableFile naming the line.
 */
export function parseXml(bytes: Uint8Array): MarkupTree {
  const decoded = decode(bytes, declaredInXml(bytes))
  const builder = new TreeBuilder(decoded)
  const { parser } = builder
  parser.on('error', (error) => {
    throw builder.fault(`not well-formed XML: ${shortened(error.message)}`)
  })
  parser.on('doctype', (doctype) => {
    if (/<!ENTITY/i.test(doctype)) throw builder.fault('its document type declares entities, which are not read')
    builder.passed()
  })
  parser.on('opentag', (tag) => builder.open(tag))
  parser.on('closetag', () => builder.close())
  parser.on('text', (value) => builder.text(value))
  parser.on('cdata', (value) => builder.cdata(value))
  parser.on('comment', () => builder.passed())
  parser.on('processinginstruction', () => builder.passed())
  parser.write(decoded).close()
  if (builder.root === undefined) throw new UnreadableFile('no element', { line: 1 })
  return { root: builder.root, texts: builder.texts, decoded }
}

class TreeBuilder {
  readonly parser = new SaxesParser({ xmlns: true, position: true })
  readonly texts: MarkupText[] = []
  readonly #decoded: string
  readonly #open: OpenElement[] = []
  root: MarkupElement | undefined
  #nodes = 0
  #characters = 0
  /** Offset after the last tag, comment or instruction: a text begins there. */
  #after = 0

  constructor(decoded: string) {
    this.#decoded = decoded
  }

  fault(message: string): UnreadableFile {
    return new UnreadableFile(message, { line: this.parser.line })
  }

  passed(): void {
    this.#after = this.parser.position
  }

  open(tag: SaxesTagNS): void {
    this.#count()
    if (this.#open.length >= READER_BOUNDS.depthMax)
      throw this.fault(`elements nested deeper than ${READER_BOUNDS.depthMax}`)
    const parent = this.#open.at(-1)
    const opened: OpenElement = {
      kind: 'element',
      name: tag.local,
      namespace: tag.uri,
      attributes: new Map(Object.values(tag.attributes).map(({ local, value }) => [local, value] as const)),
      parent,
      place: parent === undefined ? 1 : (parent.elements += 1),
      children: [],
      line: this.parser.line,
      texts: 0,
      elements: 0,
    }
    parent?.children.push(opened)
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
    this.#count()
    if (value.length > READER_BOUNDS.nodeCharactersMax)
      throw this.fault(`a text of more than ${READER_BOUNDS.nodeCharactersMax} characters`)
    parent.texts += 1
    const line = this.parser.line - value.split('\n').length + 1
    const start = this.#characters
    const text: MarkupText = { kind: 'text', value, parent, place: parent.texts, line, start, source: { from, to } }
    this.#characters += value.length
    parent.children.push(text)
    this.texts.push(text)
  }

  #count(): void {
    this.#nodes += 1
    if (this.#nodes > READER_BOUNDS.nodesMax) throw this.fault(`more than ${READER_BOUNDS.nodesMax} elements and texts`)
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
