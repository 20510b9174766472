import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { openSized, readFully } from '#core/index/storage/file-reader.ts'
import { wholeFile } from '#core/index/storage/resident-parts.ts'
import type { ResidentParts } from '#core/index/storage/resident-parts.ts'
import { passageOffsetsBytes } from './layout.ts'
import type { PassageRecord } from './record.ts'

export interface PassagesReader {
  /** Reads one passage from the page cache, which all threads share. */
  passage(row: number): PassageRecord
  close(): void
}

/**
 * @param folder of a verified artifact.
 * @throws Error if a file does not have the expected size.
 */
export function openPassagesReader(folder: string, rows: number, parts: ResidentParts): PassagesReader {
  const offsets = new Float64Array(parts.read(wholeFile(join(folder, 'passages.offsets'), passageOffsetsBytes(rows))))
  const file = openSized(join(folder, 'passages.jsonl'), offsets[rows] ?? 0)
  return {
    passage(row) {
      const from = offsets[row] ?? 0
      const line = Buffer.allocUnsafe((offsets[row + 1] ?? 0) - from)
      readFully(file, line, from)
      // The build parsed, hashed and signed every record, so it is not validated again.
      return JSON.parse(line.toString('utf8')) as PassageRecord
    },
    close: () => closeSync(file),
  }
}
