import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IMPORT_BOUNDS } from '#jobs/import/bounds.ts'
import { settleConflicts } from '#jobs/import/staging/conflicts.ts'
import { readLeftOut } from '#jobs/import/staging/left-out.ts'
import {
  readRepeatedProvisions,
  readSeveralPublications,
  readSeveralSources,
  readShorterRevisions,
} from '#jobs/import/staging/notices.ts'
import type { Notice } from '#jobs/import/staging/notices.ts'
import { numberIds } from '#jobs/import/staging/numbers.ts'
import { orderKept, readSplits, readTotals } from '#jobs/import/staging/kept-records.ts'
import type { Revises } from '#jobs/import/staging/kept-records.ts'
import { keptRecords } from '#jobs/import/staging/rows.ts'
import { openStaging } from '#jobs/import/staging/staging.ts'
import type { StagedLocation, Staging } from '#jobs/import/staging/staging.ts'
import { LEFT_OUT_REASONS, mayBelongToCorpus } from '#jobs/sources/list.ts'
import { actsOf, facetsOf } from './described.ts'
import { finalDrafts, derivedFieldsOf } from './draft.ts'
import type { DraftPassage } from './draft.ts'
import { openDraftsReader, withDraftsFile } from './drafts-file.ts'
import type { DraftsFile, DraftsReader } from './drafts-file.ts'
import { assertRecordsPerId, numberedId, numberedIdentity } from './identity.ts'
import { jsonlRecords } from './jsonl.ts'
import { MARKDOWN_MAPPING } from './mapping.ts'
import type { Mapping } from './mapping.ts'
import { markdownRecords } from './markdown.ts'
import { ImportRefusals, noticeText } from './messages.ts'
import type { SourceItem, SourceSnapshot } from './record.ts'
import { DUPLICATE, createRecorder } from './recorder.ts'
import { ReportAccumulator } from './report.ts'
import type { ImportReport, RecordLocation } from './report.ts'

const OUTRANKED = 'another source has precedence'

export interface ImportInput {
  readonly knowledgeBaseId: string
  /** Absent: Markdown with the documented front matter. */
  readonly mapping?: Mapping
  readonly snapshots: readonly SourceSnapshot[]
  /** Names of files in the source folder that are not read, for the report. */
  readonly leftOut?: readonly string[]
  readonly signal?: AbortSignal
  /** Called for every record read. */
  readonly onRecord?: () => void
}

/**
 * Runs the import and yields its passages in the order of the sources; returns the report. Its files are in a temporary
 * folder of the system.
 * @throws OperatorError as `readSources` does.
 */
export async function* importSnapshots(input: ImportInput): AsyncGenerator<DraftPassage, ImportReport> {
  const folder = await mkdtemp(join(tmpdir(), 'evidence-import-'))
  const path = join(folder, 'drafts.jsonl')
  const staging = openStaging(join(folder, 'staging.sqlite'))
  let reader: DraftsReader | undefined
  try {
    const report = await withDraftsFile(path, (file) => readSources(input, staging, file))
    reader = openDraftsReader(path)
    for (const kept of keptRecords(staging)) {
      yield* finalDrafts(reader.read(kept), derivedFieldsOf(kept, mappingOf(input)))
    }
    return report
  } finally {
    reader?.close()
    staging.close()
    await rm(folder, { recursive: true, force: true })
  }
}

function mappingOf({ mapping = MARKDOWN_MAPPING }: Pick<ImportInput, 'mapping'>): Mapping {
  return mapping
}

/**
 * Reads the sources into the staging file: read and parse → map → split → draft → identify. Then settles what all
 * records together decide: contradictions, ends and ordinals. Holds one record (for Markdown, one file) in memory. The
 * drafts go to a spill file where one is given. The same snapshots and mapping give the same passages.
 * @throws OperatorError when the sources contradict each other, or the mapping yields too many facet values, acts or
 * aliases.
 */
export async function readSources(input: ImportInput, staging: Staging, drafts?: DraftsFile): Promise<ImportReport> {
  const mapping = mappingOf(input)
  const report = new ReportAccumulator()
  const refusals = new ImportRefusals()
  const record = createRecorder({ knowledgeBaseId: input.knowledgeBaseId, mapping, staging, drafts })

  for (const source of input.leftOut ?? []) {
    const location = { source, line: 1, reason: LEFT_OUT_REASONS[mapping.format] }
    report.skipped(location, mayBelongToCorpus(source, mapping.format) ? 'lost' : 'intended')
  }
  for (const [source, snapshot] of input.snapshots.entries()) {
    report.file()
    for await (const item of readRecords(snapshot, mapping, input.signal)) {
      input.signal?.throwIfAborted()
      const location = {
        source: snapshot.sourceName,
        line: item.line,
        ...(item.id === undefined ? {} : { id: item.id }),
      }
      if (item.kind === 'warning') {
        report.warned({ ...location, message: item.message })
        continue
      }
      input.onRecord?.()
      if (item.kind === 'fault') {
        report.skipped({ ...location, reason: item.reason }, 'lost')
        continue
      }
      const outcome = await record(item, source, snapshot.id)
      if (outcome.kind === 'refused') refusals.contradiction(outcome.contradiction, location, outcome.reason)
      if (outcome.kind !== 'skipped') continue
      const other = 'first' in outcome ? { other: locationOf(input, outcome.first) } : {}
      report.skipped({ ...location, reason: outcome.reason, ...other }, outcome.skip)
    }
  }
  await drafts?.flush()
  settle(input, staging, report, refusals)
  return report.close({
    totals: readTotals(staging),
    splits: readSplits(staging, IMPORT_BOUNDS.reportEntriesMax).map(({ parts, ...location }) => ({
      ...locationOf(input, location),
      parts,
    })),
    acts: actsOf(staging),
    facets: facetsOf(staging),
  })
}

/** Settles what depends on all records. @throws OperatorError when the sources contradict each other. */
function settle(input: ImportInput, staging: Staging, report: ReportAccumulator, refusals: ImportRefusals): void {
  const mapping = mappingOf(input)
  const revises = mapping.revises ?? (mapping.format === 'markdown' ? 'document' : undefined)
  const ranks = new Map(mapping.precedence.map((name, rank) => [name, rank] as const))
  const locate = (location: StagedLocation): RecordLocation => locationOf(input, location)
  settleConflicts(staging, {
    wholeDocuments: mapping.format === 'markdown' ? 'always' : revises === 'provision' ? 'never' : 'listed',
    rank: (source) => ranks.get(input.snapshots[source]?.sourceName ?? ''),
    onConflict: (conflict) => refusals.conflict(conflict, locate),
  })
  refusals.assertNone()
  for (const { record, why, other } of readLeftOut(staging)) {
    const reason = why === 'repetition' ? DUPLICATE : OUTRANKED
    report.skipped({ ...locate(record), reason, other: locate(other) }, 'intended')
  }
  numberIds(staging, {
    identityOf: (record, number) => numberedIdentity(mapping.format, record, number),
    onNumber({ record, first, number, records }) {
      assertRecordsPerId(records)
      const message = `an id is used again; this record is ${numberedId(record.id, number)}`
      report.warned({ ...locate(record), message, other: locate(first) })
    },
  })
  orderKept(staging, revises, IMPORT_BOUNDS.reportEntriesMax, (conflict) => refusals.conflict(conflict, locate))
  refusals.assertNone()
  for (const notice of noticesOf(staging, revises))
    report.warned({ ...locate(notice.location), message: noticeText(notice, locate), other: locate(notice.other) })
}

function* noticesOf(staging: Staging, revises: Revises): Generator<Notice> {
  yield* readRepeatedProvisions(staging)
  yield* readSeveralSources(staging)
  if (revises !== 'provision') yield* readSeveralPublications(staging)
  if (revises === 'document') yield* readShorterRevisions(staging)
}

function locationOf(
  { snapshots }: Pick<ImportInput, 'snapshots'>,
  { source, line, id }: StagedLocation,
): RecordLocation {
  return { source: snapshots[source]?.sourceName ?? '', line, id }
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
