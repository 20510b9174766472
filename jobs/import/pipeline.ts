import { BOUNDS } from '#core/bounds.ts'
import { CompactCounter } from './compact-counter.ts'
import { draftPassages } from './draft.ts'
import type { DraftPassage } from './draft.ts'
import { jsonlRecords } from './jsonl.ts'
import { MARKDOWN_MAPPING } from './mapping.ts'
import type { Mapping } from './mapping.ts'
import { markdownRecords } from './markdown.ts'
import { placeOf } from './place.ts'
import type { Placed } from './place.ts'
import type { SourceItem, SourceRecord, SourceSnapshot } from './record.ts'
import { ReportLedger } from './report.ts'
import type { ImportReport } from './report.ts'
import { compileMapping } from './resolve.ts'
import { splitText } from './split.ts'
import { isBlank } from './text.ts'

export interface ImportInput {
  readonly knowledgeBaseId: string
  /** Absent: Markdown with the documented front matter. */
  readonly mapping?: Mapping
  readonly snapshots: readonly SourceSnapshot[]
  readonly signal?: AbortSignal
}

/**
 * The import, stage by stage: read and parse → map → split → draft. Yields passages in the order of the sources and returns the report; holds one record
 * (one file, for Markdown) in memory, and some fifty bytes for each passage's key. The same snapshots and mapping give the same passages.
 * @throws OperatorError when the mapping yields too many facet values.
 */
export async function* importSnapshots(input: ImportInput): AsyncGenerator<DraftPassage, ImportReport> {
  const { knowledgeBaseId, mapping = MARKDOWN_MAPPING, signal } = input
  const resolve = compileMapping(mapping)
  const report = new ReportLedger()
  const keys = new CompactCounter()

  for (const snapshot of input.snapshots) {
    report.file()
    for await (const item of readRecords(snapshot, mapping, signal)) {
      signal?.throwIfAborted()
      const place = { source: snapshot.sourceName, line: item.line, ...(item.id === undefined ? {} : { id: item.id }) }
      const skip = (reason: string): void => report.skipped({ ...place, reason })
      if (item.kind === 'fault') {
        skip(item.reason)
        continue
      }
      const resolved = resolve(item)
      const reason = resolved.skip ?? noEvidence(item)
      const placed = reason ?? placeOf(resolved)
      if (typeof placed === 'string') {
        skip(placed)
        continue
      }
      const key = recordKey(mapping, item, placed)
      if (keys.count(key) > 0) {
        skip('duplicate id')
        continue
      }
      const texts = splitText(item.text, placed.language, BOUNDS.passageCharactersMax)
      const sourceId = mapping.format === 'markdown' ? `${placed.documentKey}#${item.id}` : item.id
      const drafts = draftPassages({ knowledgeBaseId, snapshotId: snapshot.id, sourceId, recordTitle: item.title, placed, texts })
      if (typeof drafts === 'string') {
        skip(drafts)
        continue
      }
      keys.add(key)
      yield* report.drafted(drafts, place)
    }
  }
  return report.close()
}

function readRecords(snapshot: SourceSnapshot, mapping: Mapping, signal: AbortSignal | undefined): AsyncGenerator<SourceItem> {
  switch (mapping.format) {
    case 'jsonl':
      return jsonlRecords(snapshot.path, signal)
    case 'markdown':
      return markdownRecords(snapshot.path)
    default:
      return mapping.format satisfies never
  }
}

/** Why a text is no evidence whatever the mapping says, or undefined. */
function noEvidence({ text, title }: SourceRecord): string | undefined {
  if (isBlank(text)) return 'text is blank'
  return title !== '' && text.trim() === title ? 'text only repeats its title' : undefined
}

/** Ids are unique in a JSONL corpus; anchors of Markdown in one dated text of a document. */
function recordKey(mapping: Mapping, { id }: SourceRecord, placed: Placed): string {
  return mapping.format === 'jsonl' ? id : JSON.stringify([placed.documentKey, placed.effectiveAt, id])
}
