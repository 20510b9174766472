import { jsonlRecords } from './jsonl.ts'
import { lawRecords } from './law.ts'
import type { Mapping } from '../mapping/mapping.ts'
import { markdownRecords } from './markdown.ts'
import { readFieldsOf } from '../mapping/read-fields.ts'
import type { SourceItem, SourceSnapshot } from './record.ts'

/** Yields what a source holds, read in the format of the mapping. */
export function sourceItems(
  snapshot: SourceSnapshot,
  mapping: Mapping,
  snapshots: readonly SourceSnapshot[],
  signal: AbortSignal | undefined,
): AsyncGenerator<SourceItem> {
  switch (mapping.format) {
    case 'jsonl':
      return jsonlRecords(snapshot.path, signal)
    case 'markdown':
      return markdownRecords(snapshot.path, readFieldsOf(mapping))
    case 'law':
      return lawRecords(snapshot, readFieldsOf(mapping), snapshots)
    default:
      return mapping.format satisfies never
  }
}
