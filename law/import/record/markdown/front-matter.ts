import { LineCounter, isMap, isScalar, isSeq, parseDocument } from 'yaml'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { nearestName, shownName } from '#law/import/mapping/read-fields.ts'
import { unstorable } from '#law/readers/text.ts'
import { UnreadableFile } from '#law/readers/tree.ts'

/** The fields of front matter with their lines. The text of a list is joined by commas, and of an absent value empty. */
export type FrontMatter = ReadonlyMap<string, { readonly text: string; readonly line: number }>

/**
 * Parses YAML front matter with the failsafe schema (YAML 1.2.2, section 10.1): `1.10`, `yes` and `2024-07-01` stay the
 * texts that they are. Only an empty value, `~` and a plain `null` mean that a field or an entry of a list is absent.
 * @throws UnreadableFile where it is not a list of fields with plain values, without aliases, and where a field is not
 * among the known ones: what it states, an end above all, would be dropped.
 */
export function frontMatterOf(yaml: string, known: ReadonlySet<string>): FrontMatter {
  if (yaml.length > IMPORT_BOUNDS.frontMatterCharactersMax)
    refuse(`front matter longer than ${IMPORT_BOUNDS.frontMatterCharactersMax} characters`)
  const flaw = unstorable(yaml)
  if (flaw !== undefined) refuse(`front matter ${flaw}`)
  const counter = new LineCounter()
  const contents = contentsOf(yaml, counter)
  const fields = new Map<string, { readonly text: string; readonly line: number }>()
  for (const { key, value } of isMap(contents) ? contents.items : refuse(NO_FIELDS)) {
    const name = scalarOf(key)
    const line = isScalar(key) ? counter.linePos(key.range?.[0] ?? 0).line + 1 : 1
    const found = isSeq(value) ? listOf(value.items) : value === null ? null : scalarOf(value)
    if (typeof name !== 'string' || found === undefined) return refuse(NO_FIELDS)
    if (!known.has(name)) refuse(unknownField(name, known), line)
    if (fields.has(name)) refuse(`front matter states ${shownName(name)} twice`, line)
    fields.set(name, { text: (found ?? '').trim(), line })
  }
  return fields
}

function refuse(reason: string, line = 1): never {
  throw new UnreadableFile(reason, { line })
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
  return front !== undefined && OWN_FIELDS.test(front) && !(/^country:/m.test(front) && /^rank:/m.test(front))
}

function contentsOf(yaml: string, lineCounter: LineCounter): unknown {
  try {
    // Its own check of keys compares each with all others.
    const document = parseDocument(yaml, { schema: 'failsafe', lineCounter, uniqueKeys: false })
    if (document.errors.length === 0) return document.contents
  } catch {
    // The parser throws where values are nested too deep.
  }
  return refuse('front matter is not valid YAML')
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
