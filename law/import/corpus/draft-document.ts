import { stringify } from 'yaml'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { firstIndex } from '#core/platform/first-index.ts'
import { aroundOf, labelledHeading, type Provision } from '#law/readers/document.ts'
import { textAt } from '#law/readers/places.ts'
import { readBytes, readDocument, type ReadDocument } from '#law/readers/read.ts'
import { UnreadableFile } from '#law/readers/tree.ts'
import { slugOf } from '#law/readers/heading-anchors.ts'

/** Formats whose structure is guessed. */
const DRAFTED: ReadonlySet<string> = new Set(['pdf', 'docx'])
const HEADING_DEPTH_MAX = 6

/**
 * Writes what was recognised of a PDF or a Word document as Markdown: provisions with their headings, marks before what
 * begins on another page, and doubts as comments. Front matter names the original by its SHA-256, so that passages keep their place
 * in it. Fields that the original does not state stay empty.
 * @throws OperatorError for a file that is not read, or that needs no draft.
 */
export async function draftDocument(path: string, name: string) {
  try {
    const bytes = await readBytes(path)
    const read = await readDocument(name, bytes)
    if (!DRAFTED.has(read.format))
      throw new OperatorError(`${name} is ${read.format}, whose structure is stated: import it as it is.`)
    return drafted(read, name, sha256(bytes).toString('hex'))
  } catch (error) {
    if (!(error instanceof UnreadableFile)) throw error
    const place = error.page === undefined ? '' : ` (page ${error.page})`
    throw new OperatorError(`${name} is not drafted${place}: ${error.message}.`, { cause: error })
  }
}

function drafted(read: ReadDocument, name: string, digest: string) {
  const { fields, provisions } = read
  const front = {
    document: slugOf(name.replace(/\.\w+$/, '')),
    title: fields.title ?? '',
    authority: fields.authority ?? '',
    canonical_url: fields.url ?? '',
    language: fields.language ?? '',
    jurisdiction: fields.jurisdiction ?? '',
    published_at: '',
    effective_at: fields.effectiveFrom?.day ?? '',
    verification_status: 'source-declared',
    original: name,
    original_sha256: digest,
  }
  const lines = ['---', stringify(front).trimEnd(), '---', '']
  let [doubts, page] = [0, 0]
  const say = (comment: string): void => void lines.push(`<!-- ${comment.replaceAll(/-{2,}|[<>]/g, ' ')} -->`, '')
  const seen = new Map<string, number>()
  for (const provision of provisions) {
    const own = pageOf(read, provision)
    const turn = (to: number | undefined): void => {
      if (to === undefined || to <= page) return
      say(`page ${to}`)
      page = to
    }
    turn(own)
    const title = titleOf(provision)
    if (title !== '') {
      const depth = Math.min(HEADING_DEPTH_MAX, Math.max(1, aroundOf(provision, provisions).length))
      lines.push(`${'#'.repeat(depth)} ${title}`, '')
      const earlier = seen.get(title)
      for (const doubt of doubtsOf(provision, earlier)) {
        doubts += 1
        say(`doubt: ${doubt}`)
      }
      seen.set(title, own ?? page)
    }
    if (provision.text === undefined || provision.text.trim() === title) continue
    for (const { text, page: begins } of paragraphsOf(read, provision)) {
      turn(begins)
      lines.push(escaped(text), '')
    }
  }
  for (const { message, page: at } of read.warnings) {
    doubts += 1
    say(`doubt: ${at === undefined ? '' : `page ${at}: `}${message}`)
  }
  return { markdown: `${lines.join('\n').trimEnd()}\n`, provisions: provisions.length, doubts }
}

function pageOf({ tree: { texts } }: ReadDocument, { pieces, page, element }: Provision): number | undefined {
  const from = pieces[0]?.from
  const text = from === undefined ? undefined : texts[textAt(texts, from)]
  const heading = element?.children.find((child) => child.kind === 'text')
  return page ?? (heading?.kind === 'text' ? heading.page : undefined) ?? text?.page
}

/** The paragraphs of a provision, each with the page on which it begins. */
function paragraphsOf(
  { tree: { texts } }: ReadDocument,
  { text = '', pieces }: Provision,
): readonly { readonly text: string; readonly page: number | undefined }[] {
  let at = 0
  return text.split('\n\n').map((paragraph) => {
    const start = at
    at += paragraph.length + 2
    const piece = pieces[firstIndex(pieces.length, (index) => (pieces[index]?.at ?? 0) >= start)]
    return { text: paragraph, page: piece === undefined ? undefined : texts[textAt(texts, piece.from)]?.page }
  })
}

function titleOf(provision: Provision): string {
  return provision.kind === 'document' ? '' : labelledHeading(provision).replaceAll(/\s+/g, ' ')
}

function* doubtsOf({ kind, label, heading, text }: Provision, earlier: number | undefined): Generator<string> {
  if (earlier !== undefined) yield 'a heading with the same words stands above'
  if (kind === 'heading' && label === '' && heading.length > 100) yield 'a long heading, which may be text'
  if (kind === 'section' && text === undefined) yield 'a provision without text'
  if (/\|/.test(text ?? '')) yield 'columns or a table, whose order may be wrong'
}

/** Signs that Markdown would take for structure. */
function escaped(text: string): string {
  return text
    .split('\n')
    .map((line) => line.replace(/^(\s*)([#>=]|(?:-{2,}|={1,})\s*$|<)/, String.raw`$1\$2`))
    .join('\n')
}
