import type { Conflict } from '#law/import/staging/conflicts.ts'
import type { RepeatedName } from '#law/import/staging/repeated-names.ts'
import type { StagedLocation } from '#law/import/staging/staging.ts'
import type { ContestedName } from '../staging/facets-and-acts.ts'
import type { Finding } from './findings.ts'
import { shownLocation } from './report.ts'
import type { RecordLocation } from './report.ts'

const WHAT = {
  id: 'have one id, document, language and day, but different texts',
  document: 'hold one document of one language and day, but different texts',
  provision: 'hold two texts of one provision that take effect on one day',
  overlap: 'hold revisions of one document that are in force at the same time',
} as const satisfies Record<Conflict['kind'], string>

const REMEDY = {
  id: 'remove one of the two, or list their sources in "precedence" of source.yaml or the mapping',
  document: 'remove one of the two, or list their sources in "precedence" of source.yaml or the mapping',
  provision: 'correct the provision or the dates, or list the sources in "precedence" of source.yaml or the mapping',
  overlap: 'state in "revises" of source.yaml or the mapping whether a revision replaces the document or the provision',
  name:
    'remove or correct one of the two, or, where the publisher has both, confirm the label by its name in ' +
    '"repeated_labels" of source.yaml or the mapping',
  alias: 'remove the name from the aliases of one act, or write both acts with one id',
  anchor: 'give headings with the same words anchors of their own, as in "## Definitions {#definitions-of-part-1}"',
  unread: 'read these fields in a rule of the mapping, or list them in its "ignored_fields"',
  dates: 'correct the dates, or state "reversed_dates": "skip" in the mapping',
} as const

/** Returns the contradiction of two records. */
export function conflictFinding(
  { kind, first, second }: Conflict,
  locate: (location: StagedLocation) => RecordLocation,
): Finding {
  const sentence = `${shownLocation(locate(first))} and ${shownLocation(locate(second))} ${WHAT[kind]}`
  return { kind: 'contradiction', sentence, remedy: REMEDY[kind] }
}

const SHARED = {
  label: 'have one citation',
  provision: 'are one provision of one document',
  anchor: 'have one address in two documents',
} as const satisfies Record<RepeatedName['kind'], string>

/**
 * Returns what an import says about a name of several texts that are in force at one time.
 * @param confirmed number of texts that the mapping confirms for it.
 */
export function repeatedNameFinding(
  { kind, labels: [label], texts, first, second }: RepeatedName,
  confirmed: number,
  locate: (location: StagedLocation) => RecordLocation,
): Finding {
  const [one, other] = [locate(first), locate(second)]
  if (texts <= confirmed) {
    const message = `${texts} texts ${SHARED[kind]} at one time, as "repeated_labels" confirms: "${label}"`
    return { kind: 'warning', warning: { ...other, message, other: one } }
  }
  const sentence = `${shownLocation(one)} and ${shownLocation(other)} ${SHARED[kind]} at one time, but different texts`
  return { kind: 'contradiction', sentence, remedy: REMEDY.name, repeated: { label, texts } }
}

/** Returns the contradiction of two acts that have one name. */
export function contestedNameFinding(
  { name, acts: [one, other], first, second }: ContestedName,
  locate: (location: StagedLocation) => RecordLocation,
): Finding {
  const places = `${shownLocation(locate(first))} and ${shownLocation(locate(second))}`
  const sentence = `${places} give the name "${name}" to two acts, ${one} and ${other}`
  return { kind: 'contradiction', sentence, remedy: REMEDY.alias }
}

/** Returns the contradiction within one record. */
export function contradictionFinding(
  kind: 'dates' | 'anchor' | 'unread',
  location: RecordLocation,
  reason: string,
): Finding {
  const sentence = `${shownLocation(location)}: ${reason}`
  return { kind: 'contradiction', sentence, remedy: REMEDY[kind], group: `${location.source} ${reason}` }
}
