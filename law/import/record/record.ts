import type { StatedField } from '#law/import/mapping/read-fields.ts'
import type { SourceFormat } from '#law/sources/list.ts'
import type { Coverage } from '#law/readers/coverage.ts'
import type { PlaceOf } from '#law/readers/places.ts'

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
   * of the file that its reader took for a provision, with what it added. Places are asked for in order.
   */
  readonly captured: { readonly format: SourceFormat; readonly text: string; readonly place: PlaceOf }
  /** Scalars by placeholder of a mapping: `metadata.<field>`, and of law and Markdown `section.<field>`. */
  readonly values: ReadonlyMap<string, string>
  /**
   * Every field that the record, or the front matter of its file, states beside id, title and text. One of the metadata
   * has its own name, one beside the metadata is `record.name`, and one within another is `outer.inner`. What a reader
   * of law reads itself is not here.
   */
  readonly stated: ReadonlyMap<string, StatedField>
}

/** What a reader gives of a source; texts of messages name ids and lines, and never repeat other content. */
export type SourceItem =
  | SourceRecord
  | SourceFault
  /** What the reader decided about a unit that an operator should look at; the unit itself is read all the same. */
  | { readonly kind: 'warning'; readonly line: number; readonly id?: string; readonly message: string }
  /** A part of a source that becomes no passage by a rule of its reader. */
  | { readonly kind: 'omission'; readonly line: number; readonly rule: string; readonly text: string }
  /** What a file states, or lacks, that its reader does not understand, and how often. */
  | { readonly kind: 'not understood'; readonly line: number; readonly name: string; readonly count: number }
  /** How much of a file its reader accounts for. */
  | { readonly kind: 'coverage'; readonly coverage: Coverage }

/** A unit that cannot become a passage. */
export interface SourceFault {
  readonly kind: 'fault'
  readonly line: number
  readonly id?: string | undefined
  readonly reason: string
  /** Of the unit, for the report; absent where the whole file is lost or its bytes are no text. */
  readonly text?: string
}

/** A captured source as the import reads it. */
export interface SourceSnapshot {
  /** UUID of the snapshot's row. */
  readonly id: string
  readonly sourceName: string
  readonly mediaType: string
  /** Path of its bytes. */
  readonly path: string
}
