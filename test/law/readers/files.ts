import { crc32, deflateRawSync } from 'node:zlib'

/** A ZIP file of small parts. */
export function zipOf(parts: Readonly<Record<string, string | Buffer>>): Buffer {
  return packed(new Map(Object.entries(parts).map(([name, content]) => [name, Buffer.from(content)])))
}

const WORD = 'http://schemas.openxmlformats.org/wordprocessingml/2006/main'
const RELATIONS = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships'
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006'

/** A Word document: what stands in its body, and its footnotes by number. */
export function docxOf(body: string, footnotes: Readonly<Record<number, string>> = {}, name = 'document'): Buffer {
  const notes = Object.entries(footnotes).map(
    ([id, text]) => `<w:footnote w:id="${id}"><w:p><w:r><w:t>${text}</w:t></w:r></w:p></w:footnote>`,
  )
  const type = 'application/vnd.openxmlformats-officedocument.wordprocessingml'
  return zipOf({
    '[Content_Types].xml':
      `<Types xmlns="${PACKAGE}/content-types"><Default Extension="xml" ContentType="application/xml"/>` +
      `<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
      `<Override PartName="/word/${name}.xml" ContentType="${type}.document.main+xml"/></Types>`,
    '_rels/.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="r1" Type="${RELATIONS}/officeDocument" Target="word/${name}.xml"/></Relationships>`,
    [`word/_rels/${name}.xml.rels`]: `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="r2" Type="${RELATIONS}/styles" Target="styles.xml"/><Relationship Id="r3" Type="${RELATIONS}/footnotes" Target="footnotes.xml"/></Relationships>`,
    'word/styles.xml': `<w:styles xmlns:w="${WORD}"><w:style w:type="paragraph" w:styleId="H1"><w:name w:val="heading 1"/></w:style><w:style w:type="paragraph" w:styleId="H2"><w:name w:val="heading 2"/></w:style></w:styles>`,
    'word/footnotes.xml': `<w:footnotes xmlns:w="${WORD}">${notes.join('')}</w:footnotes>`,
    'docProps/core.xml': `<cp:coreProperties xmlns:cp="${PACKAGE}/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/"><dc:title>Order on samples</dc:title><dc:language>en-GB</dc:language><dcterms:modified>2024-03-01T10:00:00Z</dcterms:modified></cp:coreProperties>`,
    [`word/${name}.xml`]: `<w:document xmlns:w="${WORD}"><w:body>${body}</w:body></w:document>`,
  })
}

/** A paragraph of a Word document, in a style where one is named. */
export function paragraph(text: string, style?: string, note?: number): string {
  const named = style === undefined ? '' : `<w:pPr><w:pStyle w:val="${style}"/></w:pPr>`
  const reference = note === undefined ? '' : `<w:r><w:footnoteReference w:id="${note}"/></w:r>`
  return `<w:p>${named}<w:r><w:t>${text}</w:t></w:r>${reference}</w:p>`
}

export function tableOf(rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[]): string => row.map((text) => `<w:tc>${paragraph(text)}</w:tc>`).join('')
  return `<w:tbl>${rows.map((row) => `<w:tr>${cells(row)}</w:tr>`).join('')}</w:tbl>`
}

/** A line of a PDF page: its baseline from the bottom, and its size, in points. */
export interface DrawnLine {
  readonly text: string
  readonly y: number
  readonly size?: number
  readonly x?: number
  /** Whether it runs up the page. */
  readonly up?: boolean
  /** Mode of text: 3 leaves no ink. */
  readonly mode?: number
  /** Width of an annotation that strikes its start through. */
  readonly struck?: number
  /** Operators before and after it. */
  readonly before?: string
  readonly after?: string
  readonly annotation?: string
}

/** A PDF of pages with lines of Helvetica (ISO 32000-1, section 7). */
export function pdfOf(pages: readonly (readonly DrawnLine[])[]): Buffer {
  const objects: string[] = []
  const kids = pages.map((_, index) => `${4 + index * 2} 0 R`)
  objects.push('<< /Type /Catalog /Pages 2 0 R /Lang (en) >>')
  objects.push(`<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${pages.length} >>`)
  objects.push('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>')
  for (const [index, lines] of pages.entries()) {
    const hasModes = lines.some(({ mode }) => mode !== undefined)
    const drawn = lines
      .map(
        ({ text, y, size = 11, x = 72, up = false, mode = 0, before = '', after = '' }) =>
          `${before} BT ${hasModes ? `${mode} Tr ` : ''}/F1 ${size} Tf ${up ? '0 1 -1 0' : '1 0 0 1'} ${x} ${y} Tm (${text.replaceAll(/[()\\]/g, String.raw`\$&`)}) Tj ET ${after}`,
      )
      .join('\n')
    const resources = '<< /Font << /F1 3 0 R >> >>'
    const annotations = lines.flatMap(({ y, x = 72, size = 11, struck, annotation = 'StrikeOut' }) => {
      const [left, right, bottom, top] = [x, x + (struck ?? 0), y - size / 4, y + size]
      const box = `/Rect [${left} ${bottom} ${right} ${top}] /QuadPoints [${left} ${top} ${right} ${top} ${left} ${bottom} ${right} ${bottom}]`
      return struck === undefined ? [] : [`<< /Type /Annot /Subtype /${annotation} ${box} >>`]
    })
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources ${resources} ${annotations.length === 0 ? '' : `/Annots [${annotations.join(' ')}] `}/Contents ${5 + index * 2} 0 R >>`,
    )
    objects.push(`<< /Length ${drawn.length} >>\nstream\n${drawn}\nendstream`)
  }
  let file = '%PDF-1.4\n'
  const offsets = objects.map((object, index) => {
    const at = file.length
    file += `${index + 1} 0 obj\n${object}\nendobj\n`
    return at
  })
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')
  const start = file.length
  file += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}`
  return Buffer.from(
    `${file}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`,
    'latin1',
  )
}

/** Returns a ZIP file of parts: local headers, then the directory. */
function packed(parts: ReadonlyMap<string, Buffer>): Buffer {
  const local: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, data] of parts) {
    const deflated = deflateRawSync(data, { level: 1 })
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(8, 4)
    common.writeUInt32LE(crc32(data), 10)
    common.writeUInt32LE(deflated.length, 14)
    common.writeUInt32LE(data.length, 18)
    common.writeUInt16LE(Buffer.byteLength(name), 22)
    const header = Buffer.concat([Buffer.from('PK\u0003\u0004'), common, Buffer.from(name)])
    const entry = Buffer.alloc(14)
    entry.writeUInt32LE(offset, 10)
    directory.push(Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\0'), common, entry, Buffer.from(name)]))
    local.push(header, deflated)
    offset += header.length + deflated.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(directory.length, 4)
  end.writeUInt16LE(directory.length, 6)
  end.writeUInt32LE(list.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...local, list, Buffer.from('PK\u0005\u0006'), end])
}
