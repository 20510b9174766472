import { dayIn, languageTag } from './format.ts'
import type { MarkupFormat, ReadTree } from './format.ts'
import type { DocumentFields } from './document.ts'
import { parseHtml } from './html.ts'
import { pageRole } from './html-page.ts'
import type { Role } from './roles.ts'
import { attribute, childNamed, descendants, firstNamed, textOf, UnreadableFile } from './tree.ts'
import type { MarkupElement, MarkupNode, MarkupTree } from './tree.ts'
import { wordsCitation } from './words-citation.ts'
import { parseXml } from './xml.ts'
import { unpacked } from './zip.ts'

const CORE = 'docProps/core.xml'
const RELATIONSHIPS = '_rels/.rels'
/** The relationships name the one that is the document: Office on the web writes `document2.xml`. */
const DOCUMENT = /^word\/document\d*\.xml$/
const STYLES = ["p[style-name='Title'] => h1:fresh", "p[style-name='Subtitle'] => p:fresh"]

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
  if (name === 'a' && /^#(?:foot|end)note-ref-/.test(target))
    return { is: 'omit', rule: 'link from a note to its place' }
  if (name === 'sup' && element.children.some(isNoteReference)) return { is: 'inline' }
  if (name === 'ol' && /^(?:foot|end)note-/.test(attribute(childNamed(element, 'li'), 'id') ?? ''))
    return { is: 'unit', kind: 'note', level: 'passage', heading: 'Notes' }
  return pageRole(element)
}

function isNoteReference(node: MarkupNode): boolean {
  return node.kind === 'element' && /^#(?:foot|end)note-/.test(attribute(node, 'href') ?? '')
}

async function parseDocx(bytes: Uint8Array): Promise<MarkupTree> {
  const parts = unpacked(bytes, (name) => name === CORE || name === RELATIONSHIPS || DOCUMENT.test(name))
  const document = parts.get(documentNamed(parts.get(RELATIONSHIPS)))
  if (document === undefined) throw new UnreadableFile('a ZIP file that is no Word document')
  const written = inkOf(
    [...descendants(parseXml(document).root)].filter(({ name }) => name === 't').map((each) => textOf(each)),
  )
  const buffer = Buffer.from(bytes)
  // The library and what it needs are 170 modules, which few processes use.
  const { default: mammoth } = await import('mammoth')
  const convertImage = mammoth.images.imgElement(() => Promise.resolve({ src: '' }))
  const { value } = await mammoth.convertToHtml({ buffer }, { styleMap: STYLES, convertImage }).catch(() => {
    throw new UnreadableFile('a broken Word document: its parts cannot be read')
  })
  const tree = parseHtml(Buffer.from(`<!doctype html><html><head></head><body>${value}</body></html>`))
  const metadata = new Map([
    ...propertiesOf(parts.get(CORE)),
    ['lost', String(Math.max(0, written - inkOf(tree.texts.map(({ value: text }) => text))))],
  ])
  return { ...tree, metadata }
}

function documentNamed(relationships: Buffer | undefined): string {
  const all = relationships === undefined ? [] : [...descendants(parseXml(relationships).root)]
  const main = all.find((each) => (attribute(each, 'Type') ?? '').endsWith('/officeDocument'))
  return attribute(main, 'Target')?.replace(/^\//, '') ?? 'word/document.xml'
}

function inkOf(texts: readonly (string | undefined)[]): number {
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
  const made = dayIn(metadata.get('modified') ?? metadata.get('created'))
  return {
    title: textOf(firstNamed(root, 'h1')) ?? metadata.get('title') ?? textOf(firstNamed(root, 'p'))?.slice(0, 200),
    language: languageTag(metadata.get('language')),
    publishedAt: made === undefined ? undefined : { day: made, rule: 'processed' },
  }
}
