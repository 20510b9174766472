import { OperatorError } from '#core/platform/errors.ts'
import type { Conflict } from '#jobs/import/staging/conflicts.ts'
import type { Notice } from '#jobs/import/staging/notices.ts'
import type { StagedLocation } from '#jobs/import/staging/staging.ts'
import { IMPORT_BOUNDS } from './bounds.ts'
import { shownLocation } from './report.ts'
import type { RecordLocation } from './report.ts'

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

  conflict({ kind, first, second }: Conflict, locate: (location: StagedLocation) => RecordLocation): void {
    this.#add(`${shownLocation(locate(first))} and ${shownLocation(locate(second))} ${WHAT[kind]}`, REMEDY[kind])
  }

  contradiction(kind: 'dates' | 'anchor', location: RecordLocation, reason: string): void {
    this.#add(`${shownLocation(location)}: ${reason}`, REMEDY[kind])
  }

  #add(sentence: string, remedy: string): void {
    this.#count += 1
    if (this.#named.length < IMPORT_BOUNDS.importConflictsNamedMax) this.#named.push(sentence)
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

/** Returns the warning for a notice; the report names both locations beside it. */
export function noticeText(notice: Notice, locate: (location: StagedLocation) => RecordLocation): string {
  switch (notice.kind) {
    case 'several_sources': {
      const others = notice.others.map((location) => `, ${shownLocation(locate(location))}`).join('')
      return `the document of one day comes from ${notice.sources} sources: they must be parts of one text${others}`
    }
    case 'several_publications':
      return 'records of one document take effect on one day and have different days of publication'
    case 'repeated_provision':
      return 'a provision has two texts on one day: both are imported as distinct passages'
    case 'shorter_revision': {
      const { provisions, provisionsBefore } = notice
      return `a revision of ${provisions} provisions ends one of ${provisionsBefore}: correct its day, or add the rest`
    }
    default:
      return notice satisfies never
  }
}
