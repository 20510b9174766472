import { IMPORT_BOUNDS } from '../bounds.ts'
import type { Staging } from '#law/import/staging/staging.ts'
import { LEFT_OUT_REASONS, mayBelongToCorpus } from '#law/sources/list.ts'
import type { DraftsFile } from './drafts-file.ts'
import type { Finding } from '../report/findings.ts'
import type { Mapping } from '../mapping/mapping.ts'
import { contradictionFinding } from '../report/messages.ts'
import { readFieldsOf, unreadFields } from '../mapping/read-fields.ts'
import { locationOf } from '../report/report.ts'
import type { SourceRecord, SourceSnapshot } from '../record/record.ts'
import { createRecorder } from './recorder.ts'
import type { Recorded } from './recorder.ts'
import type { RecordLocation } from '../report/report.ts'
import { sourceItems } from '../record/source-items.ts'

export interface StageInput {
  readonly knowledgeBaseId: string
  readonly mapping: Mapping
  readonly snapshots: readonly SourceSnapshot[]
  /** Names of files in the source folder that are not read, for the report. */
  readonly leftOut?: readonly string[]
  readonly signal?: AbortSignal
  /** Called for every record read. */
  readonly onRecord?: () => void
}

/**
 * Reads the sources into the staging file: read and parse → map → split → draft → identify. Yields what is not staged
 * as the source has it. Holds one record (for Markdown, one file) in memory. The drafts go to a spill file where one is
 * given.
 */
export async function* stageSources(
  input: StageInput,
  staging: Staging,
  drafts: DraftsFile | undefined,
): AsyncGenerator<Finding> {
  const { knowledgeBaseId, mapping, snapshots, signal } = input
  const record = createRecorder({ knowledgeBaseId, mapping, staging, drafts })
  const read = readFieldsOf(mapping)
  for (const source of input.leftOut ?? []) yield leftOutFile(source, mapping.format)
  for (const [source, snapshot] of snapshots.entries()) {
    yield { kind: 'file' }
    for await (const item of sourceItems(snapshot, mapping, snapshots, signal)) {
      signal?.throwIfAborted()
      if (item.kind === 'coverage') {
        yield { kind: 'coverage', source: snapshot.sourceName, coverage: item.coverage }
        continue
      }
      const { line, id } = item
      const place = { source: snapshot.sourceName, line, id }
      if (item.kind === 'warning') {
        yield { kind: 'warning', warning: { ...place, message: item.message } }
        continue
      }
      if (item.kind === 'omission') {
        yield { kind: 'omission', omission: { ...place, rule: item.rule, text: item.text } }
        continue
      }
      input.onRecord?.()
      if (item.kind === 'fault') {
        const text = item.text === undefined ? undefined : shownInReport(item.text)
        yield { kind: 'skipped', skip: 'lost', entry: { ...place, reason: item.reason, text } }
      } else {
        yield* unreadIn(item, read)
        yield* findingsOf(await record(item, source, snapshot.id), item, place, snapshots)
      }
    }
  }
  await drafts?.flush()
}

const UNPROVED = 'its text is not found again in the captured bytes, so it is source-declared and not served by default'

function* unreadIn({ stated }: SourceRecord, read: ReadonlySet<string>): Generator<Finding> {
  for (const [name] of unreadFields(stated, read)) yield { kind: 'unread', name }
}

function leftOutFile(source: string, format: Mapping['format']): Finding {
  const skip = mayBelongToCorpus(source, format) ? 'lost' : 'intended'
  return { kind: 'skipped', skip, entry: { source, line: 1, reason: LEFT_OUT_REASONS[format] } }
}

/** The start of a text that is not served, as a database can store it. */
function shownInReport(text: string): string {
  return text.slice(0, IMPORT_BOUNDS.reportTextMax).toWellFormed().replaceAll('\0', '\uFFFD')
}

function* findingsOf(
  recorded: Recorded,
  { title, text, values }: SourceRecord,
  place: RecordLocation,
  snapshots: StageInput['snapshots'],
): Generator<Finding> {
  switch (recorded.kind) {
    case 'staged':
      if (recorded.unproved) yield { kind: 'loss', place, reason: UNPROVED }
      for (const [field, rule] of Object.entries(recorded.lineage)) yield { kind: 'derived', field, rule }
      return
    case 'refused':
      yield contradictionFinding(recorded.contradiction, place, recorded.reason)
      return
    case 'skipped': {
      const { skip, reason } = recorded
      const other = 'first' in recorded ? { other: locationOf(snapshots, recorded.first) } : {}
      const line = 'line' in recorded && recorded.line !== undefined ? recorded.line : place.line
      // The text of a repetition is served by the record that it repeats.
      const unserved =
        'first' in recorded ? {} : { text: shownInReport(`${values.get('section.path') ?? title}\n${text}`) }
      yield { kind: 'skipped', skip, entry: { ...place, line, reason, ...unserved, ...other } }
      return
    }
    default:
      recorded satisfies never
  }
}
