import { readFile, stat } from 'node:fs/promises'
import { parseDocument } from 'yaml'
import type { Document } from 'yaml'
import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { cutAtHeadings } from './headings.ts'
import type { Section } from './headings.ts'
import { scalarsOf } from './record.ts'
import type { SourceFault, SourceItem } from './record.ts'
import { isBlank, unstorable } from './text.ts'

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()])
/** Scalars, or lists of them; dates stay text (YAML 1.2 core schema). */
const frontMatterSchema = z.record(z.string(), z.union([scalar, z.array(scalar)]))
type FrontMatter = z.infer<typeof frontMatterSchema>

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * Yields the records of one Markdown file: YAML front matter between two `---` lines, then one record per heading with
 * the text below it. `section.fragment` is the anchor written after the heading (`{#anchor}`). `section.path` is title
 * › chapter › heading. `section.reference` is the number that starts with the front matter's `citation_prefix`.
 */
export async function* markdownRecords(path: string): AsyncGenerator<SourceItem> {
  const file = await readMarkdown(path)
  if ('kind' in file) {
    yield file
    return
  }
  const title = typeof file.front['title'] === 'string' ? file.front['title'] : ''
  for (const section of cutAtHeadings(file.body, file.bodyLine)) yield itemOf(section, file.front, title)
}

interface MarkdownFile {
  readonly front: FrontMatter
  readonly body: readonly string[]
  /** Line of the file on which the body starts, from 1. */
  readonly bodyLine: number
}

async function readMarkdown(path: string): Promise<MarkdownFile | SourceFault> {
  const { size } = await stat(path)
  if (size > BOUNDS.markdownFileBytesMax) return fault(1, `file larger than ${BOUNDS.markdownFileBytesMax} bytes`)
  const bytes = await readFile(path)
  const badLine = lineOfInvalidUtf8(bytes)
  if (badLine !== undefined) return fault(badLine, 'not valid UTF-8')
  const lines = utf8.decode(bytes).split(/\r?\n/)
  const end =
    lines[0]?.trimEnd() === '---' ? lines.findIndex((line, index) => index > 0 && /^(?:---|\.\.\.)\s*$/.test(line)) : -1
  if (end === -1) return fault(1, 'no front matter')
  const front = frontMatterOf(lines.slice(1, end).join('\n'))
  return typeof front === 'string' ? fault(1, front) : { front, body: lines.slice(end + 1), bodyLine: end + 2 }
}

function fault(line: number, reason: string, id?: string): SourceFault {
  return { kind: 'fault', line, reason, ...(id === undefined ? {} : { id }) }
}

function frontMatterOf(yaml: string): FrontMatter | string {
  const flaw = unstorable(yaml)
  if (flaw !== undefined) return `front matter ${flaw}`
  const document = parseDocument(yaml, { schema: 'core' })
  if (document.errors.length > 0) return 'front matter is not valid YAML'
  const parsed = frontMatterSchema.safeParse(plainValue(document))
  return parsed.success ? parsed.data : 'front matter is not a list of fields with plain values'
}

/** Returns undefined where the YAML uses aliases, since aliases can expand a short text to a huge one. */
function plainValue(document: Document): unknown {
  try {
    return document.toJS({ maxAliasCount: 0 })
  } catch {
    return undefined
  }
}

function itemOf(section: Section, front: FrontMatter, title: string): SourceItem {
  const { line, heading, anchor, parents } = section
  if (isBlank(section.text)) return fault(line, 'heading without text', anchor)
  const flaw = unstorable(section.text) ?? unstorable(heading)
  if (flaw !== undefined) return fault(line, flaw)
  const path = [title, ...parents, heading]
    .filter((part, index, all) => part !== '' && part !== all[index - 1])
    .join(' › ')
  const values = new Map(scalarsOf('metadata', front))
  values.set('section.path', path)
  if (section.publisherAnchor) values.set('section.fragment', anchor)
  const reference = referenceOf(heading, values.get('metadata.citation_prefix'))
  if (reference !== undefined) values.set('section.reference', reference)
  return { kind: 'record', line, id: anchor, title: heading, text: section.text, values }
}

/** Returns `COB-M 2.1` of `COB-M 2.1 Right to cancel` for the prefix `COB-M`. */
function referenceOf(heading: string, prefix: string | undefined): string | undefined {
  if (prefix === undefined || !heading.startsWith(prefix)) return undefined
  const number = /^[\s.]*(?:§+\s*)?\d[\p{L}\p{N}.()\-–/]*/u.exec(heading.slice(prefix.length))?.[0]
  return number === undefined ? undefined : `${prefix}${number}`.replace(/[.\-–/]+$/, '')
}

/** Returns the line of the first byte that is not UTF-8, or undefined. */
function lineOfInvalidUtf8(bytes: Buffer): number | undefined {
  try {
    utf8.decode(bytes)
    return undefined
  } catch {
    return (
      bytes
        .toString('latin1')
        .split('\n')
        .findIndex((line) => !isUtf8Line(Buffer.from(line, 'latin1'))) + 1
    )
  }
}

function isUtf8Line(line: Buffer): boolean {
  try {
    utf8.decode(line)
    return true
  } catch {
    return false
  }
}
