import type { Facets } from '#core/index/facets/layout.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { READER_BOUNDS } from '#law/readers/bounds.ts'
import { shareOf } from '#law/readers/coverage.ts'
import type { Coverage } from '#law/readers/coverage.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { StagedTotals } from '#law/import/staging/kept-records.ts'
import type { Mapping } from '../mapping/mapping.ts'
import { lossName } from './report.ts'
import type {
  ImportReport,
  ImportReportEnd,
  ImportReportEntry,
  ImportReportLoss,
  ImportReportOmission,
  ImportReportRemainder,
  ImportReportSplit,
  ImportReportWarning,
  RecordLocation,
  SkipKind,
} from './report.ts'

/** What a stage of the import found. A staged record is no finding. */
export type Finding =
  /** A file is read. */
  | { readonly kind: 'file' }
  | { readonly kind: 'skipped'; readonly skip: SkipKind; readonly entry: ImportReportEntry }
  | { readonly kind: 'warning'; readonly warning: ImportReportWarning }
  | { readonly kind: 'omission'; readonly omission: ImportReportOmission }
  | { readonly kind: 'coverage'; readonly source: string; readonly coverage: Coverage }
  | { readonly kind: 'end'; readonly end: ImportReportEnd }
  /** A loss that is no skipped record. */
  | { readonly kind: 'loss'; readonly place: RecordLocation; readonly reason: string }
  /** A field of a staged record that a rule of the mapping fills. */
  | { readonly kind: 'derived'; readonly field: string; readonly rule: string }
  /** A record states a field that the mapping neither reads nor ignores. */
  | { readonly kind: 'unread'; readonly name: string }
  /** It refuses the import once all records are read. */
  | {
      readonly kind: 'contradiction'
      readonly sentence: string
      readonly remedy: string
      /** Where many records have it for one reason, the first alone is named. */
      readonly group?: string
      /** What "repeated_labels" of the mapping would say where the publisher has these texts under one label. */
      readonly repeated?: { readonly label: string; readonly texts: number }
    }

/** The sources contradict each other, so that nothing is imported. */
export class SourcesContradict extends OperatorError {
  /** Labels of several texts, as "repeated_labels" of the mapping would confirm them. */
  readonly repeatedLabels: Readonly<Record<string, number>>

  constructor(message: string, repeatedLabels: Readonly<Record<string, number>>) {
    super(message)
    this.repeatedLabels = repeatedLabels
  }
}

type LossRules = Pick<Mapping, 'format' | 'accepted_losses'>

/** Stands for the unread fields beyond those that the report names. */
const OTHER_FIELDS = '(other fields)'

/** Collects the findings of an import while it runs; its memory is bounded for every corpus. */
export class Findings {
  readonly #reasons = new Map<string, number>()
  readonly #entries: ImportReportEntry[] = []
  readonly #warnings: ImportReportWarning[] = []
  /** The first sentence of each group, and how many there are. */
  readonly #contradictions = new Map<string, { readonly sentence: string; count: number }>()
  readonly #remedies = new Set<string>()
  readonly #repeated = new Map<string, number>()
  readonly #mapping: LossRules
  readonly #accepted: ReadonlySet<string>
  readonly #losses: ImportReportLoss[] = []
  readonly #acceptedLosses: ImportReportLoss[] = []
  readonly #ends: ImportReportEnd[] = []
  readonly #omissions: ImportReportOmission[] = []
  readonly #covered: { characters: number; uncovered: number; by: Record<string, number> } = {
    characters: 0,
    uncovered: 0,
    by: {},
  }
  readonly #remainder: ImportReportRemainder[] = []
  readonly #unread = new Map<string, number>()
  /** By field and rule; the mapping bounds how many there are. */
  readonly #derived = new Map<string, number>()
  readonly #counts = { files: 0, skipped: 0, lost: 0, unnamed: 0, warnings: 0, contradictions: 0 }

  constructor(mapping: LossRules) {
    this.#mapping = mapping
    this.#accepted = new Set(mapping.accepted_losses)
  }

  add(finding: Finding): void {
    switch (finding.kind) {
      case 'file':
        this.#counts.files += 1
        break
      case 'skipped':
        this.#skipped(finding.skip, finding.entry)
        break
      case 'warning':
        this.#counts.warnings += 1
        if (this.#warnings.length < IMPORT_BOUNDS.reportEntriesMax) this.#warnings.push(finding.warning)
        break
      case 'end':
        if (this.#ends.length < IMPORT_BOUNDS.reportEntriesMax) this.#ends.push(finding.end)
        break
      case 'loss':
        this.#lose(finding.place, finding.reason)
        break
      case 'omission':
        this.#omit(finding.omission)
        break
      case 'coverage':
        this.#cover(finding.source, finding.coverage)
        break
      case 'derived': {
        const name = `${finding.field}: ${finding.rule}`
        this.#derived.set(name, (this.#derived.get(name) ?? 0) + 1)
        break
      }
      case 'unread':
        this.#countUnread(finding.name)
        break
      case 'contradiction':
        this.#counts.contradictions += 1
        this.#contradict(finding.group ?? finding.sentence, finding.sentence)
        this.#remedies.add(finding.remedy)
        if (finding.repeated !== undefined) this.#repeats(finding.repeated)
        break
      default:
        finding satisfies never
    }
  }

  #contradict(group: string, sentence: string): void {
    const found = this.#contradictions.get(group)
    if (found !== undefined) found.count += 1
    else if (this.#contradictions.size < IMPORT_BOUNDS.importConflictsNamedMax)
      this.#contradictions.set(group, { sentence, count: 1 })
  }

  #repeats({ label, texts }: { readonly label: string; readonly texts: number }): void {
    if (this.#repeated.size < IMPORT_BOUNDS.reportEntriesMax || this.#repeated.has(label))
      this.#repeated.set(label, Math.max(texts, this.#repeated.get(label) ?? 0))
  }

  #skipped(skip: SkipKind, entry: ImportReportEntry): void {
    this.#counts.skipped += 1
    if (skip === 'lost') {
      this.#counts.lost += 1
      this.#lose(entry, entry.reason, entry.text)
    }
    this.#reasons.set(entry.reason, (this.#reasons.get(entry.reason) ?? 0) + 1)
    if (this.#entries.length < IMPORT_BOUNDS.reportEntriesMax) this.#entries.push(entry)
  }

  #lose({ source, line, id }: RecordLocation, why: string, text?: string): void {
    const place = { source, line, ...(id === undefined ? {} : { id }) }
    const name = lossName(this.#mapping.format, place)
    // Who accepts the name of a line accepts what the whole file states.
    const isFile = id === undefined && this.#mapping.format !== 'jsonl'
    const reason = isFile ? `${why}; nothing of the file is imported` : why
    const accepted = this.#accepted.has(name)
    if (!accepted) this.#counts.unnamed += 1
    const losses = accepted ? this.#acceptedLosses : this.#losses
    if (losses.length < IMPORT_BOUNDS.reportEntriesMax)
      losses.push({ ...place, name, reason, ...(text === undefined ? {} : { text }), accepted })
  }

  /** @throws OperatorError beyond the omissions that a report lists: each is listed. */
  #omit(omission: ImportReportOmission): void {
    if (this.#omissions.length >= IMPORT_BOUNDS.reportEntriesMax)
      throw new OperatorError(
        `The sources hold more than ${IMPORT_BOUNDS.reportEntriesMax} comments and other parts that are no text: remove them.`,
      )
    this.#omissions.push(omission)
  }

  /** A file of which less than the bar is accounted for is a loss. */
  #cover(source: string, { characters, uncovered, by, remainder }: Coverage): void {
    const counts = this.#covered
    counts.characters += characters
    counts.uncovered += uncovered
    for (const [rule, count] of Object.entries(by)) counts.by[rule] = (counts.by[rule] ?? 0) + count
    for (const each of remainder)
      if (this.#remainder.length < IMPORT_BOUNDS.reportEntriesMax) this.#remainder.push({ source, ...each })
    const share = shareOf({ characters, uncovered })
    if (share >= READER_BOUNDS.coverageMin) return
    const place = { source, line: remainder[0]?.line ?? 1 }
    const shown = (share * 100).toFixed(2)
    this.#lose(place, `${shown} % of its characters lie in one passage or a named omission`, remainder[0]?.text)
  }

  #countUnread(name: string): void {
    const isNamed = this.#unread.has(name) || this.#unread.size < IMPORT_BOUNDS.unreadFieldsNamedMax
    const named = isNamed ? name : OTHER_FIELDS
    this.#unread.set(named, (this.#unread.get(named) ?? 0) + 1)
  }

  /** @throws OperatorError naming the first contradictions and what to do about them. */
  assertNoContradiction(): void {
    const { contradictions: count } = this.#counts
    if (count === 0) return
    const named = [...this.#contradictions.values()]
    const omitted = count - named.reduce((sum, each) => sum + each.count, 0)
    throw new SourcesContradict(
      [
        `Nothing is imported, because the sources contradict each other (${count}):`,
        ...named.map(
          ({ sentence, count: times }) => `  ${sentence}${times > 1 ? `, and ${times - 1} more like it` : ''}`,
        ),
        ...(omitted > 0 ? [`  … and ${omitted} more`] : []),
        `What to do: ${[...this.#remedies].join('; ')}. Then import again.`,
        ...(this.#repeated.size > 0 ? [`To confirm: "repeated_labels": ${this.#toConfirm()}`] : []),
      ].join('\n'),
      Object.fromEntries(this.#repeated),
    )
  }

  #toConfirm(): string {
    const first = [...this.#repeated].slice(0, IMPORT_BOUNDS.importConflictsNamedMax)
    const rest = this.#repeated.size - first.length
    return `${JSON.stringify(Object.fromEntries(first))}${rest > 0 ? ` and ${rest} more, which the output lists` : ''}`
  }

  report(imported: {
    readonly totals: StagedTotals
    readonly splits: readonly ImportReportSplit[]
    readonly acts: readonly ActEntry[]
    readonly facets: Facets
  }): ImportReport {
    const { records, ...totals } = imported.totals
    const { files, skipped, lost, unnamed, warnings } = this.#counts
    const reasons = [...this.#reasons].sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    return {
      files,
      records_read: records + skipped,
      ...totals,
      skipped,
      lost,
      reasons: Object.fromEntries(reasons),
      entries: this.#entries,
      entries_omitted: skipped - this.#entries.length,
      splits: imported.splits,
      losses: [...this.#losses, ...this.#acceptedLosses],
      losses_unnamed: unnamed,
      derived_ends: this.#ends,
      omissions: this.#omissions,
      coverage: { ...this.#covered, remainder: this.#remainder },
      unread_fields: Object.fromEntries(this.#unread),
      derived_values: Object.fromEntries(this.#derived),
      warnings: { count: warnings, entries: this.#warnings },
      acts: imported.acts,
      facets: imported.facets,
    }
  }
}
