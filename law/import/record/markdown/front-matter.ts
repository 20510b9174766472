import { LineCounter, isMap, isScalar, isSeq, parseDocument } from 'yaml'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { nearestName, shownName } from '#law/import/mapping/read-fields.ts'
import { unstorable } from '#law/readers/text.ts'

/** The fields of front matter with their lines. The text of a list is joined by commas, and of an absent value empty. */
export type FrontMatter = ReadonlyMap<string, { readonly text: string; readonly line: number }>

/** Why front matter is not read. */
export interface FrontMatterFault {
  /** Line of the file. */
  readonly line: number
  readonly reason: string
}

/**
 * Parses YAML front matter with the failsafe schema (YAML 1.2.2, section 10.1): `1.10`, `yes` and `2024-07-01` stay the
 * texts that they are. Only an empty value, `~` and a plain `null` mean that a field or an entry of a list is absent.
 * Returns the fault where it is not a list of fields with plain values, and where a field is not among the known ones:
 * what it states, an end above all, would be dropped.
 */
export function frontMatterOf(yaml: string, known: ReadonlySet<string>): FrontMatter | FrontMatterFault {
  if (yaml.length > IMPORT_BOUNDS.frontMatterCharactersMax)
    return { line: 1, reason: `front matter longer than ${IMPORT_BOUNDS.frontMatterCharactersMax} characters` }
  const flaw = unstorable(yaml)
  if (flaw !== undefined) return { line: 1, reason: `front matter ${flaw}` }
  const counter = new LineCounter()
  const parsed = contentsOf(yaml, counter)
  if (parsed === undefined) return { line: 1, reason: 'front matter is not valid YAML' }
  return fieldsOf(parsed.contents, known, (offset) => counter.linePos(offset).line + 1)
}

/** Returns the YAML of front matter at the head of a file; undefined where there is none within its bound. */
export function frontMatterAtHead(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, IMPORT_BOUNDS.frontMatterCharactersMax)).toString('utf8')
  return /^\uFEFF?---[ \t]*\r?\n([\s\S]*?)^(?:---|\.\.\.)\s*$/m.exec(head)?.[1]
}

/** Fields of front matter that say that a Markdown file is written for this import. */
const OWN_FIELDS =
  /^(?:document|authority|canonical_url|published_at|effective_at|effective_to|jurisdiction|verification_status|citation_prefix)[ \t]*:/m

/** Whether a Markdown file is written for this import. */
export function hasOwnFields(bytes: Uint8Array): boolean {
  const front = frontMatterAtHead(bytes)
  return front !== undefined && OWN_FIELDS.test(front)
}

/** Returns undefined for invalid YAML; the parser throws where values are nested too deep. */
function contentsOf(yaml: string, lineCounter: LineCounter): { readonly contents: unknown } | undefined {
  try {
    // Its own check of keys compares each with all others.
    const document = parseDocument(yaml, { schema: 'failsafe', lineCounter, uniqueKeys: false })
    return document.errors.length > 0 ? undefined : { contents: document.contents }
  } catch {
    return undefined
  }
}

/** Returns a fault for other than a mapping of scalars and lists of scalars, for aliases, and for an unknown field. */
function fieldsOf(
  contents: unknown,
  known: ReadonlySet<string>,
  lineAt: (offset: number) => number,
): FrontMatter | FrontMatterFault {
  if (!isMap(contents)) return { line: 1, reason: NO_FIELDS }
  const fields = new Map<string, { readonly text: string; readonly line: number }>()
  for (const { key, value } of contents.items) {
    const name = scalarOf(key)
    const line = isScalar(key) ? lineAt(key.range?.[0] ?? 0) : 1
    const found = isSeq(value) ? listOf(value.items) : value === null ? null : scalarOf(value)
    if (typeof name !== 'string' || found === undefined) return { line: 1, reason: NO_FIELDS }
    if (!known.has(name)) return { line, reason: unknownField(name, known) }
    if (fields.has(name)) return { line, reason: `front matter states ${shownName(name)} twice` }
    fields.set(name, { text: (found ?? '').trim(), line })
  }
  return fields
}

const NO_FIELDS = 'front matter is not a list of fields with plain values'

function unknownField(name: string, known: ReadonlySet<string>): string {
  const nearest = nearestName(name, known)
  const hint = nearest === undefined ? '' : `; the nearest known field is ${nearest}`
  return `${shownName(name)} is no known field of front matter${hint}`
}

function listOf(items: readonly unknown[]): string | undefined {
  const entries = items.map(scalarOf)
  return entries.includes(undefined) ? undefined : entries.filter((entry) => entry !== null).join(',')
}

/** Returns the text of a scalar, null where it means absent, and undefined for other than a scalar. */
function scalarOf(node: unknown): string | null | undefined {
  if (!isScalar(node) || typeof node.value !== 'string') return undefined
  return node.type === 'PLAIN' && /^(?:~|null|Null|NULL)?$/.test(node.value) ? null : node.value
}
