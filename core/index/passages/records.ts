import { closeSync, createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { openLines, verifiedLines } from '#core/index/storage/verified-lines.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import { passageRecordSchema, type PassageRecord } from './record.ts'

const NAME = 'passages.jsonl'

export interface PassageLine {
  readonly passage: PassageRecord
  /** Byte offset of the line. */
  readonly from: number
  /** Length of the line, without its end. */
  readonly bytes: number
}

/** Opens the passages of an artifact. @throws ArtifactError if the file cannot be read. */
export function openPassages(path: string): number {
  return openLines(path, NAME)
}

/**
 * Streams every passage of an open `passages.jsonl` in row order, and hashes the bytes that it parses. What was read
 * is verified only once the stream has ended.
 * @param expected digest that the signed manifest states.
 * @throws ArtifactError if what was read is something else.
 */
export async function* verifiedPassageLines(file: number, expected: FileDigest): AsyncGenerator<PassageLine> {
  for await (const { line, from } of verifiedLines(file, expected, NAME))
    yield { passage: parsePassageLine(line), from, bytes: line.length }
}

/** @throws ArtifactError if the line is no passage. */
export function parsePassageLine(line: Buffer): PassageRecord {
  try {
    return passageRecordSchema.parse(JSON.parse(line.toString('utf8')))
  } catch (cause) {
    throw new ArtifactError('passages.jsonl holds a line that is no passage.', { cause })
  }
}

/** Streams every passage of a `passages.jsonl` in row order. */
export async function* passagesIn(path: string): AsyncGenerator<PassageRecord> {
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
  for await (const line of lines) if (line !== '') yield passageRecordSchema.parse(JSON.parse(line))
}

/**
 * Streams every passage of an artifact in row order, and verifies the bytes that it parsed.
 * @param expected digest of `passages.jsonl` that the signed manifest states.
 * @throws ArtifactError at the end, if what was read is something else.
 */
export async function* verifiedPassagesIn(artifactFolder: string, expected: FileDigest): AsyncGenerator<PassageRecord> {
  using opened = new DisposableStack()
  const file = opened.adopt(openPassages(join(artifactFolder, 'passages.jsonl')), closeSync)
  for await (const { passage } of verifiedPassageLines(file, expected)) yield passage
}
