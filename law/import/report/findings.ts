import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { READER_BOUNDS } from '#law/readers/bounds.ts'
import { shareOf, type Coverage } from '#law/readers/coverage.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { StagedTotals } from '#law/import/staging/kept-records.ts'
import type { Mapping } from '../mapping/mapping.ts'
import { lossName, type ImportReport, type RecordLocation, type SkipKind } from './report.ts'
import REMEDIES from './remedies.json' with { type: 'json' }

type Entry = ImportReport['entries'][number]
type Omission = ImportReport['omissions'][number]

/** What a stage of the import found. A staged record is no finding. */
export type Finding =
  /** A file is read. */
  | { readonly kind: 'file' }
  | { readonly kind: 'skipped'; readonly skip: SkipKind; readonly entry: Entry }
  | ({ readonly kind: 'warning' } & ImportReport['warnings']['entries'][number])
  | ({ readonly kind: 'omission' } & Omission)
  | { readonly kind: 'coverage'; readonly source: string; readonly coverage: Coverage }
  | { readonly kind: 'end'; readonly end: ImportReport['derived_ends'][number] }
  /** A loss that is no skipped record. */
  | { readonly kind: 'loss'; readonly place: RecordLocation; readonly reason: string }
  /** It is a loss by its name, once for all files. */
  | ({ readonly kind: 'not understood'; readonly name: string; readonly count: number } & RecordLocation)
  /** A field of a staged record that a rule of the mapping fills. */
  | { readonly kind: 'derived'; readonly field: string; readonly rule: string }
  /** A record states a field that the mapping neither reads nor ignores. */
  | { readonly kind: 'unread'; readonly name: string }
  /** It refuses the import once all records are read. */
  | {
      readonly kind: 'contradiction'
      readonly of: keyof typeof REMEDIES
      readonly sentence: string
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

/** What the staging file says of the records that are kept. */
type Staged = Pick<ImportReport, 'splits' | 'acts' | 'facets'> & { readonly totals: StagedTotals }

type Found = Pick<
  ImportReport,
  | ('files' | 'skipped' | 'lost' | 'losses_unnamed')
  | ('entries' | 'warnings' | 'derived_ends' | 'omissions' | 'coverage')
>

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function keep<T>(first: T[], item: T): void {
  if (first.length < IMPORT_BOUNDS.reportEntriesMax) first.push(item)
}

/** Collects the findings of an import while it runs; its memory is bounded for every corpus. */
export class Findings {
  readonly #mapping: LossRules
  readonly #accepted: ReadonlySet<string>
  readonly #found: Found = {
    files: 0,
    skipped: 0,
    lost: 0,
    losses_unnamed: 0,
    entries: [],
    warnings: { count: 0, entries: [] },
    derived_ends: [],
    omissions: [],
    coverage: { characters: 0, uncovered: 0, by: {}, remainder: [] },
  }
  readonly #losses: ImportReport['losses'] = []
  readonly #acceptedLosses: ImportReport['losses'] = []
  readonly #reasons = new Map<string, number>()
  /** What readers do not understand, by name. */
  readonly #unknown = new Map<string, { readonly place: RecordLocation; count: number }>()
  readonly #unread = new Map<string, number>()
  /** By field and rule; the mapping bounds how many there are. */
  readonly #derived = new Map<string, number>()
  #contradictions = 0
  /** The first sentence of each group, and how many there are. */
  readonly #sentences = new Map<string, { readonly sentence: string; count: number }>()
  readonly #remedies = new Set<string>()
  readonly #repeated = new Map<string, number>()

  constructor(mapping: LossRules) {
    this.#mapping = mapping
    this.#accepted = new Set(mapping.accepted_losses)
  }

  add(finding: Finding): void {
    switch (finding.kind) {
      case 'file':
        this.#found.files += 1
        return
      case 'skipped':
        return this.#skip(finding.skip, finding.entry)
      case 'warning': {
        const { kind: _, ...warning } = finding
        this.#found.warnings.count += 1
        return keep(this.#found.warnings.entries, warning)
      }
      case 'end':
        return keep(this.#found.derived_ends, finding.end)
      case 'loss':
        return this.#lose(finding.place, finding.reason)
      case 'not understood': {
        const { name, source, line } = finding
        const found = this.#unknown.get(name) ?? { place: { source, line }, count: 0 }
        found.count += finding.count
        this.#unknown.set(name, found)
        return
      }
      case 'omission': {
        const { kind: _, ...omission } = finding
        return this.#omit(omission)
      }
      case 'coverage':
        return this.#cover(finding.source, finding.coverage)
      case 'derived':
        return count(this.#derived, `${finding.field}: ${finding.rule}`)
      case 'unread': {
        const isNamed = this.#unread.has(finding.name) || this.#unread.size < IMPORT_BOUNDS.unreadFieldsNamedMax
        return count(this.#unread, isNamed ? finding.name : OTHER_FIELDS)
      }
      case 'contradiction':
        return this.#contradict(finding)
      default:
        finding satisfies never
    }
  }

  #contradict({ of, sentence, group = sentence, repeated }: Finding & { readonly kind: 'contradiction' }): void {
    this.#contradictions += 1
    this.#remedies.add(REMEDIES[of])
    const found = this.#sentences.get(group)
    if (found !== undefined) found.count += 1
    else if (this.#sentences.size < IMPORT_BOUNDS.importConflictsNamedMax)
      this.#sentences.set(group, { sentence, count: 1 })
    if (repeated === undefined) return
    const { label, texts } = repeated
    if (this.#repeated.size < IMPORT_BOUNDS.reportEntriesMax || this.#repeated.has(label))
      this.#repeated.set(label, Math.max(texts, this.#repeated.get(label) ?? 0))
  }

  #skip(skip: SkipKind, entry: Entry): void {
    this.#found.skipped += 1
    if (skip === 'lost') {
      this.#found.lost += 1
      this.#lose(entry, entry.reason, entry.text)
    }
    count(this.#reasons, entry.reason)
    keep(this.#found.entries, entry)
  }

  #lose({ source, line, id }: RecordLocation, why: string, text?: string): void {
    const name = lossName(this.#mapping.format, { source, line, id })
    // Who accepts the name of a line accepts what the whole file states.
    const isFile = id === undefined && this.#mapping.format !== 'jsonl'
    this.#loseNamed(name, { source, line, id }, isFile ? `${why}; nothing of the file is imported` : why, text)
  }

  #loseNamed(name: string, { source, line, id }: RecordLocation, reason: string, text?: string): void {
    const accepted = this.#accepted.has(name)
    if (!accepted) this.#found.losses_unnamed += 1
    keep(accepted ? this.#acceptedLosses : this.#losses, { source, line, id, name, reason, text, accepted })
  }

  /** @throws OperatorError beyond the omissions that a report lists: each is listed. */
  #omit(omission: Omission): void {
    if (this.#found.omissions.length >= IMPORT_BOUNDS.reportEntriesMax)
      throw new OperatorError(
        `The sources hold more than ${IMPORT_BOUNDS.reportEntriesMax} comments and other parts that are no text: remove them.`,
      )
    this.#found.omissions.push(omission)
  }

  /** A file of which less than the bar is accounted for is a loss. */
  #cover(source: string, { characters, uncovered, by, remainder }: Coverage): void {
    const covered = this.#found.coverage
    covered.characters += characters
    covered.uncovered += uncovered
    for (const [rule, counted] of Object.entries(by)) covered.by[rule] = (covered.by[rule] ?? 0) + counted
    for (const each of remainder) keep(covered.remainder, { source, ...each })
    const share = shareOf({ characters, uncovered })
    if (share >= READER_BOUNDS.coverageMin) return
    const shown = (share * 100).toFixed(2)
    const reason = `${shown} % of its characters lie in one passage or a named omission`
    this.#lose({ source, line: remainder[0]?.line ?? 1 }, reason, remainder[0]?.text)
  }

  /** @throws OperatorError naming the first contradictions and what to do about them. */
  assertNoContradiction(): void {
    if (this.#contradictions === 0) return
    const named = [...this.#sentences.values()]
    const omitted = this.#contradictions - named.reduce((sum, each) => sum + each.count, 0)
    throw new SourcesContradict(
      [
        `Nothing is imported, because the sources contradict each other (${this.#contradictions}):`,
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

  /** One loss for each name: who accepts it accepts how often it is there. */
  #loseUnknown(): void {
    for (const [name, { place, count: times }] of this.#unknown)
      this.#loseNamed(
        `${name} (${times})`,
        place,
        `the reader does not understand it; first in this file, in all ${times}`,
      )
    this.#unknown.clear()
  }

  report({ totals: { records, ...totals }, ...staged }: Staged): ImportReport {
    this.#loseUnknown()
    const reasons = [...this.#reasons].sort(([a, countA], [b, countB]) => countB - countA || (a < b ? -1 : 1))
    return {
      ...this.#found,
      ...totals,
      ...staged,
      records_read: records + this.#found.skipped,
      reasons: Object.fromEntries(reasons),
      entries_omitted: this.#found.skipped - this.#found.entries.length,
      losses: [...this.#losses, ...this.#acceptedLosses],
      unread_fields: Object.fromEntries(this.#unread),
      derived_values: Object.fromEntries(this.#derived),
    }
  }
}
