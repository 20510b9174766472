import type { ActEntry } from '#core/index/references/layout.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { LEFT_OUT_REASONS } from '#jobs/sources/list.ts'
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
import { createReferenceReader } from './references.ts'
import { ReportAccumulator } from './report.ts'
import type { ImportReport } from './report.ts'
import { compileMapping } from './resolve.ts'
import { splitText } from './split.ts'
import { isBlank } from './text.ts'

export interface ImportInput {
  readonly knowledgeBaseId: string
  /** Absent: Markdown with the documented front matter. */
  readonly mapping?: Mapping
  readonly snapshots: readonly SourceSnapshot[]
  /** Names of files in the source folder that are not read, for the report. */
  readonly leftOut?: readonly string[]
  readonly signal?: AbortSignal
}

/**
 * Runs the import: read and parse → map → split → draft. Yields passages in the order of the sources and returns the
 * report. Holds one record (for Markdown, one file) in memory, plus some hundred bytes for each record's keys. The same
 * snapshots and mapping give the same passages.
 * @throws OperatorError when the mapping yields too many facet values, acts or aliases.
 */
export async function* importSnapshots(input: ImportInput): AsyncGenerator<DraftPassage, ImportReport> {
  const { mapping = MARKDOWN_MAPPING, signal } = input
  const draft = createDrafter(input.knowledgeBaseId, mapping)
  const report = new ReportAccumulator()

  for (const source of input.leftOut ?? [])
    report.skipped({ source, line: 1, reason: LEFT_OUT_REASONS[mapping.format] })
  for (const snapshot of input.snapshots) {
    report.file()
    for await (const item of readRecords(snapshot, mapping, signal)) {
      signal?.throwIfAborted()
      if (item.kind === 'warning') continue
      const place = { source: snapshot.sourceName, line: item.line, ...(item.id === undefined ? {} : { id: item.id }) }
      const drafted = item.kind === 'fault' ? item.reason : draft(item, snapshot.id)
      if (typeof drafted === 'string') report.skipped({ ...place, reason: drafted })
      else yield* report.drafted(drafted.passages, drafted.act, place)
    }
  }
  return report.close()
}

interface Drafted {
  readonly passages: readonly DraftPassage[]
  readonly act: ActEntry | undefined
}

/** Returns a function that makes a record's passages, or gives the reason why there are none. */
function createDrafter(
  knowledgeBaseId: string,
  mapping: Mapping,
): (record: SourceRecord, snapshotId: string) => Drafted | string {
  const resolve = compileMapping(mapping)
  const readReferences = createReferenceReader({ byLabel: mapping.fields.reference === undefined })
  const keys = new CompactCounter()
  const provisions = new CompactCounter()

  return (record, snapshotId) => {
    const resolved = resolve(record)
    const reason = resolved.skip ?? noEvidence(record)
    const placed = reason ?? placeOf(resolved)
    if (typeof placed === 'string') return placed
    const key = recordKey(mapping, record, placed)
    if (keys.count(key) > 0) return 'duplicate id'

    const { act, references } = readReferences(placed)
    const provision = JSON.stringify([
      placed.documentKey,
      placed.effectiveAt,
      placed.effectiveTo,
      placed.publishedAt,
      placed.provision,
    ])
    const passages = draftPassages({
      knowledgeBaseId,
      snapshotId,
      sourceId: mapping.format === 'markdown' ? `${placed.documentKey}#${record.id}` : record.id,
      recordTitle: record.title,
      placed,
      texts: splitText(record.text, placed.language, BOUNDS.passageCharactersMax),
      references,
      occurrence: provisions.count(provision),
    })
    if (typeof passages === 'string') return passages
    keys.add(key)
    provisions.add(provision)
    return { passages, act }
  }
}

function readRecords(
  snapshot: SourceSnapshot,
  mapping: Mapping,
  signal: AbortSignal | undefined,
): AsyncGenerator<SourceItem> {
  switch (mapping.format) {
    case 'jsonl':
      return jsonlRecords(snapshot.path, signal)
    case 'markdown':
      return markdownRecords(snapshot.path)
    default:
      return mapping.format satisfies never
  }
}

/** Returns the reason why a text is no evidence under any mapping, or undefined. */
function noEvidence({ text, title }: SourceRecord): string | undefined {
  if (isBlank(text)) return 'text is blank'
  return title !== '' && text.trim() === title ? 'text only repeats its title' : undefined
}

/** Ids are unique within a JSONL corpus; Markdown anchors are unique within one revision of a document. */
function recordKey(mapping: Mapping, { id }: SourceRecord, placed: Placed): string {
  return mapping.format === 'jsonl' ? id : JSON.stringify([placed.documentKey, placed.effectiveAt, id])
}
