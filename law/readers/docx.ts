import { dated, dayIn, isWithin, languageTag, type MarkupFormat, type ReadTree } from './format.ts'
import type { DocumentFields } from './document.ts'
import { withNumbers } from './docx-document.ts'
import { ListNumbers } from './docx-lists.ts'
import { parseHtml } from './html.ts'
import { pageRole } from './html-page.ts'
import { CONTENTS, omitted, type Role } from './roles.ts'
import { allNamed, attribute, childNamed, descendants, firstNamed, textOf, UnreadableFile } from './tree.ts'
import type { MarkupElement, MarkupNode, MarkupTree } from './tree.ts'
import { wordsCitation } from './words-citation.ts'
import { parseXml } from './xml.ts'
import { packed, unpacked } from './zip.ts'

const CORE = 'docProps/core.xml'
const RELATIONSHIPS = '_rels/.rels'
/** The relationships name the one that is the document: Office on the web writes `document2.xml`. */
const DOCUMENT = /^word\/document\d*\.xml$/
const NUMBERING = 'word/numbering.xml'
const STYLED = 'word/styles.xml'
const STYLES = [
  "p[style-name='Title'] => h1.title:fresh",
  "p[style-name='Subtitle'] => p:fresh",
  "p[style-name^='toc '] => p.toc:fresh",
]

/** Word documents (Office Open XML). Headings are those of Word's heading styles, or lines that name a provision. */
export const DOCX: MarkupFormat = {
  format: 'docx',
  parse: parseDocx,
  recognises: ({ kind }) => kind === 'zip',
  roles: () => wordRole,
  fields: fieldsOf,
  cite: (provision, fields) => wordsCitation(provision, fields),
  warnings: ({ tree: { metadata } }) => {
    const lost = metadata?.get('lost') ?? '0'
    return lost === '0' ? [] : [{ message: `${lost} characters of text boxes or fields are not read` }]
  },
}

/** Notes follow the text in a list of their own. */
function wordRole(element: MarkupElement): Role {
  const { name } = element
  const target = attribute(element, 'href') ?? ''
  if (name === 'a' && /^#(?:foot|end)note-ref-/.test(target)) return omitted('link from a note to its place')
  if (name === 'sup' && element.children.some(isNoteReference)) return { is: 'inline' }
  if (name === 'ol' && /^(?:foot|end)note-/.test(attribute(childNamed(element, 'li'), 'id') ?? ''))
    return { is: 'unit', kind: 'note', level: 'passage', heading: 'Notes' }
  if (name === 'p' && attribute(element, 'class') === 'toc') return CONTENTS
  if (name === 'p' && isProvisionLine(element))
    return { is: 'start', kind: 'section', level: 'passage', rank: PROVISION_RANK, names: 'heading' }
  return pageRole(element)
}

/** Below the headings of Word's styles. */
const PROVISION_RANK = 8
const PROVISION_CHARACTERS_MAX = 40
const PROVISION =
  /^(?:section|sec\.|article|art\.|artikel|artículo|articolo|artigo|rule|regulation|clause|§)\s*\d+\s?[a-z]{0,2}\.?$/iu

/** Whether a paragraph only names a provision, in whatever style. */
function isProvisionLine(paragraph: MarkupElement): boolean {
  const text = paragraph.children.length > PROVISION_CHARACTERS_MAX ? undefined : textOf(paragraph)
  return text !== undefined && text.length <= PROVISION_CHARACTERS_MAX && PROVISION.test(text)
}

function isNoteReference(node: MarkupNode): boolean {
  return node.kind === 'element' && /^#(?:foot|end)note-/.test(attribute(node, 'href') ?? '')
}

async function parseDocx(bytes: Uint8Array): Promise<MarkupTree> {
  // Pictures are not read.
  const parts = new Map(unpacked(bytes, (name) => /\.(?:xml|rels)$/.test(name)))
  const name = documentNamed(parts.get(RELATIONSHIPS))
  const document = parts.get(name)
  if (document === undefined || !DOCUMENT.test(name)) throw new UnreadableFile('a ZIP file that is no Word document')
  const { decoded } = parseXml(document)
  const numbers = new ListNumbers(parts.get(NUMBERING), parts.get(STYLED))
  const numbered = Buffer.from(withNumbers(decoded.replace(/^<\?xml[^>]*\?>/, ''), numbers))
  parts.set(name, numbered)
  // The library knows lists without their numbers.
  parts.delete(NUMBERING)
  const written = nonBlankCharacters(
    [...descendants(parseXml(numbered).root)]
      .filter((each) => each.name === 't' && !isWithin(each, 'moveFrom', 'Choice', 'rt'))
      .map((each) => textOf(each)),
  )
  // The library and what it needs are 170 modules, which few processes use.
  const { default: mammoth } = await import('mammoth')
  const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: '' }))
  const { value } = await mammoth
    .convertToHtml({ buffer: packed(parts) }, { styleMap: STYLES, convertImage })
    .catch(() => {
      throw new UnreadableFile('a broken Word document: its parts cannot be read')
    })
  const tree = parseHtml(Buffer.from(`<!doctype html><html><head></head><body>${value}</body></html>`))
  const metadata = new Map([
    ...propertiesOf(parts.get(CORE)),
    ['lost', String(Math.max(0, written - nonBlankCharacters(tree.texts.map(({ value: text }) => text))))],
  ])
  return { ...tree, metadata }
}

function documentNamed(relationships: Buffer | undefined): string {
  const all = relationships === undefined ? [] : [...descendants(parseXml(relationships).root)]
  const main = all.find((each) => (attribute(each, 'Type') ?? '').endsWith('/officeDocument'))
  return attribute(main, 'Target')?.replace(/^\//, '') ?? 'word/document.xml'
}

function nonBlankCharacters(texts: readonly (string | undefined)[]): number {
  return texts.reduce((sum, text) => sum + (text ?? '').replaceAll(/\s+/g, '').length, 0)
}

function propertiesOf(core: Buffer | undefined): readonly (readonly [string, string])[] {
  if (core === undefined) return []
  const { root } = parseXml(core)
  return ['title', 'language', 'created', 'modified', 'creator'].flatMap((name) => {
    const value = textOf(firstNamed(root, name))
    return value === undefined ? [] : [[name, value] as const]
  })
}

function fieldsOf({ tree: { root, metadata = new Map() } }: ReadTree): DocumentFields {
  return {
    title: titleIn(root) ?? metadata.get('title') ?? textOf(firstNamed(root, 'p'))?.slice(0, 200),
    language: languageTag(metadata.get('language')),
    publishedAt: dated(dayIn(metadata.get('modified') ?? metadata.get('created')), 'processed'),
  }
}

const NUMBERED =
  /^(?:[§(\d]|(?:art|section|sec|part|chapter|title|schedule|annex|teil|kapitel|abschnitt)[\p{L}.]*\s*[\dIVX])/iu

/** The text in the style for titles, or the first heading of the first rank, where it is not that of a provision. */
function titleIn(root: MarkupElement): string | undefined {
  const headings = allNamed(root, 'h1')
  const titled = headings.find((each) => attribute(each, 'class') === 'title')
  const first = textOf(headings[0])
  return textOf(titled) ?? (first === undefined || NUMBERED.test(first) ? undefined : first)
}
