import { foldKey } from '#core/identity/fold.ts'
import { dated, dayIn, languageTag, type MarkupFormat, type ReadTree } from './format.ts'
import type { DocumentFields } from './document.ts'
import { valueOf } from './docx-lists.ts'
import { wordTree } from './docx-tree.ts'
import NAMES from './names/docx.json' with { type: 'json' }
import { CONTENTS, grouped, lead, LOWERED, marked, RAISED, type Role, type RoleLine } from './roles.ts'
import { allNamed, attribute, childNamed, descendants, firstNamed, textOf, UnreadableFile } from './tree.ts'
import type { MarkupElement, MarkupTree } from './tree.ts'
import { formatOf } from './vocabulary.ts'
import { wordsCitation } from './words-citation.ts'
import { parseXml } from './xml.ts'
import { unpacked } from './zip.ts'

const CORE = 'docProps/core.xml'
const RELATIONSHIPS = '_rels/.rels'
const BESIDE = /^word\/(?:comments|header\d*|footer\d*)\.xml$/
/** The relationships name the one that is the document: Office on the web writes `document2.xml`. */
const DOCUMENT = /^word\/document\d*\.xml$/

const { roles: ROLES, vocabulary: VOCABULARY } = formatOf(
  NAMES,
  [],
  [paragraphRole, 'p'],
  [numberRole, 'pPr'],
  [runRole, 'r'],
  [({ parent }) => (parent?.name === 'r' ? { is: 'break' } : { is: 'inline' }), 'br cr'],
  [({ parent }) => (parent?.name === 'r' ? marked(' ') : { is: 'inline' }), 'tab ptab'],
  [marked('‑'), 'noBreakHyphen'],
  [fieldRole, 'instrText fldSimple'],
  [(each) => marked(SYMBOLS.get(symbolOf(each)) ?? `[sign ${symbolOf(each)}]`), 'sym'],
  [({ children }) => (children.length === 0 ? { is: 'inline' } : { is: 'note' }), 'footnoteReference endnoteReference'],
  ...Object.entries(NAMES.formula).map(([name, sign]): RoleLine => [(each) => grouped(sign, each), name]),
  [marked('√(', ')'), 'rad'],
  [marked('[', ']'), 'deg'],
  [(each) => marked(signOf(each, 'dPr', 'begChr', '('), signOf(each, 'dPr', 'endChr', ')')), 'd'],
  [(each) => marked(` ${signOf(each, 'naryPr', 'chr', '∫')} `), 'nary'],
)

/** Word documents (ECMA-376, part 1). Headings are those of Word's heading styles, or lines that name a provision. */
export const DOCX: MarkupFormat = {
  format: 'docx',
  parse: parseDocx,
  recognises: ({ kind }) => kind === 'zip',
  vocabulary: () => VOCABULARY,
  roles: () => (element) => ROLES(element) ?? { is: 'inline' },
  fields: fieldsOf,
  cite: (provision, fields) => wordsCitation(provision, fields),
  losses: ({ tree: { root, metadata } }) => {
    const drawn = Number(metadata?.get('drawn') ?? 0)
    const unknown = allNamed(root, 'sym').filter((each) => !SYMBOLS.has(symbolOf(each)))
    return [
      ...[...descendants(firstNamed(root, 'body') ?? root)].flatMap((each) => {
        const name = unseenBy(each)
        return name === undefined ? [] : [{ name, count: 1, line: each.line }]
      }),
      ...(drawn === 0 ? [] : [{ name: 'characters of drawings', count: drawn, line: 1 }]),
      ...unknown.map((each) => ({ name: `sign ${symbolOf(each)}`, count: 1, line: each.line })),
    ]
  },
}

/** Properties by which a text may not be seen, by their names: tests of their values, in the units of Word. */
const UNSEEN: Readonly<Record<string, (value: number, element: MarkupElement) => boolean>> = {
  sz: (value) => value > 2 && value < 6,
  w: (value) => value < 20,
  position: (value) => Math.abs(value) > 100,
  spacing: (value) => value < -100,
  trHeight: (value, each) => value < 60 && attribute(each, 'hRule') === 'exact',
  framePr: (_, each) => ['x', 'y'].some((name) => Number(attribute(each, name) ?? 0) < -500),
}

/** What of a document is not seen, or not in its main part. */
function unseenBy(element: MarkupElement): string | undefined {
  const { name, parent, standing = parent?.parent?.standing } = element
  if (standing !== undefined) return undefined
  if (name === 'altChunk' || name === 'contentPart') return 'embedded document'
  if (name === 'showingPlcHdr') return 'placeholder of a form'
  if (UNSEEN[name]?.(Number(attribute(element, 'val') ?? Number.NaN), element) === true)
    return `text of ${name} out of sight`
  const colour = name === 'r' && textOf(element) !== undefined ? attribute(element, 'colour') : undefined
  return colour !== undefined && foldKey(colour) === groundOf(element) ? 'text in the colour of its ground' : undefined
}

/** The colour of the nearest ground that a run, its paragraph or its cell states. */
function groundOf(run: MarkupElement): string {
  for (let next: MarkupElement | undefined = run; next !== undefined; next = next.parent) {
    const stated = childNamed(next, 'rPr', 'pPr', 'tcPr', 'tblPr')
    const shade = childNamed(stated, 'shd')
    const own = attribute(shade, attribute(shade, 'val') === 'solid' ? 'color' : 'fill')
    const fill = own ?? HIGHLIGHTS.get(valueOf(stated, 'highlight'))
    if (fill !== undefined && fill !== 'auto') return foldKey(fill)
  }
  return 'ffffff'
}

const HIGHLIGHTS: ReadonlyMap<string | undefined, string> = new Map(Object.entries(NAMES.highlights))

function paragraphRole(paragraph: MarkupElement): Role {
  if (attribute(paragraph, 'kind') === 'toc') return CONTENTS
  if (attribute(paragraph, 'joined') === 'gone') return { is: 'block' }
  const rank = attribute(paragraph, 'kind') === 'title' ? '1' : attribute(paragraph, 'rank')
  if (rank !== undefined) {
    const isProvision = Number(rank) > 1 && BOLD_PROVISION.test(textOf(paragraph) ?? '')
    const base = { is: 'start', rank: Number(rank), names: 'heading' } as const
    return isProvision
      ? { ...base, kind: 'section', level: 'passage' }
      : { ...base, kind: 'heading', level: 'division' }
  }
  if (isProvisionLine(paragraph))
    return { is: 'start', kind: 'section', level: 'passage', rank: PROVISION_RANK, names: 'heading' }
  return { is: attribute(paragraph, 'joined') === undefined ? 'block' : 'inline' }
}

/** A number that a list counts, with a space where Word leaves one. */
function numberRole({ parent }: MarkupElement): Role {
  const mark = parent?.attributes.get('mark')
  if (mark === undefined) return { is: 'inline' }
  return mark.endsWith(' ') ? lead(mark.trimEnd()) : marked(mark)
}

function runRole(run: MarkupElement): Role {
  const raised = attribute(run, 'raised')
  if (firstNamed(run, 'footnoteReference', 'endnoteReference') !== undefined) return { is: 'inline' }
  return raised === 'superscript' ? RAISED : raised === 'subscript' ? LOWERED : { is: 'inline' }
}

/** Fields that print what their instruction says, which is not read. */
const FIELD = /^\s*(eq|symbol|autonum(?:lgl|out)?|listnum|advance|\w*barcode|macrobutton|gotobutton)\b/i

function fieldRole(field: MarkupElement): Role {
  const kind = FIELD.exec(attribute(field, 'instr') ?? '')?.[1]
  if (kind === undefined || textOf(field) !== undefined) return { is: 'inline' }
  return { is: 'marked', before: ` [field ${foldKey(kind)}] `, after: '', loss: `field ${foldKey(kind)}` }
}

function signOf(element: MarkupElement, properties: string, name: string, usual: string): string {
  const stated = childNamed(childNamed(element, properties), name)
  return stated === undefined ? usual : (attribute(stated, 'val') ?? '')
}

/** Signs of the fonts Symbol and Wingdings that texts of law have. */
const SYMBOLS: ReadonlyMap<string, string> = new Map(Object.entries(NAMES.symbols))

function symbolOf(symbol: MarkupElement): string {
  const code = Number.parseInt(attribute(symbol, 'char') ?? '', 16) % 0x1_00_00
  return (code < 0x1_00 ? code + 0xf0_00 : code).toString(16)
}

/** Below the headings of Word's styles. */
const PROVISION_RANK = 8
const PROVISION_CHARACTERS_MAX = 40
const PROVISION =
  /^(?:section|sec\.|article|art\.|artikel|artículo|articolo|artigo|rule|regulation|clause|§)\s*\d+\s?[a-z]{0,2}\.?$/iu
/** In bold letters, with its heading. */
const BOLD_PROVISION = /^(?:SECTION|SEC\.|Section|Sec\.|ARTICLE|Article|Artikel|Artículo|Art\.?|§§?)\s*\d/
const BOLD_CHARACTERS_MAX = 200

/** Whether a paragraph only names a provision, in whatever style, or in bold letters. */
function isProvisionLine(paragraph: MarkupElement): boolean {
  if (paragraph.children.length > BOLD_CHARACTERS_MAX) return false
  const text = textOf(paragraph) ?? ''
  if (text.length <= PROVISION_CHARACTERS_MAX && PROVISION.test(text)) return true
  if (text.length > BOLD_CHARACTERS_MAX || !BOLD_PROVISION.test(text)) return false
  return allNamed(paragraph, 'r').every((run) => textOf(run) === undefined || attribute(run, 'bold') !== undefined)
}

function parseDocx(bytes: Uint8Array): MarkupTree {
  // Pictures are not read.
  const parts = unpacked(bytes, (name) => /\.(?:xml|rels)$/.test(name))
  const name = documentNamed(parts.get(RELATIONSHIPS))
  const document = parts.get(name)
  if (document === undefined || !DOCUMENT.test(name)) throw new UnreadableFile('a ZIP file that is no Word document')
  const { drawn, ...tree } = wordTree({
    document,
    styles: parts.get('word/styles.xml'),
    numbering: parts.get('word/numbering.xml'),
    notes: [parts.get('word/footnotes.xml'), parts.get('word/endnotes.xml')],
    beside: [...parts].flatMap(([part, held]) => (BESIDE.test(part) ? [held] : [])),
  })
  return { ...tree, metadata: new Map([...propertiesOf(parts.get(CORE)), ['drawn', String(drawn)]]) }
}

function documentNamed(relationships: Buffer | undefined): string {
  const all = relationships === undefined ? [] : [...descendants(parseXml(relationships).root)]
  const main = all.find((each) => (attribute(each, 'Type') ?? '').endsWith('/officeDocument'))
  return attribute(main, 'Target')?.replace(/^\//, '') ?? 'word/document.xml'
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
  const paragraphs = allNamed(root, 'p').filter(({ standing }) => standing === undefined)
  const titled = paragraphs.find((each) => attribute(each, 'kind') === 'title')
  const first = paragraphs.find((each) => attribute(each, 'rank') === '1')
  const named = `${first?.attributes.get('mark') ?? ''}${textOf(first) ?? ''}`
  return textOf(titled) ?? (NUMBERED.test(named) ? undefined : textOf(first))
}
