import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { createLargeMap } from '#core/index/storage/large-map.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { passageRecordSchema, type PassageRecord } from '#core/index/passages/record.ts'

/** Checks each row once: form, bounds, order, no duplicate. Messages name the passage by its id, never by its text. */
export function createRowChecks(passages: number): (record: PassageRecord, row: number) => void {
  if (!Number.isSafeInteger(passages) || passages < 1)
    throw new ArtifactError('An artifact needs at least one passage.')
  const seen = createLargeMap<true>()
  let previous: PassageRecord | undefined
  return (record, row) => {
    if (row >= passages) throw new ArtifactError(`${passages} passages were announced and more came.`)
    const parsed = passageRecordSchema.safeParse(record)
    if (!parsed.success)
      throw new ArtifactError(
        `Passage ${row} does not match the schema at ` +
          `${parsed.error.issues.map((issue) => issue.path.join('.')).join(', ')}.`,
      )
    if (longerThan(record.text, INDEX_BOUNDS.passageCharactersMax))
      throw new ArtifactError(
        `Passage ${record.chunk_id} is longer than ${INDEX_BOUNDS.passageCharactersMax} characters; split it at import.`,
      )
    if (!record.text.isWellFormed())
      throw new ArtifactError(`Passage ${record.chunk_id} holds a lone surrogate; repair its source.`)
    if (replyBytes(record) > INDEX_BOUNDS.passageJsonBytesMax)
      throw new ArtifactError(
        `Passage ${record.chunk_id} takes more than ${INDEX_BOUNDS.passageJsonBytesMax} bytes in a reply; ` +
          'shorten its citation fields.',
      )
    if (seen.get(record.chunk_id) === true) throw new ArtifactError(`Passage ${record.chunk_id} comes twice.`)
    if (previous !== undefined && rowOrder(previous, record) > 0)
      throw new ArtifactError(`Passage ${record.chunk_id} comes out of row order; sort the rows with rowOrder first.`)
    seen.set(record.chunk_id, true)
    previous = record
  }
}

/** Whether the text has more code points than the bound; counting stops there. */
function longerThan(text: string, codePointsMax: number): boolean {
  if (text.length <= codePointsMax) return false
  let count = 0
  for (const _ of text) if (++count > codePointsMax) return true
  return false
}

/** Upper bound of the bytes that the passage takes in a reply. */
function replyBytes({ chunk_id, text, document, citation, metadata }: PassageRecord): number {
  return Buffer.byteLength(
    JSON.stringify({ chunk_id, text, score: 0.123_456_789_012_345_68, document, citation, metadata }),
  )
}

/**
 * Copies a vector at unit length.
 * @throws ArtifactError unless the vector has the right length, finite values and a length above 0.
 */
export function copyUnit(vector: Float32Array | undefined, target: Float32Array, at: number, dimensions: number): void {
  let squares = 0
  for (const value of vector ?? []) squares += value * value
  if (vector?.length !== dimensions || !Number.isFinite(squares) || squares === 0)
    throw new ArtifactError(`A vector does not have ${dimensions} finite values and a length above 0.`)
  const scale = 1 / Math.sqrt(squares)
  for (let d = 0; d < dimensions; d++) target[at + d] = (vector[d] ?? 0) * scale
}

export type OrderedPassage = Pick<PassageRecord, 'metadata' | 'subjects' | 'document' | 'position'>

/**
 * Order of the rows of an artifact: language, jurisdiction, first subject, document, revision, ordinal, by code units.
 * The rows that a filter allows then form few runs, and exact scoring reads each run at once.
 */
export function rowOrder(a: OrderedPassage, b: OrderedPassage): number {
  return (
    compare(a.metadata.language, b.metadata.language) ||
    compare(a.metadata.jurisdiction, b.metadata.jurisdiction) ||
    compare(a.subjects[0] ?? '', b.subjects[0] ?? '') ||
    compare(a.document.id, b.document.id) ||
    compare(a.document.revision_id, b.document.revision_id) ||
    a.position.ordinal - b.position.ordinal
  )
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
