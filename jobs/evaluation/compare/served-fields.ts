import { z } from 'zod'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { sha256 } from '#core/platform/digest.ts'

/**
 * The fields of a passage that a reply shows or that decide whether it is served. The heading decides how it is found:
 * it is embedded and indexed with the text. Derived ids, the snapshot and the
 * place within the document are left out: they change with every import.
 */
export const SERVED_FIELDS = [
  'text',
  'heading',
  'title',
  'authority',
  'canonical_url',
  'published_at',
  'effective_at',
  'in_force_to',
  'label',
  'source_anchor',
  'jurisdiction',
  'verification_status',
  'subjects',
  'references',
] as const
export type ServedField = (typeof SERVED_FIELDS)[number]

const valueSchema = z.union([z.string(), z.null(), z.array(z.string()).readonly()])
export type ServedValue = z.infer<typeof valueSchema>
export const servedFieldsSchema = z.partialRecord(z.enum(SERVED_FIELDS), valueSchema)

/** Language and first day in force are part of the key by which passages are compared. */
function servedFields(passage: PassageRecord): Readonly<Record<ServedField, ServedValue>> {
  const { text, heading, document, citation, metadata, subjects, references, in_force_to } = passage
  return {
    text,
    heading,
    title: document.title,
    authority: document.authority,
    canonical_url: document.canonical_url,
    published_at: document.published_at,
    effective_at: document.effective_at,
    in_force_to,
    label: citation.label,
    source_anchor: citation.source_anchor,
    jurisdiction: metadata.jurisdiction,
    verification_status: metadata.verification_status,
    subjects,
    references,
  }
}

/** Returns the SHA-256 of what is served; equal digests are no change. */
export function servedDigest(passage: PassageRecord): Buffer {
  const fields = servedFields(passage)
  return sha256(JSON.stringify(SERVED_FIELDS.map((name) => fields[name])))
}

/** Returns the names of the fields that differ, in the order of `SERVED_FIELDS`. */
export function differingFields(before: PassageRecord, after: PassageRecord): readonly ServedField[] {
  const [own, other] = [servedFields(before), servedFields(after)]
  return SERVED_FIELDS.filter((name) => JSON.stringify(own[name]) !== JSON.stringify(other[name]))
}

export function fieldsNamed(passage: PassageRecord, names: readonly ServedField[]) {
  const fields = servedFields(passage)
  return Object.fromEntries(names.map((name) => [name, fields[name]]))
}
