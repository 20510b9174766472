import type { Conflict } from '#core/db/staging/conflicts.ts'
import type { StagedPlace } from '#core/db/staging/staging.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { shownPlace } from './report.ts'
import type { RecordPlace } from './report.ts'

const WHAT = {
  id: 'have one id, document, language and day, but different texts',
  document: 'hold one document of one language and day, but different texts',
  provision: 'hold two texts of one provision that take effect on one day',
  overlap: 'hold revisions of one document that are in force at the same time',
} as const satisfies Record<Conflict['kind'], string>

const REMEDY = {
  id: 'remove one of the two, or list their sources in "precedence" of the mapping',
  document: 'remove one of the two, or list their sources in "precedence" of the mapping',
  provision: 'correct the provision or the dates, or list the sources in "precedence" of the mapping',
  overlap: 'state in "revises" of the mapping whether a revision replaces the document or the provision',
  anchor: 'give headings with the same words anchors of their own, as in "## Definitions {#definitions-of-part-1}"',
  dates: 'correct the dates, or state "reversed_dates": "skip" in the mapping',
} as const

/** Collects contradictions in the sources, which refuse the import once all of it is read. */
export class ImportRefusals {
  readonly #named: string[] = []
  readonly #remedies = new Set<string>()
  #count = 0

  conflict({ kind, first, second }: Conflict, placeOf: (place: StagedPlace) => RecordPlace): void {
    this.#add(`${shownPlace(placeOf(first))} and ${shownPlace(placeOf(second))} ${WHAT[kind]}`, REMEDY[kind])
  }

  reversedDates(place: RecordPlace, reason: string): void {
    this.#add(`${shownPlace(place)}: ${reason}`, REMEDY.dates)
  }

  numberedAnchor(place: RecordPlace, reason: string): void {
    this.#add(`${shownPlace(place)}: ${reason}, and "revises" is "provision"`, REMEDY.anchor)
  }

  #add(sentence: string, remedy: string): void {
    this.#count += 1
    if (this.#named.length < BOUNDS.importConflictsNamedMax) this.#named.push(sentence)
    this.#remedies.add(remedy)
  }

  /** @throws OperatorError naming the first contradictions and what to do about them. */
  assertNone(): void {
    if (this.#count === 0) return
    const omitted = this.#count - this.#named.length
    throw new OperatorError(
      [
        `Nothing is imported, because the sources contradict each other (${this.#count}):`,
        ...this.#named.map((sentence) => `  ${sentence}`),
        ...(omitted > 0 ? [`  … and ${omitted} more`] : []),
        `What to do: ${[...this.#remedies].join('; ')}. Then import again.`,
      ].join('\n'),
    )
  }
}
