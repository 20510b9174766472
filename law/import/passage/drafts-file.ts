import { closeSync, openSync, readSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { IMPORT_BOUNDS } from '../bounds.ts'
import type { RecordDrafts } from './draft.ts'

/** Position of one record's drafts in the file. */
export interface DraftsPosition {
  readonly offset: number
  readonly bytes: number
}

/** A file of drafts, one record a line, written in blocks of `spillBufferBytes`. */
export interface DraftsFile {
  /** Returns the position; the drafts are in the file only after `flush`. */
  append(record: RecordDrafts): Promise<DraftsPosition>
  flush(): Promise<void>
  close(): Promise<void>
}

/** Passes a new file of drafts to `use`, and closes it afterwards. */
export async function withDraftsFile<T>(path: string, use: (file: DraftsFile) => Promise<T>): Promise<T> {
  const file = await openDraftsFile(path)
  try {
    return await use(file)
  } finally {
    await file.close()
  }
}

async function openDraftsFile(path: string): Promise<DraftsFile> {
  const file = await open(path, 'w')
  let waiting: Buffer[] = []
  let [written, collected] = [0, 0]
  async function flush(): Promise<void> {
    await file.writeFile(Buffer.concat(waiting))
    written += collected
    ;[waiting, collected] = [[], 0]
  }
  return {
    async append(record) {
      const line = Buffer.from(`${JSON.stringify(record)}\n`)
      const position = { offset: written + collected, bytes: line.length }
      waiting.push(line)
      collected += line.length
      if (collected >= IMPORT_BOUNDS.spillBufferBytes) await flush()
      return position
    },
    flush,
    close: () => file.close(),
  }
}

export interface DraftsReader {
  read(position: DraftsPosition): RecordDrafts
  close(): void
}

export function openDraftsReader(path: string): DraftsReader {
  const file = openSync(path, 'r')
  return {
    read({ offset, bytes }) {
      const line = Buffer.allocUnsafe(bytes)
      if (readSync(file, line, 0, bytes, offset) !== bytes) throw new Error('the file of drafts ends early')
      // This run checked the drafts and wrote the line.
      return JSON.parse(line.toString('utf8')) as RecordDrafts
    },
    close: () => closeSync(file),
  }
}
