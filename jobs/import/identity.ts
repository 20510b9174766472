import type { EarlierRecord, Staging } from '#core/db/staging/staging.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { sha256 } from '#core/platform/digest.ts'
import type { Mapping } from './mapping.ts'
import type { Placed } from './place.ts'
import type { SourceRecord } from './record.ts'

/** A record as far as its identity depends on it. */
export interface IdentifiedRecord {
  readonly record: SourceRecord
  readonly placed: Placed
  /** Index of its source in the import. */
  readonly source: number
  readonly documentId: string
  readonly day: number
  readonly digest: Buffer
}

/** What earlier records with the same id make of a record. */
export type Identity =
  | { readonly kind: 'unique'; readonly id: string }
  /** Another record has the id; `id` is the one that this record gets. */
  | { readonly kind: 'distinct'; readonly id: string; readonly first: EarlierRecord }
  /** Another record has the id and everything that is served. */
  | { readonly kind: 'duplicate'; readonly id: string; readonly first: EarlierRecord }
  /** A record of another source has the id, document, language and day, but another text. */
  | { readonly kind: 'conflict'; readonly id: string; readonly first: EarlierRecord }

/** Ids are unique within a JSONL corpus; Markdown anchors are unique within one revision of a document. */
export function identityOf(format: Mapping['format'], id: string, placed: Placed): Buffer {
  return hashOf(format === 'jsonl' ? [id] : [placed.documentKey, placed.effectiveAt, id])
}

/** Returns the first 128 bits of the SHA-256 of texts. */
export function hashOf(texts: readonly (string | null)[]): Buffer {
  return sha256(JSON.stringify(texts)).subarray(0, 16)
}

/**
 * Compares a record with the earlier ones of its id. The first record keeps the id. A later one that differs gets the
 * id with the first free number from 2 (`s478.25~2`), so the ids of unchanged sources are the same in every import.
 * @throws OperatorError for an id that too many records have.
 */
export function identify(staging: Staging, format: Mapping['format'], each: IdentifiedRecord): Identity {
  const { id } = each.record
  const earlier = staging.earlier(identityOf(format, id, each.placed))
  const [first] = earlier
  if (first === undefined) return { kind: 'unique', id }
  if (earlier.length === BOUNDS.recordsPerIdMax)
    throw new OperatorError(
      `The source has more than ${BOUNDS.recordsPerIdMax} records of one id: map the id to what is unique.`,
    )
  const same = earlier.find((other) => !other.given && each.digest.equals(other.digest))
  if (same !== undefined) return { kind: 'duplicate', id, first: same }
  const contrary = earlier.find(
    (other) =>
      !other.given &&
      other.source !== each.source &&
      other.document === each.documentId &&
      other.language === each.placed.language &&
      other.day === each.day,
  )
  if (contrary !== undefined) return { kind: 'conflict', id, first: contrary }
  for (let number = earlier.length + 1; ; number += 1) {
    const given = `${id}~${number}`
    if (staging.earlier(identityOf(format, given, each.placed)).length === 0)
      return { kind: 'distinct', id: given, first }
  }
}
