import { jsonlRecords } from './jsonl.ts'
import type { Mapping } from './mapping.ts'
import { markdownRecords } from './markdown.ts'
import type { SourceItem, SourceSnapshot } from './record.ts'

/** Yields what a source holds, read in the format of the mapping. */
export function sourceItems(
  { path }: SourceSnapshot,
  format: Mapping['format'],
  signal: AbortSignal | undefined,
): AsyncGenerator<SourceItem> {
  switch (format) {
    case 'jsonl':
      return jsonlRecords(path, signal)
    case 'markdown':
      return markdownRecords(path)
    default:
      return format satisfies never
  }
}
