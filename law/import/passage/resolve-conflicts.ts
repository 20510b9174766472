import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { foldKey } from '#core/identity/fold.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { resolveConflicts } from '#law/import/staging/conflicts.ts'
import { readSeveralPublications, readSeveralSources, readShorterRevisions } from '#law/import/staging/notices.ts'
import type { Notice } from '#law/import/staging/notices.ts'
import { readDerivedEnds, readLeftOut, readOnlyOutranked } from '#law/import/staging/losses.ts'
import { numberIds } from '#law/import/staging/numbers.ts'
import { readRepeatedNames } from '#law/import/staging/repeated-names.ts'
import { orderKept } from '#law/import/staging/kept-records.ts'
import type { Revises } from '#law/import/staging/kept-records.ts'
import type { StagedLocation, Staging } from '#law/import/staging/staging.ts'
import { contestedNames } from '../staging/facets-and-acts.ts'
import type { Finding } from '../report/findings.ts'
import { numberedId, numberedIdentity } from './identity.ts'
import type { Mapping } from '../mapping/mapping.ts'
import { conflictFinding, contestedNameFinding, repeatedNameFinding } from '../report/messages.ts'
import { locationOf, shownLocation } from '../report/report.ts'
import { DUPLICATE } from './stager.ts'
import type { StageInput } from './stager.ts'
import type { RecordLocation } from '../report/report.ts'

const OUTRANKED = 'another source has precedence'

/** Compares all staged records. Yields the contradictions that no order of precedence resolves. */
export function* findContradictions(staging: Staging, { mapping, snapshots }: StageInput): Generator<Finding> {
  const ranks = new Map(mapping.precedence.map((name, rank) => [name, rank] as const))
  const conflicts = resolveConflicts(staging, {
    wholeDocuments: revisesOf(mapping) !== 'provision',
    rank: (source) => ranks.get(snapshots[source]?.sourceName ?? ''),
  })
  for (const conflict of conflicts) yield conflictFinding(conflict, (location) => locationOf(snapshots, location))
}

/**
 * Numbers and orders the records that are kept, once none contradicts another. Yields what is left out, what an
 * operator should look at, and revisions that overlap where the mapping does not say what a revision replaces.
 * @throws OperatorError for an id that too many records have.
 */
export function* orderRecords(staging: Staging, { mapping, snapshots }: StageInput): Generator<Finding> {
  const revises = revisesOf(mapping)
  const locate = (location: StagedLocation): RecordLocation => locationOf(snapshots, location)
  for (const { record, why, other } of readLeftOut(staging)) {
    const reason = why === 'repetition' ? DUPLICATE : OUTRANKED
    yield { kind: 'skipped', skip: 'intended', entry: { ...locate(record), reason, other: locate(other) } }
  }
  const numbered = numberIds(staging, (record, number) => numberedIdentity(mapping.format, record, number))
  for (const { record, first, number, records } of numbered) {
    if (records > IMPORT_BOUNDS.recordsPerIdMax)
      throw new OperatorError(
        `The source has more than ${IMPORT_BOUNDS.recordsPerIdMax} records of one id: map the id to what is unique.`,
      )
    const message = `an id is used again; this record is ${numberedId(record.id, number)}`
    yield { kind: 'warning', warning: { ...locate(record), message, other: locate(first) } }
  }
  for (const conflict of orderKept(staging, revises, IMPORT_BOUNDS.reportEntriesMax))
    yield conflictFinding(conflict, locate)
  for (const name of contestedNames(staging)) yield contestedNameFinding(name, locate)
  const confirmed = new Map(Object.entries(mapping.repeated_labels).map(([label, texts]) => [foldKey(label), texts]))
  for (const name of readRepeatedNames(staging)) {
    const texts = name.labels.map((label) => confirmed.get(foldKey(label)) ?? 0)
    yield repeatedNameFinding(name, Math.max(...texts), locate)
  }
  for (const notice of noticesOf(staging, revises)) {
    const message = [notice.message, ...notice.others.map((each) => shownLocation(locate(each)))].join(', ')
    yield { kind: 'warning', warning: { ...locate(notice.first), message, other: locate(notice.second) } }
  }
  yield* lossesOf(staging, locate)
}

/** Yields what is lost, and what ends, although no source says so. */
function* lossesOf(staging: Staging, locate: (location: StagedLocation) => RecordLocation): Generator<Finding> {
  for (const record of readOnlyOutranked(staging))
    yield { kind: 'loss', place: locate(record), reason: 'the source with precedence holds nothing of its provision' }
  for (const { effective_to, restated, ...record } of readDerivedEnds(staging)) {
    const day = new Date(effective_to).toISOString().slice(0, 10)
    yield { kind: 'end', end: { ...locate(record), day } }
    if (!restated) yield { kind: 'loss', place: locate(record), reason: `${NOT_RESTATED} ${day}` }
  }
}

const NOT_RESTATED = 'it ends without a stated end, because the next revision does not restate it, on'

function revisesOf({ revises, format }: Mapping): Revises {
  return revises ?? (format === 'jsonl' ? undefined : 'document')
}

function* noticesOf(staging: Staging, revises: Revises): Generator<Notice> {
  yield* readSeveralSources(staging)
  if (revises !== 'provision') yield* readSeveralPublications(staging)
  if (revises === 'document') yield* readShorterRevisions(staging)
}
