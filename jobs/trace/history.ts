import { readChain, type ChainLink, type TracedBase } from '#core/db/version-chain.ts'
import type { Queryable } from '#core/db/pool.ts'
import { chainEntrySchema, chainRecordSchema, type ChainEntry, type ChainRecord } from '#core/domain/version-chain.ts'
import { manifestSignatureHolds } from '#core/index/format/manifest.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { parsedJson } from '#core/platform/json.ts'

/** An entry of the version chain whose signature, place and record hold. */
export interface Activation extends Pick<ChainLink, 'sequence' | 'signature'> {
  readonly entry: ChainEntry
  readonly record: ChainRecord
  /** The signed text, and the text whose digest it states. */
  readonly texts: { readonly entry: string; readonly record: string }
}

/**
 * Reads the version chain of a knowledge base, oldest entry first, and verifies it.
 * @param publicKeysDer keys that are trusted, SPKI.
 * @throws OperatorError naming the first entry that was altered.
 */
export async function readHistory(
  database: Queryable,
  { id, slug }: Pick<TracedBase, 'id' | 'slug'>,
  publicKeysDer: readonly Uint8Array[],
): Promise<readonly Activation[]> {
  const history: Activation[] = []
  for await (const { sequence, entry: text, record: recordText, signature } of readChain(database, id)) {
    const refuse = (fault: string): OperatorError =>
      new OperatorError(
        `Entry ${sequence} of the version chain of ${slug}: ${fault}. Restore the table version_chain from a backup.`,
      )
    if (!manifestSignatureHolds(Buffer.from(text), signature, publicKeysDer))
      throw refuse('its signature holds under no key of MANIFEST_PUBLIC_KEY')
    const entry = chainEntrySchema.parse(parsedJson(text))
    const before = history.at(-1)?.texts.entry
    const previous = before === undefined ? null : sha256(before).toString('hex')
    if (entry.sequence !== sequence || entry.knowledge_base.id !== id || entry.previous_sha256 !== previous)
      throw refuse('it does not follow the entry before')
    if (sha256(recordText).toString('hex') !== entry.record_sha256)
      throw refuse('its record is not the one that was signed')
    const record = chainRecordSchema.parse(parsedJson(recordText))
    history.push({ sequence, signature, entry, record, texts: { entry: text, record: recordText } })
  }
  return history
}
