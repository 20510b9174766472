import { isDeepStrictEqual } from 'node:util'
import { sha256 } from '#core/platform/digest.ts'
import { inspectionOf } from '#law/readers/inspect.ts'
import type { ReadDocument } from '#law/readers/read.ts'
import { z } from 'zod'

/** What a reader made of a file, without its text. */
const summarySchema = z.strictObject({
  file: z.string(),
  /** Of its bytes. Another file of the name is not compared. */
  bytes_sha256: z.string(),
  format: z.string().nullable(),
  published_at: z.string().nullable(),
  effective_from: z.string().nullable(),
  effective_to: z.string().nullable(),
  by_kind: z.record(z.string(), z.int()),
  /** Provisions that become passages: their labels in order, and the anchors of the publisher. */
  passages: z.int(),
  first_label: z.string().nullable(),
  last_label: z.string().nullable(),
  labels_sha256: z.string(),
  anchored: z.int(),
  anchors_sha256: z.string(),
  /** Omissions by their rule. */
  omitted: z.record(z.string(), z.int()),
})
export type Summary = z.infer<typeof summarySchema>

/** @param read undefined: the file is refused. */
export function summaryOf(file: string, bytes: Uint8Array, read: ReadDocument | undefined): Summary {
  const cited = read?.provisions.filter(({ text }) => text !== undefined) ?? []
  const labels = cited.map((provision) => read?.cite(provision).label ?? '')
  const anchors = (read?.provisions ?? []).flatMap(({ anchor }) => anchor ?? [])
  const inspected = read && inspectionOf(file, read)
  return {
    file,
    bytes_sha256: shortened(sha256(bytes)),
    format: inspected?.format ?? null,
    published_at: inspected?.published_at ?? null,
    effective_from: inspected?.effective_from ?? null,
    effective_to: inspected?.effective_to ?? null,
    by_kind: inspected?.by_kind ?? {},
    passages: labels.length,
    first_label: labels[0] ?? null,
    last_label: labels.at(-1) ?? null,
    labels_sha256: digestOf(labels),
    anchored: anchors.length,
    anchors_sha256: digestOf(anchors),
    omitted: countsOf((read?.omitted ?? []).map(({ rule }) => rule)),
  }
}

const DIGEST_LETTERS = 16

function digestOf(lines: readonly string[]): string {
  return shortened(sha256(lines.join('\n')))
}

function shortened(digest: Buffer): string {
  return digest.toString('hex').slice(0, DIGEST_LETTERS)
}

function countsOf(names: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1
  return counts
}

export function parseSummaries(jsonl: string): readonly Summary[] {
  return jsonl
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => summarySchema.parse(JSON.parse(line)))
}

/** Names each file and field that differs, of the files that are the same on both sides. */
export function differences(kept: readonly Summary[], found: readonly Summary[]): readonly string[] {
  const before = new Map(kept.map((each) => [`${each.file} ${each.bytes_sha256}`, each]))
  return found.flatMap((after) => {
    const earlier = before.get(`${after.file} ${after.bytes_sha256}`)
    return summaryFields
      .filter((field) => earlier !== undefined && !isDeepStrictEqual(earlier[field], after[field]))
      .map(
        (field) =>
          `${after.file}: ${field} was ${JSON.stringify(earlier?.[field])}, is ${JSON.stringify(after[field])}`,
      )
  })
}

const summaryFields = summarySchema.keyof().options
