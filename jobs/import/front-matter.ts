import { isMap, isScalar, isSeq, parseDocument } from 'yaml'
import { IMPORT_BOUNDS } from './bounds.ts'
import { unstorable } from './text.ts'

/** Fields of front matter: texts as they are written, or lists of them. A field without a value is absent. */
export type FrontMatter = Readonly<Record<string, string | readonly string[]>>

/**
 * Parses YAML front matter with the failsafe schema (YAML 1.2.2, section 10.1): `1.10`, `yes` and `2024-07-01` stay the
 * texts that they are. Only an empty value, `~` and a plain `null` mean that a field or an entry of a list is absent.
 * Returns the reason where it is not a list of fields with plain values.
 */
export function frontMatterOf(yaml: string): FrontMatter | string {
  if (yaml.length > IMPORT_BOUNDS.frontMatterCharactersMax)
    return `front matter longer than ${IMPORT_BOUNDS.frontMatterCharactersMax} characters`
  const flaw = unstorable(yaml)
  if (flaw !== undefined) return `front matter ${flaw}`
  const parsed = contentsOf(yaml)
  if (parsed === undefined) return 'front matter is not valid YAML'
  const fields = fieldsOf(parsed.contents)
  return fields ?? 'front matter is not a list of fields with plain values'
}

/** Returns undefined for invalid YAML; the parser throws where values are nested too deep. */
function contentsOf(yaml: string): { readonly contents: unknown } | undefined {
  try {
    const document = parseDocument(yaml, { schema: 'failsafe' })
    return document.errors.length > 0 ? undefined : { contents: document.contents }
  } catch {
    return undefined
  }
}

/** Returns undefined for other than a mapping of scalars and lists of scalars, and for aliases. */
function fieldsOf(contents: unknown): FrontMatter | undefined {
  if (!isMap(contents)) return undefined
  const fields: [string, string | readonly string[]][] = []
  for (const { key, value } of contents.items) {
    const name = scalarOf(key)
    const found = isSeq(value) ? listOf(value.items) : value === null ? null : scalarOf(value)
    if (typeof name !== 'string' || found === undefined) return undefined
    if (found !== null) fields.push([name, found])
  }
  return Object.fromEntries(fields)
}

function listOf(items: readonly unknown[]): readonly string[] | undefined {
  const entries = items.map(scalarOf)
  return entries.includes(undefined) ? undefined : entries.filter((entry) => typeof entry === 'string')
}

/** Returns the text of a scalar, null where it means absent, and undefined for other than a scalar. */
function scalarOf(node: unknown): string | null | undefined {
  if (!isScalar(node) || typeof node.value !== 'string') return undefined
  return node.type === 'PLAIN' && /^(?:~|null|Null|NULL)?$/.test(node.value) ? null : node.value
}
