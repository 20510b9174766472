import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { foldKey } from '#core/identity/fold.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { resolveConflicts, type Conflict } from '#law/import/staging/conflicts.ts'
import { readSeveralPublications, readSeveralSources, readShorterRevisions } from '#law/import/staging/notices.ts'
import type { Notice } from '#law/import/staging/notices.ts'
import { readDerivedEnds, readLeftOut, readOnlyOutranked } from '#law/import/staging/losses.ts'
import { readRepeatedNames, type RepeatedName } from '#law/import/staging/repeated-names.ts'
import { numberIds, orderKept, type Revises } from '#law/import/staging/kept-records.ts'
import type { StagedLocation, Staging } from '#law/import/staging/staging.ts'
import { contestedNames } from '../staging/facets-and-acts.ts'
import type { Finding } from '../report/findings.ts'
import { numberedId, numberedIdentity } from './identity.ts'
import type { Mapping } from '../mapping/mapping.ts'
import { locationOf, shownLocation, type RecordLocation } from '../report/report.ts'
import { DUPLICATE, type StageInput } from './stager.ts'

const OUTRANKED = 'another source has precedence'

const WHAT = {
  id: 'have one id, document, language and day, but different texts',
  document: 'hold one document of one language and day, but different texts',
  provision: 'hold two texts of one provision that take effect on one day',
  overlap: 'hold revisions of one document that are in force at the same time',
} as const satisfies Record<Conflict['kind'], string>

const SHARED = {
  label: 'have one citation',
  provision: 'are one provision of one document',
  anchor: 'have one address in two documents',
} as const satisfies Record<RepeatedName['kind'], string>

type Locate = (location: StagedLocation) => RecordLocation
type Pair = Record<'first' | 'second', StagedLocation>

function both({ first, second }: Pair, locate: Locate): string {
  return `${shownLocation(locate(first))} and ${shownLocation(locate(second))}`
}

function conflictFinding(conflict: Conflict, locate: Locate): Finding {
  const { kind } = conflict
  return { kind: 'contradiction', of: kind, sentence: `${both(conflict, locate)} ${WHAT[kind]}` }
}

function warningFinding({ first, second }: Pair, message: string, locate: Locate): Finding {
  return { kind: 'warning', ...locate(first), message, other: locate(second) }
}

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
export function* orderRecords(staging: Staging, { mapping, snapshots, isBuild }: StageInput): Generator<Finding> {
  const revises = revisesOf(mapping)
  const locate: Locate = (location) => locationOf(snapshots, location)
  for (const { record, isRepetition, other } of readLeftOut(staging)) {
    const reason = isRepetition ? DUPLICATE : OUTRANKED
    yield { kind: 'skipped', skip: 'intended', entry: { ...locate(record), reason, other: locate(other) } }
  }
  const numbered = numberIds(staging, (record, number) => numberedIdentity(mapping.format, record, number))
  for (const { record, first, number, records } of numbered) {
    if (records > IMPORT_BOUNDS.recordsPerIdMax)
      throw new OperatorError(
        `The source has more than ${IMPORT_BOUNDS.recordsPerIdMax} records of one id: map the id to what is unique.`,
      )
    const message = `an id is used again; this record is ${numberedId(record.id, number)}`
    yield warningFinding({ first: record, second: first }, message, locate)
  }
  for (const conflict of orderKept(staging, revises, IMPORT_BOUNDS.reportEntriesMax))
    yield conflictFinding(conflict, locate)
  for (const name of contestedNames(staging)) {
    const sentence = `${both(name, locate)} give the name "${name.name}" to two acts, ${name.acts.join(' and ')}`
    yield { kind: 'contradiction', of: 'alias', sentence }
  }
  const confirmed = new Map(Object.entries(mapping.repeated_labels).map(([label, texts]) => [foldKey(label), texts]))
  for (const name of readRepeatedNames(staging))
    yield repeatedNameFinding(name, (label) => confirmed.get(foldKey(label)) ?? 0, locate)
  if (isBuild === true) return
  for (const notice of noticesOf(staging, revises)) {
    const message = [notice.message, ...notice.others.map((each) => shownLocation(locate(each)))].join(', ')
    yield warningFinding(notice, message, locate)
  }
  yield* lossesOf(staging, locate)
}

/** Returns what an import says about a name of several texts that are in force at one time. */
function repeatedNameFinding(name: RepeatedName, confirmed: (label: string) => number, locate: Locate): Finding {
  const { kind, labels, texts, first, second } = name
  const [label] = labels
  if (texts <= Math.max(...labels.map(confirmed))) {
    const message = `${texts} texts ${SHARED[kind]} at one time, as "repeated_labels" confirms: "${label}"`
    return warningFinding({ first: second, second: first }, message, locate)
  }
  const sentence = `${both(name, locate)} ${SHARED[kind]} at one time, but different texts`
  return { kind: 'contradiction', of: 'name', sentence, repeated: { label, texts } }
}

/** Yields what is lost, and what ends, although no source says so. */
function* lossesOf(staging: Staging, locate: Locate): Generator<Finding> {
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
