import { z } from 'zod'
import { manifestSignatureHolds } from '#core/index/format/manifest.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { parsedJson } from '#core/platform/json.ts'
import { SEARCH_BOUNDS } from './bounds.ts'
import { changesSchema } from './changes.ts'

/**
 * The history of a knowledge base as callers can check it: one entry an activation, each signed with the key of the
 * manifests and with the hash of the entry before. Both texts are canonical JSON.
 */

const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/)

export const chainEntrySchema = z.strictObject({
  format: z.literal('evidence version chain 1'),
  knowledge_base: z.strictObject({ id: z.uuid(), slug: z.string() }),
  sequence: z.int().positive(),
  kind: z.enum(['activate', 'rollback']),
  version_id: z.uuid(),
  predecessor: z.uuid().nullable(),
  manifest_sha256: sha256Hex,
  record_sha256: sha256Hex,
  /** ISO 8601 UTC. */
  activated_at: z.string(),
  /** SHA-256 of the text of the entry before; null for the first. */
  previous_sha256: sha256Hex.nullable(),
})
export type ChainEntry = z.infer<typeof chainEntrySchema>

/** What an activation rested on; its digest stands in the entry. */
export const chainRecordSchema = z.strictObject({
  version_id: z.uuid(),
  profile: z.strictObject({ id: z.uuid(), sha256: sha256Hex }),
  /** Null: nothing was active when the version was built, or the activation is a rollback. */
  changes: changesSchema.nullable(),
  /** Empty for a rollback that needs none. */
  approvals: z.array(
    z.strictObject({
      reviewer: z.strictObject({ id: z.uuid(), name: z.string() }),
      /** Base64 of Ed25519, SPKI, DER. */
      public_key: z.string(),
      /** The text that was signed. */
      statement: z.string(),
      /** Base64. */
      signature: z.string(),
    }),
  ),
})
export type ChainRecord = z.infer<typeof chainRecordSchema>

/** The newest signed entry of each version that search nodes are to hold, so that they need nobody else to load them. */
const servingListSchema = z
  .array(z.strictObject({ entry: z.string(), signature: z.base64() }))
  .max(SEARCH_BOUNDS.versionsPerNodeMax)
export type ServingList = z.infer<typeof servingListSchema>

/** The versions that a list names, without the entries whose signature does not hold. */
export function servedVersions(text: string, publicKeysDer: readonly Uint8Array[]) {
  return servingListSchema.parse(parsedJson(text)).flatMap(({ entry, signature }) => {
    const parsed = chainEntrySchema.safeParse(parsedJson(entry))
    if (!parsed.success) return []
    if (!manifestSignatureHolds(Buffer.from(entry), Buffer.from(signature, 'base64'), publicKeysDer)) return []
    return [{ versionId: parsed.data.version_id, manifestDigest: Buffer.from(parsed.data.manifest_sha256, 'hex') }]
  })
}

export function chainText(stated: ChainEntry | ChainRecord): string {
  return canonicalJson(stated)
}
