import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import { foldKey } from '#core/identity/fold.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { NumberedRecord } from '#law/import/staging/kept-records.ts'
import type { RecordFields } from './fields.ts'
import type { Mapping } from '../mapping/mapping.ts'
import { isLongerThan } from '#law/readers/text.ts'

type Format = Mapping['format']

/** Fields that, together with its id, identify a record of other formats than JSONL. */
type IdScope = Pick<RecordFields, 'documentKey' | 'effectiveAt'> & { readonly written: string }

/**
 * Ids are unique within a JSONL corpus; anchors of other formats are unique within one revision of a document in one
 * language.
 */
export function identityOf(format: Format, id: string, { documentKey, effectiveAt, written }: IdScope): Buffer {
  return hashOf(format === 'jsonl' ? [id] : [documentKey, effectiveAt, written, id])
}

/**
 * Returns the language and script in which a text is written: `en`, `en-GB` and `en-Latn` are one, `zh-Hans` and
 * `zh-Hant` are two.
 */
export function writtenIn(language: string): string {
  const { language: base, script } = new Intl.Locale(language).maximize()
  return script === undefined ? base : `${base}-${script}`
}

/** Returns within what one key has one text on a day. What is not served is compared with its own kind alone. */
export function lawOf(
  { jurisdiction, status }: Pick<RecordFields, 'jurisdiction' | 'status'>,
  written: string,
): string {
  return `${jurisdiction} ${written} ${status}`
}

/** Returns the first 128 bits of the SHA-256 of texts. */
export function hashOf(texts: readonly (string | null)[]): Buffer {
  return sha256(JSON.stringify(texts)).subarray(0, 16)
}

/** Returns the id of a record's passages: an anchor stands behind the key of its document. */
export function sourceIdOf(format: Format, id: string, { documentKey }: Pick<RecordFields, 'documentKey'>): string {
  return format === 'jsonl' ? id : `${documentKey}#${id}`
}

/** Returns the id that a record gets where an earlier one has its id and differs: `s478.25~2`. */
export function numberedId(id: string, number: number): string {
  return `${id}~${number}`
}

/**
 * Returns the identity of a record under a number.
 * @throws OperatorError for an id that is too long with its number.
 */
export function numberedIdentity(format: Format, record: NumberedRecord, number: number): Buffer {
  const id = numberedId(record.id, number)
  const version = {
    documentKey: foldKey(record.document_key),
    effectiveAt: new Date(record.effective_at).toISOString(),
    written: record.written,
  }
  if (isLongerThan(sourceIdOf(format, id, version), IMPORT_BOUNDS.sourceIdCharactersMax))
    throw new OperatorError('An id that is used again is too long for a number: shorten it, or map it to another one.')
  return identityOf(format, id, version)
}
