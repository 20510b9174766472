import { z } from 'zod'
import { facetsSchema } from '#core/index/facets/layout.ts'
import { referencesSchema } from '#core/index/references/layout.ts'
import type { SourceFormat } from '#law/sources/list.ts'
import type { StagedLocation } from '../staging/staging.ts'

/** Position of a record in its source; its line counts from 1. */
const locationSchema = z.object({ source: z.string(), line: z.int(), id: z.string().optional() })
export type RecordLocation = z.infer<typeof locationSchema>

/** A skipped record. `other` is the record that this one repeats, or that has precedence. */
const entrySchema = locationSchema.extend({
  reason: z.string(),
  /** The start of what is not served: headings and text, or the line where it is no record. */
  text: z.string().optional(),
  other: locationSchema.optional(),
})

/** Law of the sources that no passage states, or no longer from a day on which the sources do not say so. */
const lossSchema = locationSchema.extend({
  /** By which an operator accepts it. */
  name: z.string(),
  reason: z.string(),
  /** The start of what is not served; absent for a whole file, and for a text that is served. */
  text: z.string().optional(),
  accepted: z.boolean(),
})

const counts = z.record(z.string(), z.int())

export const importReportSchema = z.object({
  files: z.int(),
  /**
   * JSONL lines or Markdown sections: `skipped` and those that became passages. A file that is unreadable as a whole, or
   * is left out because it is not Markdown, counts as one.
   */
  records_read: z.int(),
  passages: z.int(),
  documents: z.int(),
  revisions: z.int(),
  /** Records whose text ends when a later revision takes effect, not on the day that the source states. */
  ends_derived: z.int(),
  /** Records cut into several passages. */
  split: z.int(),
  skipped: z.int(),
  /**
   * Skipped records whose text the import does not hold although nobody chose so: neither a pattern nor the precedence
   * of the mapping skips them, and they repeat no other record.
   */
  lost: z.int(),
  reasons: counts,
  /**
   * The first skipped records: files left out, then records in the order of the sources; last the records that repeat
   * one of another source or give way to one.
   */
  entries: z.array(entrySchema),
  entries_omitted: z.int(),
  /** The first split records, in the order of the sources, with the same limit as the skipped ones. */
  splits: z.array(locationSchema.extend({ parts: z.int() })),
  /** The first losses; those that are not accepted come first. */
  losses: z.array(lossSchema),
  /** Losses that nobody accepted by name: they refuse the import. */
  losses_unnamed: z.int(),
  /** The first texts that end when a later one takes effect, with the first day out of force. */
  derived_ends: z.array(locationSchema.extend({ day: z.string() })),
  /** Every part of a text that is no passage by a rule of its reader, in the order of the sources. */
  omissions: z.array(locationSchema.extend({ rule: z.string(), text: z.string() })),
  /**
   * Characters of files of law without white space, those by rule of the omission (`passages`: in passages), and the
   * first texts that are in none or several.
   */
  coverage: z.object({
    characters: z.int(),
    uncovered: z.int(),
    by: counts,
    remainder: z.array(locationSchema.extend({ xpath: z.string(), text: z.string() })),
  }),
  /** Fields of JSONL records that the mapping neither reads nor ignores, with the number of records that state them. */
  unread_fields: counts,
  /** Records whose field is no statement of the source, by field and the rule that fills it. */
  derived_values: counts,
  /** How many records were imported, but not exactly as the source has them, and the first of them. */
  warnings: z.object({
    count: z.int(),
    entries: z.array(locationSchema.extend({ message: z.string(), other: locationSchema.optional() })),
  }),
  facets: facetsSchema,
  /** Passages whose own provision is known. */
  referenced: z.int(),
  /** Acts that the corpus holds, by id, with their aliases. */
  acts: referencesSchema.shape.acts,
  /** See `GoneCommits`; absent while an import is not recorded, and in those of an earlier release. */
  gone: z.record(z.string(), z.string()).optional(),
})
/** What an import read, split and skipped, with reasons. */
export type ImportReport = z.infer<typeof importReportSchema>

/** What reviewers see of the report: what was accepted as lost, and what is derived or left out by a rule. */
export const importLossesSchema = importReportSchema
  .pick({ losses: true, derived_ends: true, derived_values: true, omissions: true })
  .partial()

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
    ...Object.entries(report.reasons).map(([reason, count]) => [`  ${shown(reason)}`, count] as const),
  ]
  const { warnings, derived_ends: ends, omissions } = report
  const lost = new Set(report.losses.map(shownLocation))
  const skipped = report.entries.filter((entry) => !lost.has(shownLocation(entry)))
  const skippedTotal = report.skipped - report.lost
  return [
    ...rows.map(([name, count]) => `${String(count).padStart(9)}  ${name}`),
    ...lossLines(report.losses),
    ...listed('Ends with a later text:', ends, report.ends_derived, ({ day }) => `on ${day}`),
    ...counted('Derived, not stated by the source:', report.derived_values),
    ...listed('Split:', report.splits, report.split, ({ parts }) => `${parts} passages`),
    ...coverageLines(report),
    ...listed('Left out:', omissions, omissions.length, ({ rule, text }) => shown(`${rule}: ${text}`)),
    ...counted('Fields that the mapping does not read:', report.unread_fields),
    ...listed(
      'Warnings:',
      warnings.entries,
      warnings.count,
      ({ message, other }) => shown(message) + shownOther(other),
    ),
    ...listed(
      'Skipped on purpose:',
      skipped,
      skippedTotal,
      ({ reason, text, other }) => shown(text === undefined ? reason : `${reason}: ${text}`) + shownOther(other),
    ),
    '',
  ].join('\n')
}

function counted(title: string, byName: Readonly<Record<string, number>>): readonly string[] {
  const lines = Object.entries(byName).map(([name, count]) => `  ${shown(name)}: ${count} records`)
  return lines.length === 0 ? [] : ['', title, ...lines]
}

/** Lists the losses by file and reason. */
function lossLines(losses: ImportReport['losses']): readonly string[] {
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
): readonly string[] {
  if (records.length === 0) return []
  const first = records.slice(0, ENTRIES_SHOWN).map((record) => `  ${shownLocation(record)}: ${what(record)}`)
  return ['', title, ...first, ...(total > first.length ? [`  … and ${total - first.length} more`] : [])]
}

/** Returns one line for each loss of a stored report, for reviewers. */
export function lossesInWords(losses: ImportReport['losses']): readonly string[] {
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
