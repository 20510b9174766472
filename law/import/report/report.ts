import type { Facets } from '#core/index/facets/layout.ts'
import type { ActEntry } from '#core/index/references/layout.ts'
import type { SourceFormat } from '#law/sources/list.ts'
import type { StagedLocation } from '../staging/staging.ts'

/** Position of a record in its source. */
export interface RecordLocation {
  readonly source: string
  /** From 1. */
  readonly line: number
  readonly id?: string
}

export interface ImportReportEntry extends RecordLocation {
  readonly reason: string
  /** The start of what is not served: headings and text, or the line where it is no record. */
  readonly text?: string
  /** The record that this one repeats, or that has precedence. */
  readonly other?: RecordLocation
}

/** A record too long for one passage. */
export interface ImportReportSplit extends RecordLocation {
  readonly parts: number
}

/** A part of a source that is no passage by a rule of its reader, with its text. */
export interface ImportReportOmission extends RecordLocation {
  readonly rule: string
  readonly text: string
}

/** Text of a file that lies in no passage and no omission, or in several. */
export interface ImportReportRemainder extends RecordLocation {
  readonly xpath: string
  readonly text: string
}

/** Law of the sources that no passage states, or no longer from a day on which the sources do not say so. */
export interface ImportReportLoss extends RecordLocation {
  /** By which an operator accepts it. */
  readonly name: string
  readonly reason: string
  /** The start of what is not served; absent for a whole file, and for a text that is served. */
  readonly text?: string
  readonly accepted: boolean
}

/** A text that ends when a later one of its document or provision takes effect. */
export interface ImportReportEnd extends RecordLocation {
  /** YYYY-MM-DD; the first day on which it is not in force. */
  readonly day: string
}

/** Something that was imported, but not exactly as the source has it. */
export interface ImportReportWarning extends RecordLocation {
  readonly message: string
  readonly other?: RecordLocation
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
  /** Records whose text ends when a later revision takes effect, not on the day that the source states. */
  readonly ends_derived: number
  /** Records cut into several passages. */
  readonly split: number
  readonly skipped: number
  /**
   * Skipped records whose text the import does not hold although nobody chose so: neither a pattern nor the precedence
   * of the mapping skips them, and they repeat no other record.
   */
  readonly lost: number
  readonly reasons: Readonly<Record<string, number>>
  /**
   * The first skipped records: files left out, then records in the order of the sources; last the records that repeat
   * one of another source or give way to one.
   */
  readonly entries: readonly ImportReportEntry[]
  readonly entries_omitted: number
  /** The first split records, in the order of the sources, with the same limit as the skipped ones. */
  readonly splits: readonly ImportReportSplit[]
  /** The first losses; those that are not accepted come first. */
  readonly losses: readonly ImportReportLoss[]
  /** Losses that nobody accepted by name: they refuse the import. */
  readonly losses_unnamed: number
  /** The first texts whose end is derived, in the order of the sources. */
  readonly derived_ends: readonly ImportReportEnd[]
  /** Every part of a text that no passage holds, in the order of the sources. */
  readonly omissions: readonly ImportReportOmission[]
  /**
   * Characters of files of law without white space, those by rule of the omission (`passages`: in passages), and the
   * first texts that are in none or several.
   */
  readonly coverage: {
    readonly characters: number
    readonly uncovered: number
    readonly by: Readonly<Record<string, number>>
    readonly remainder: readonly ImportReportRemainder[]
  }
  /** Fields of JSONL records that the mapping neither reads nor ignores, with the number of records that state them. */
  readonly unread_fields: Readonly<Record<string, number>>
  /** Records whose field is no statement of the source, by field and the rule that fills it. */
  readonly derived_values: Readonly<Record<string, number>>
  /** How many warnings there are, and the first of them, with the same limit. */
  readonly warnings: { readonly count: number; readonly entries: readonly ImportReportWarning[] }
  /** Passages whose own provision is known. */
  readonly referenced: number
  /** Acts that the corpus holds, by id, with their aliases. */
  readonly acts: readonly ActEntry[]
  readonly facets: Facets
}

/** Whether a skipped record is lost, or is left out on purpose. */
export type SkipKind = 'lost' | 'intended'

const ENTRIES_SHOWN = 20
/** Losses of one file and reason are all shown up to this number, because an operator accepts them by name. */
const ALIKE_SHOWN_MAX = 20
/** Of more losses of one file and reason, which have one cause to correct, the first are shown. */
const ALIKE_SHOWN = 3

/**
 * Renders the report for a terminal: the counts, each reason with its count, and the first warnings, split and skipped
 * records. Ends with a new line.
 */
export function renderImportReport(report: ImportReport): string {
  const rows: readonly (readonly [string, number])[] = [
    ['files', report.files],
    ['records read', report.records_read],
    ['passages', report.passages],
    ['passages whose provision is known', report.referenced],
    ['documents', report.documents],
    ['revisions', report.revisions],
    ['records that end when a later revision takes effect', report.ends_derived],
    ['records split', report.split],
    ['losses that are not accepted', report.losses_unnamed],
    ['warnings', report.warnings.count],
    ['records skipped', report.skipped],
  ]
  const lines = [
    ...rows,
    ...Object.entries(report.reasons).map(([reason, count]) => [`  ${shown(reason)}`, count] as const),
  ].map(([name, count]) => `${String(count).padStart(9)}  ${name}`)
  const splits = listed('Split:', report.splits, report.split, ({ parts }) => `${parts} passages`)
  const warnings = listed(
    'Warnings:',
    report.warnings.entries,
    report.warnings.count,
    ({ message, other }) => `${shown(message)}${shownOther(other)}`,
  )
  const ends = listed('Ends with a later text:', report.derived_ends, report.ends_derived, ({ day }) => `on ${day}`)
  const omissions = listed('Left out:', report.omissions, report.omissions.length, ({ rule, text }) =>
    shown(`${rule}: ${text}`),
  )
  const derived = Object.entries(report.derived_values).map(([name, count]) => `  ${shown(name)}: ${count} records`)
  const derivedValues = derived.length === 0 ? [] : ['', 'Derived, not stated by the source:', ...derived]
  const unread = Object.entries(report.unread_fields).map(([name, count]) => `  ${shown(name)}: ${count} records`)
  const unreadFields = unread.length === 0 ? [] : ['', 'Fields that the mapping does not read:', ...unread]
  const lost = new Set(report.losses.map(shownLocation))
  const skips = listed(
    'Skipped on purpose:',
    report.entries.filter((entry) => !lost.has(shownLocation(entry))),
    report.skipped - report.lost,
    ({ reason, text, other }) => `${shown(text === undefined ? reason : `${reason}: ${text}`)}${shownOther(other)}`,
  )
  return [
    ...lines,
    ...lossLines(report.losses),
    ...ends,
    ...derivedValues,
    ...splits,
    ...coverageLines(report),
    ...omissions,
    ...unreadFields,
    ...warnings,
    ...skips,
    '',
  ].join('\n')
}

/** Lists the losses by file and reason. */
function lossLines(losses: readonly ImportReportLoss[]): readonly string[] {
  if (losses.length === 0) return []
  const alike = Map.groupBy(losses, ({ source, reason, accepted }) => `${source}\n${reason}\n${accepted}`)
  return [
    '',
    'Losses:',
    ...[...alike.values()].flatMap((group) => {
      const first = group.length > ALIKE_SHOWN_MAX ? group.slice(0, ALIKE_SHOWN) : group
      const lines = first.map(
        (loss) =>
          `  ${shownLocation(loss)}: ${shown(loss.reason)}; ` +
          `${loss.accepted ? 'accepted' : 'not accepted'} as ${loss.name.replaceAll(/\p{Cc}/gu, ' ')}`,
      )
      const more = group.length - first.length
      return more === 0 ? lines : [...lines, `  … and ${more} more of this file for this reason; --json lists them`]
    }),
  ]
}

function coverageLines({ coverage }: ImportReport): readonly string[] {
  const { characters, uncovered, by, remainder } = coverage
  if (characters === 0) return []
  const share = ((1 - uncovered / characters) * 100).toFixed(3)
  return [
    '',
    `Characters of files of law: ${characters}, of which ${share} % lie in one passage or omission:`,
    ...Object.entries(by).map(([rule, count]) => `${String(count).padStart(9)}  ${shown(rule)}`),
    ...listed('In no passage:', remainder, remainder.length, ({ text }) => shown(text)),
  ]
}

/** Lists the first records, each with its position and what was done with it. */
function listed<T extends RecordLocation>(
  title: string,
  records: readonly T[],
  total: number,
  what: (record: T) => string,
  shownMax = ENTRIES_SHOWN,
): readonly string[] {
  if (records.length === 0) return []
  const first = records.slice(0, shownMax).map((record) => `  ${shownLocation(record)}: ${what(record)}`)
  return ['', title, ...first, ...(total > first.length ? [`  … and ${total - first.length} more`] : [])]
}

/** Returns one line for each loss of a stored report, for reviewers. */
export function lossesInWords(losses: readonly ImportReportLoss[]): readonly string[] {
  return losses.map(
    ({ name, reason, text }) => `${shown(name)} (${shown(reason)})${text === undefined ? '' : `: ${shown(text)}`}`,
  )
}

/** Returns the name by which an operator accepts the loss of a record. */
export function lossName(format: SourceFormat, { source, line, id }: RecordLocation): string {
  if (id === undefined) return `${source}:${line}`
  return format === 'jsonl' ? id : `${source}#${id}`
}

/** Returns a staged position with the name of its source. */
export function locationOf(
  snapshots: readonly { readonly sourceName: string }[],
  { source, line, id }: StagedLocation,
): RecordLocation {
  return { source: snapshots[source]?.sourceName ?? '', line, id }
}

/** Returns `file:line id` without control characters. */
export function shownLocation({ source, line, id }: RecordLocation): string {
  return `${shown(source)}:${line}${id === undefined ? '' : ` ${shown(id)}`}`
}

function shownOther(other: RecordLocation | undefined): string {
  return other === undefined ? '' : ` (${shownLocation(other)})`
}

/** Returns one line of bounded length without control characters, including terminal escapes. */
function shown(text: string): string {
  const plain = text.replaceAll(/\p{Cc}/gu, ' ')
  return plain.length > 120 ? `${plain.slice(0, 119)}…` : plain
}
