import { z } from 'zod'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { sha256 } from '#core/platform/digest.ts'

/**
 * The fields of a passage that a reply shows or that decide whether it is served. The heading decides how it is found:
 * it is embedded and indexed with the text. Derived ids, the snapshot and the place within the document are left out:
 * they change with every import. Language and first day in force are part of the key by which passages are compared.
 */
const SERVED = {
  text: ({ text }: PassageRecord) => text,
  heading: ({ heading }: PassageRecord) => heading,
  title: ({ document }: PassageRecord) => document.title,
  authority: ({ document }: PassageRecord) => document.authority,
  canonical_url: ({ document }: PassageRecord) => document.canonical_url,
  published_at: ({ document }: PassageRecord) => document.published_at,
  effective_at: ({ document }: PassageRecord) => document.effective_at,
  in_force_to: ({ in_force_to }: PassageRecord) => in_force_to,
  label: ({ citation }: PassageRecord) => citation.label,
  source_anchor: ({ citation }: PassageRecord) => citation.source_anchor,
  jurisdiction: ({ metadata }: PassageRecord) => metadata.jurisdiction,
  verification_status: ({ metadata }: PassageRecord) => metadata.verification_status,
  subjects: ({ subjects }: PassageRecord) => subjects,
  references: ({ references }: PassageRecord) => references,
} satisfies Readonly<Record<string, (passage: PassageRecord) => ServedValue>>
export type ServedField = keyof typeof SERVED
const SERVED_FIELDS = keysOf(SERVED)

const valueSchema = z.union([z.string(), z.null(), z.array(z.string()).readonly()])
export type ServedValue = z.infer<typeof valueSchema>
export const servedFieldsSchema = z.partialRecord(z.enum(SERVED_FIELDS), valueSchema)

/** Returns the keys of a table that has no others, in its order. */
export function keysOf<Key extends string>(of: Readonly<Record<Key, unknown>>): readonly Key[] {
  return Object.keys(of).filter((key): key is Key => key in of)
}

/** Returns the SHA-256 of what is served; equal digests are no change. */
export function servedDigest(passage: PassageRecord): Buffer {
  return sha256(JSON.stringify(SERVED_FIELDS.map((name) => SERVED[name](passage))))
}

/** Returns the names of the fields that differ, in the order of `SERVED`. */
export function differingFields(before: PassageRecord, after: PassageRecord): readonly ServedField[] {
  return SERVED_FIELDS.filter((name) => JSON.stringify(SERVED[name](before)) !== JSON.stringify(SERVED[name](after)))
}

export function fieldsNamed(passage: PassageRecord, names: readonly ServedField[]) {
  return Object.fromEntries(names.map((name) => [name, SERVED[name](passage)]))
}
