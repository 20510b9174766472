import type { Facets } from '#core/index/facets/layout.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { CompactCounter } from './compact-counter.ts'
import type { DraftPassage } from './draft.ts'

/** Position of a record in its source. */
export interface RecordPlace {
  readonly source: string
  /** From 1. */
  readonly line: number
  readonly id?: string
}

export interface ImportReportEntry extends RecordPlace {
  readonly reason: string
}

/** A record too long for one passage. */
export interface ImportReportSplit extends RecordPlace {
  readonly parts: number
}

/**
 * What an import read, split and skipped, with reasons. `records_read` = `skipped` + records that became one or more
 * passages.
 */
export interface ImportReport {
  /** Files read. */
  readonly files: number
  /**
   * JSONL lines or Markdown sections. A file that is unreadable as a whole, or is left out because it is not Markdown,
   * counts as one.
   */
  readonly records_read: number
  readonly passages: number
  readonly documents: number
  readonly revisions: number
  /** Records cut into several passages. */
  readonly split: number
  readonly skipped: number
  readonly reasons: Readonly<Record<string, number>>
  /** The first skipped records: files left out, then records in the order of the sources. */
  readonly entries: readonly ImportReportEntry[]
  readonly entries_omitted: number
  /** The first split records, in the order of the sources, with the same limit as the skipped ones. */
  readonly splits: readonly ImportReportSplit[]
  /** Passages whose own provision is known. */
  readonly referenced: number
  /** Acts that the corpus holds, by id, with their aliases. */
  readonly acts: readonly ActEntry[]
  readonly facets: Facets
}

/** Collects the report while the import runs; its memory is bounded for every corpus. */
export class ReportAccumulator {
  readonly #entriesMax: number
  readonly #documents = new CompactCounter()
  readonly #revisions = new CompactCounter()
  readonly #reasons = new Map<string, number>()
  readonly #entries: ImportReportEntry[] = []
  readonly #splits: ImportReportSplit[] = []
  readonly #facets = {
    languages: new Set<string>(),
    jurisdictions: new Set<string>(),
    subjects: new Set<string>(),
    statuses: new Set<string>(),
  }
  readonly #acts = new Map<string, Set<string>>()
  readonly #counts = { files: 0, records_read: 0, passages: 0, split: 0, skipped: 0, referenced: 0 }

  constructor(entriesMax: number = BOUNDS.reportEntriesMax) {
    this.#entriesMax = entriesMax
  }

  file(): void {
    this.#counts.files += 1
  }

  skipped(entry: ImportReportEntry): void {
    this.#counts.records_read += 1
    this.#counts.skipped += 1
    this.#reasons.set(entry.reason, (this.#reasons.get(entry.reason) ?? 0) + 1)
    if (this.#entries.length < this.#entriesMax) this.#entries.push(entry)
  }

  /** Counts a record's passages and sets the ordinal of each within its revision. */
  drafted(passages: readonly DraftPassage[], act: ActEntry | undefined, place: RecordPlace): readonly DraftPassage[] {
    if (act !== undefined) this.#noteAct(act)
    this.#counts.records_read += 1
    this.#counts.passages += passages.length
    if (passages.length > 1) {
      this.#counts.split += 1
      if (this.#splits.length < this.#entriesMax) this.#splits.push({ ...place, parts: passages.length })
    }
    return passages.map((passage) => {
      this.#documents.add(passage.document.id)
      this.#noteFacets(passage)
      if (passage.references.some((reference) => reference.includes('#'))) this.#counts.referenced += 1
      return { ...passage, ordinal: this.#revisions.add(passage.document.revision_id) }
    })
  }

  #noteAct({ id, aliases }: ActEntry): void {
    const known = this.#acts.get(id) ?? new Set<string>()
    for (const alias of aliases) known.add(alias)
    this.#acts.set(id, known)
    if (known.size > BOUNDS.aliasesPerActMax)
      throw new OperatorError(
        `the mapping yields more than ${BOUNDS.aliasesPerActMax} aliases of ${id}: map them to fewer`,
      )
    if (this.#acts.size > BOUNDS.actsMax)
      throw new OperatorError(`the mapping yields more than ${BOUNDS.actsMax} different acts: map them to fewer`)
  }

  #noteFacets(passage: DraftPassage): void {
    this.#facets.languages.add(passage.metadata.language)
    this.#facets.jurisdictions.add(passage.metadata.jurisdiction)
    this.#facets.statuses.add(passage.metadata.verification_status)
    for (const subject of passage.subjects) this.#facets.subjects.add(subject)
    for (const [name, values] of Object.entries(this.#facets)) {
      if (values.size > BOUNDS.facetValuesMax)
        throw new OperatorError(
          `the mapping yields more than ${BOUNDS.facetValuesMax} different ${name}: map them to fewer`,
        )
    }
  }

  close(): ImportReport {
    const reasons = [...this.#reasons].sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    return {
      ...this.#counts,
      documents: this.#documents.size,
      revisions: this.#revisions.size,
      reasons: Object.fromEntries(reasons),
      entries: this.#entries,
      entries_omitted: this.#counts.skipped - this.#entries.length,
      splits: this.#splits,
      acts: [...this.#acts]
        .map(([id, aliases]) => ({ id, aliases: [...aliases].sort() }))
        .sort((a, b) => (a.id < b.id ? -1 : 1)),
      facets: {
        languages: [...this.#facets.languages].sort(),
        jurisdictions: [...this.#facets.jurisdictions].sort(),
        subjects: [...this.#facets.subjects].sort(),
        statuses: [...this.#facets.statuses].sort(),
      },
    }
  }
}

const ENTRIES_SHOWN = 20

/**
 * Renders the report for a terminal: the counts, each reason with its count, and the first split and skipped records.
 * Ends with a new line.
 */
export function renderImportReport(report: ImportReport): string {
  const rows: readonly (readonly [string, number])[] = [
    ['files', report.files],
    ['records read', report.records_read],
    ['passages', report.passages],
    ['passages whose provision is known', report.referenced],
    ['documents', report.documents],
    ['revisions', report.revisions],
    ['records split', report.split],
    ['records skipped', report.skipped],
  ]
  const lines = [
    ...rows,
    ...Object.entries(report.reasons).map(([reason, count]) => [`  ${shown(reason)}`, count] as const),
  ].map(([name, count]) => `${String(count).padStart(9)}  ${name}`)
  const splits = listed('Split:', report.splits, report.split, ({ parts }) => `${parts} passages`)
  const skips = listed('Skipped:', report.entries, report.skipped, ({ reason }) => shown(reason))
  return [...lines, ...splits, ...skips, ''].join('\n')
}

/** Lists the first records, each with its position and what was done with it. */
function listed<T extends RecordPlace>(
  title: string,
  records: readonly T[],
  total: number,
  what: (record: T) => string,
): readonly string[] {
  if (records.length === 0) return []
  const first = records
    .slice(0, ENTRIES_SHOWN)
    .map(
      (record) =>
        '  ' +
        `${shown(record.source)}:${record.line}${record.id === undefined ? '' : ` ${shown(record.id)}`}: ` +
        what(record),
    )
  return ['', title, ...first, ...(total > first.length ? [`  … and ${total - first.length} more`] : [])]
}

/** Returns one line of bounded length without control characters, including terminal escapes. */
function shown(text: string): string {
  const plain = text.replaceAll(/\p{Cc}/gu, ' ')
  return plain.length > 120 ? `${plain.slice(0, 119)}…` : plain
}
