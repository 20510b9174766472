import { closeSync, createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import { passageRecordSchema } from './record.ts'
import type { PassageRecord } from './record.ts'
import { openPassages, verifiedPassageLines } from './verified-records.ts'

/** Streams every passage of a `passages.jsonl` in row order. */
export async function* passagesIn(path: string): AsyncGenerator<PassageRecord> {
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
  for await (const line of lines) if (line !== '') yield passageRecordSchema.parse(JSON.parse(line))
}

/**
 * Streams every passage of an artifact's `passages.jsonl` in row order, and verifies the bytes that it parsed.
 * @param expected digest that the signed manifest states.
 * @throws ArtifactError at the end, if what was read is something else.
 */
export async function* verifiedPassagesIn(path: string, expected: FileDigest): AsyncGenerator<PassageRecord> {
  const file = openPassages(path)
  try {
    for await (const { passage } of verifiedPassageLines(file, expected)) yield passage
  } finally {
    closeSync(file)
  }
}
