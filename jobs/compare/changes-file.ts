import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { z } from 'zod'
import { renameDurably } from '#core/platform/durable-file.ts'
import { openHashedFile } from '#core/platform/hashed-file.ts'
import { servedFieldsSchema } from './served-fields.ts'

const documentSchema = z.strictObject({ id: z.string(), title: z.string(), canonical_url: z.string() })
const headerSchema = z.strictObject({
  title: z.string(),
  authority: z.string(),
  canonical_url: z.string(),
  published_at: z.string(),
  effective_at: z.string(),
})

const facetChange = z.strictObject({
  kind: z.literal('facet_values_removed'),
  facet: z.enum(['languages', 'jurisdictions', 'subjects', 'statuses']),
  value: z.string(),
})
const documentChange = z.strictObject({
  kind: z.enum(['documents_removed', 'documents_changed', 'documents_added']),
  document: documentSchema,
  /** Revisions of a changed document that the candidate holds otherwise, or not at all (null). */
  revisions: z
    .array(
      z.strictObject({ language: z.string(), day: z.string(), before: headerSchema, after: headerSchema.nullable() }),
    )
    .readonly()
    .optional(),
  revisions_total: z.int().optional(),
})
const provisionChange = z.strictObject({
  kind: z.enum(['provisions_removed', 'provisions_changed', 'provisions_added']),
  document: documentSchema,
  language: z.string(),
  provision: z.string(),
  label: z.string(),
})
const passageChange = z.strictObject({
  kind: z.enum(['passages_removed', 'passages_changed', 'passages_repeated', 'passages_added']),
  document: documentSchema,
  language: z.string(),
  provision: z.string(),
  /** First UTC day in force. */
  day: z.string(),
  label: z.string(),
  /** The active passage beside which a repeated passage stands. */
  repeats: z.strictObject({ provision: z.string(), day: z.string(), label: z.string() }).optional(),
  /**
   * The fields that differ; of a passage that only one version holds, the beginning of its text. Of a repeated passage,
   * the text of the active version and the added one.
   */
  before: servedFieldsSchema.optional(),
  after: servedFieldsSchema.optional(),
})

/** One line of the changes file. */
export const namedChangeSchema = z.discriminatedUnion('kind', [
  facetChange,
  documentChange,
  provisionChange,
  passageChange,
])
export type NamedChange = z.infer<typeof namedChangeSchema>
export type DocumentChange = z.infer<typeof documentChange>
export type PassageChange = z.infer<typeof passageChange>

export interface ChangesFile {
  append(change: NamedChange): Promise<void>
  /** Puts the file in its place. @returns its SHA-256 (hex). */
  finish(): Promise<string>
  /** Removes what was written; harmless after `finish`. */
  abandon(): Promise<void>
}

/** Opens a file that is named `path` once it is whole. */
export async function openChangesFile(path: string): Promise<ChangesFile> {
  await mkdir(dirname(path), { recursive: true })
  const temporary = `${path}.${randomUUID()}.tmp`
  const file = await openHashedFile(temporary)
  return {
    append: (change) => file.write(Buffer.from(`${oneLine(change)}\n`)),
    async finish() {
      const { sha256 } = await file.finish()
      await renameDurably(temporary, path)
      return sha256
    },
    async abandon() {
      await file.abandon()
      await rm(temporary, { force: true })
    },
  }
}

/** Readers of lines also end one at the separators of Unicode, which JSON does not escape. */
function oneLine(change: NamedChange): string {
  return JSON.stringify(change)
    .replaceAll('\u2028', String.raw`\u2028`)
    .replaceAll('\u2029', String.raw`\u2029`)
}
