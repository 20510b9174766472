import type { StagedLocation } from '#jobs/import/staging/staging.ts'
import type { RecordLocation } from './report.ts'

/** One unit of a source, before it is mapped: a JSONL line, or a section of a Markdown file. */
export interface SourceRecord {
  readonly kind: 'record'
  /** Line in the source, from 1. */
  readonly line: number
  readonly id: string
  readonly title: string
  readonly text: string
  /** Scalars by placeholder, `metadata.<field>`; the records of one Markdown file share them. */
  readonly metadata: ReadonlyMap<string, string>
  /** Scalars by placeholder, `section.<field>`: what only Markdown has. */
  readonly section?: ReadonlyMap<string, string>
}

/** A unit that cannot become a passage; `reason` never repeats its content. */
export interface SourceFault {
  readonly kind: 'fault'
  readonly line: number
  readonly id?: string
  readonly reason: string
}

/** What the reader decided about a unit that an operator should look at; the unit itself is read all the same. */
export interface SourceWarning {
  readonly kind: 'warning'
  readonly line: number
  readonly id?: string
  /** Names ids and lines, and never repeats other content. */
  readonly message: string
}

export type SourceItem = SourceRecord | SourceFault | SourceWarning

/** A captured source as the import reads it. */
export interface SourceSnapshot {
  /** UUID of the snapshot's row. */
  readonly id: string
  readonly sourceName: string
  readonly mediaType: string
  /** Path of its bytes. */
  readonly path: string
}

/** Returns a staged position with the name of its source. */
export function locationOf(
  snapshots: readonly Pick<SourceSnapshot, 'sourceName'>[],
  { source, line, id }: StagedLocation,
): RecordLocation {
  return { source: snapshots[source]?.sourceName ?? '', line, id }
}

/**
 * Returns the scalars of a metadata object by placeholder. A list of scalars is joined by commas; other values are
 * ignored.
 */
export function scalarsOf(prefix: string, metadata: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  const values = new Map<string, string>()
  for (const [name, value] of Object.entries(metadata)) {
    const scalar = Array.isArray(value)
      ? value
          .map(scalarOf)
          .filter((each) => each !== undefined)
          .join(',')
      : scalarOf(value)
    if (scalar !== undefined && scalar.trim() !== '') values.set(`${prefix}.${name}`, scalar.trim())
  }
  return values
}

function scalarOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined
}
