import { z } from 'zod'
import type { StatedField } from '#law/import/mapping/read-fields.ts'

const recordSchema = z.looseObject({ metadata: z.record(z.string(), z.unknown()).nullish() })

/**
 * Parses a line of JSONL. Numbers that are an id or metadata become the text by which they are written: an id above
 * 2^53 stays exact, and `1.10` stays `1.10`. Returns undefined for text that is not JSON.
 */
export function parseRecordJson(text: string): unknown {
  try {
    const parsed: unknown = JSON.parse(text)
    const record = recordSchema.safeParse(parsed)
    if (!record.success || !holdsNumber(record.data)) return parsed
    const { id, _id, metadata } = recordSchema.parse(JSON.parse(text, asWritten))
    return { ...record.data, id, _id, metadata }
  } catch {
    return undefined
  }
}

/** Strings of a JSON text; a colon behind one makes it a key. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g

/** True if an object in a JSON text, which must be valid, has a key twice: readers differ in which value they take. */
export function repeatsKey(json: string): boolean {
  let written = 0
  for (const [, colon] of json.matchAll(STRING)) if (colon !== undefined) written += 1
  let kept = 0
  const waiting: unknown[] = [JSON.parse(json)]
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null) continue
    if (!Array.isArray(value)) kept += Object.keys(value).length
    for (const each of Object.values(value)) waiting.push(each)
  }
  return kept < written
}

function holdsNumber({ id, _id, metadata }: z.infer<typeof recordSchema>): boolean {
  return [id, _id, metadata].some((value) => isOrHoldsNumber(value, 0))
}

/** Objects within objects that are looked into, and those around them. */
const DEPTH_MAX = 6

function isOrHoldsNumber(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > DEPTH_MAX) return typeof value === 'number'
  return Object.values(value).some((each) => isOrHoldsNumber(each, depth + 1))
}

/** A reviver of `JSON.parse`, which passes the source text of primitive values. */
function asWritten(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === 'number' ? (context?.source ?? String(value)) : value
}

/**
 * Returns the scalars of a metadata object by placeholder. A list of scalars is joined by commas; a field of an object
 * within it has both names: `metadata.act.title`. Other values are ignored.
 */
export function scalarsOf(prefix: string, metadata: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const [name, value] of fieldsIn(metadata, `${prefix}.`)) {
    const scalar = Array.isArray(value)
      ? value
          .map(scalarOf)
          .filter((each) => each !== undefined)
          .join(',')
      : scalarOf(value)
    if (scalar !== undefined && scalar.trim() !== '') values.set(name, scalar.trim())
  }
  return values
}

function scalarOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined
}

/** Returns every field that an object states, as `SourceRecord.stated` has it. */
export function statedFields(fields: Readonly<Record<string, unknown>>, prefix = ''): ReadonlyMap<string, StatedField> {
  const found = new Map<string, StatedField>()
  for (const [name, value] of fieldsIn(fields, prefix)) {
    if (value === null || value === undefined || (typeof value === 'string' && value.trim() === '')) continue
    if (Array.isArray(value) && value.length === 0) continue
    found.set(name, { text: plainOf(value) })
  }
  return found
}

/** Objects within objects that are looked into. */
const NESTING_MAX = 4
const innerSchema = z.record(z.string(), z.unknown())

/** Yields the fields of an object, and after each object within it the fields of that. */
function* fieldsIn(
  fields: Readonly<Record<string, unknown>>,
  prefix: string,
  depth = 0,
): Generator<readonly [name: string, value: unknown]> {
  for (const [key, value] of Object.entries(fields)) {
    const name = `${prefix}${key}`
    yield [name, value]
    const inner = typeof value === 'object' && depth < NESTING_MAX ? innerSchema.safeParse(value).data : undefined
    if (inner !== undefined) yield* fieldsIn(inner, `${name}.`, depth + 1)
  }
}

function plainOf(value: unknown): string | undefined {
  if (!Array.isArray(value)) return scalarOf(value)
  const scalars = value.map(scalarOf)
  return scalars.includes(undefined) ? undefined : scalars.join(',')
}
