import { closeSync } from 'node:fs'
import { basename } from 'node:path'
import { BOUNDS } from './bounds.ts'
import { openSized, readFully } from './file-reader.ts'

/** Parts by file name, position and length. Threads of a process pass them on without a copy. */
export type SharedParts = ReadonlyMap<string, SharedArrayBuffer>

export interface FilePart {
  readonly path: string
  /** Size of the whole file. */
  readonly size: number
  readonly position: number
  readonly bytes: number
}

/** Parts of immutable files that stay in memory while the files are in use. */
export interface ResidentParts {
  /** @returns the bytes, which nobody may change. @throws Error unless the file has the stated size. */
  read(part: FilePart): SharedArrayBuffer
  /** All parts that were read, for another thread. */
  readonly shared: SharedParts
  /** Files of at most this size are kept in memory as a whole where searches read short pieces of them. */
  readonly fileBytesMax: number
}

/** @param known parts that another thread read from the same files. */
export function createResidentParts(
  known: SharedParts = new Map(),
  fileBytesMax: number = BOUNDS.residentFileBytesMax,
): ResidentParts {
  const shared = new Map(known)
  return {
    read(part) {
      const key = `${basename(part.path)} ${part.position} ${part.bytes}`
      const bytes = shared.get(key) ?? readPart(part)
      shared.set(key, bytes)
      return bytes
    },
    shared,
    fileBytesMax,
  }
}

function readPart({ path, size, position, bytes }: FilePart): SharedArrayBuffer {
  const file = openSized(path, size)
  try {
    const part = new SharedArrayBuffer(bytes)
    readFully(file, new Uint8Array(part), position)
    return part
  } finally {
    closeSync(file)
  }
}

/** A whole file as a part. */
export function wholeFile(path: string, size: number): FilePart {
  return { path, size, position: 0, bytes: size }
}
