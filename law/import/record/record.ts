import { z } from 'zod'
import type { Selector } from '#core/index/passages/selector.ts'
import type { SourceFormat } from '#law/sources/list.ts'
import type { Coverage } from '#law/readers/coverage.ts'

/** One unit of a source, before it is mapped: a JSONL line, a section of a Markdown file, or a provision of law. */
export interface SourceRecord {
  readonly kind: 'record'
  /** Line in the source, from 1. */
  readonly line: number
  readonly id: string
  readonly title: string
  readonly text: string
  /**
   * The part of the captured source that holds the text: the line of JSONL, the lines below the heading, or the texts
   * of the file that its reader took for a provision, with what it added.
   */
  readonly captured: {
    readonly format: SourceFormat
    readonly text: string
    /** The place of a part of the record's text, by its offsets in UTF-16 units. Parts are asked for in order. */
    readonly place: (start: number, end: number) => Selector
  }
  /** Scalars by placeholder, `metadata.<field>`; the records of one Markdown file share them. */
  readonly metadata: ReadonlyMap<string, string>
  /** Scalars by placeholder, `section.<field>`: what only Markdown has. */
  readonly section?: ReadonlyMap<string, string>
  /**
   * JSONL: every field that the record states beside id, title and text. One of the metadata has its own name, one
   * beside the metadata is `record.name`, and one within another is `outer.inner`. The value is undefined where it is
   * neither a scalar nor a list of scalars.
   */
  readonly stated?: ReadonlyMap<string, string | undefined>
  /** Markdown: the line of each field of the front matter. */
  readonly frontMatterLines?: ReadonlyMap<string, number>
}

/** A unit that cannot become a passage; `reason` never repeats its content. */
export interface SourceFault {
  readonly kind: 'fault'
  readonly line: number
  readonly id?: string
  readonly reason: string
  /** Of the unit, for the report; absent where the whole file is lost or its bytes are no text. */
  readonly text?: string
}

/** What the reader decided about a unit that an operator should look at; the unit itself is read all the same. */
export interface SourceWarning {
  readonly kind: 'warning'
  readonly line: number
  readonly id?: string
  /** Names ids and lines, and never repeats other content. */
  readonly message: string
}

/** A part of a source that becomes no passage by a rule of its reader. */
export interface SourceOmission {
  readonly kind: 'omission'
  readonly line: number
  readonly id?: string
  readonly rule: string
  readonly text: string
}

/** How much of a file its reader accounts for. */
export interface SourceCoverage {
  readonly kind: 'coverage'
  readonly coverage: Coverage
}

export type SourceItem = SourceRecord | SourceFault | SourceWarning | SourceOmission | SourceCoverage

/** A captured source as the import reads it. */
export interface SourceSnapshot {
  /** UUID of the snapshot's row. */
  readonly id: string
  readonly sourceName: string
  readonly mediaType: string
  /** Path of its bytes. */
  readonly path: string
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
export function statedFields(
  fields: Readonly<Record<string, unknown>>,
  prefix = '',
): ReadonlyMap<string, string | undefined> {
  const found = new Map<string, string | undefined>()
  for (const [name, value] of fieldsIn(fields, prefix)) {
    if (value === null || value === undefined || (typeof value === 'string' && value.trim() === '')) continue
    if (Array.isArray(value) && value.length === 0) continue
    found.set(name, plainOf(value))
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
