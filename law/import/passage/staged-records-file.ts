import { closeSync, openSync, readSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { IMPORT_BOUNDS } from '#law/import/bounds.ts'
import type { Mapping } from '#law/import/mapping/mapping.ts'
import type { KeptRecord } from '#law/import/staging/rows.ts'
import { passagesOf, type StagedRecord } from './passage.ts'

/** A file of staged records, one a line, written in blocks of `spillBufferBytes`. */
export interface StagedRecordsFile {
  /** Returns the position; the record is in the file only after `flush`. */
  append(record: StagedRecord): Promise<Pick<KeptRecord, 'offset' | 'bytes'>>
  flush(): Promise<void>
}

/** Passes a new file of staged records to `use`, and closes it afterwards. */
export async function withStagedRecordsFile<T>(path: string, use: (file: StagedRecordsFile) => Promise<T>): Promise<T> {
  await using file = await open(path, 'w')
  let waiting: Buffer[] = []
  let [written, collected] = [0, 0]
  async function flush(): Promise<void> {
    await file.writeFile(Buffer.concat(waiting))
    written += collected
    ;[waiting, collected] = [[], 0]
  }
  async function append(record: StagedRecord): Promise<Pick<KeptRecord, 'offset' | 'bytes'>> {
    const line = Buffer.from(`${JSON.stringify(record)}\n`)
    const position = { offset: written + collected, bytes: line.length }
    waiting.push(line)
    collected += line.length
    if (collected >= IMPORT_BOUNDS.spillBufferBytes) await flush()
    return position
  }
  return await use({ append, flush })
}

export type PassageReader = ReturnType<typeof openPassageReader>

/** Reads the passages of kept records from the file of staged records. */
export function openPassageReader(path: string, mapping: Pick<Mapping, 'revises'>) {
  const file = openSync(path, 'r')
  return {
    passagesOf(kept: KeptRecord) {
      const line = Buffer.allocUnsafe(kept.bytes)
      if (readSync(file, line, 0, kept.bytes, kept.offset) !== kept.bytes)
        throw new Error('the file of staged records ends early')
      // This run checked the record and wrote the line.
      return passagesOf(JSON.parse(line.toString('utf8')) as StagedRecord, kept, mapping)
    },
    [Symbol.dispose]: () => closeSync(file),
  }
}
