import { closeSync, createReadStream } from 'node:fs'
import { join } from 'node:path'
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
 * Streams every passage of an artifact in row order, and verifies the bytes that it parsed.
 * @param expected digest of `passages.jsonl` that the signed manifest states.
 * @throws ArtifactError at the end, if what was read is something else.
 */
export async function* verifiedPassagesIn(artifactFolder: string, expected: FileDigest): AsyncGenerator<PassageRecord> {
  const file = openPassages(join(artifactFolder, 'passages.jsonl'))
  try {
    for await (const { passage } of verifiedPassageLines(file, expected)) yield passage
  } finally {
    closeSync(file)
  }
}
