import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { passageRecordSchema } from './record.ts'
import type { PassageRecord } from './record.ts'

/** Streams every passage of a `passages.jsonl` in row order. */
export async function* passagesIn(path: string): AsyncGenerator<PassageRecord> {
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY })
  for await (const line of lines) if (line !== '') yield passageRecordSchema.parse(JSON.parse(line))
}
