import { closeSync } from 'node:fs'
import { openSized, readFully } from './file-reader.ts'
import { wholeFile, type ResidentParts } from './resident-parts.ts'

/** The bytes of an immutable file, of which a search reads short pieces. Nobody may change them. */
export interface FileBytes {
  /** The whole file if it is kept in memory. */
  readonly memory: SharedArrayBuffer | undefined
  /** @returns bytes that stay valid until the file is closed. */
  piece(position: number, bytes: number): Buffer
  /** @returns bytes that stay valid until the next call. */
  passing(position: number, bytes: number): Buffer
  copyTo(target: Uint8Array, position: number): void
  close(): void
}

/**
 * Opens a file. A small one is kept in memory that threads share, because a system call takes longer than what a search
 * does with the few bytes that it returns. A large one is read from the page cache.
 * @throws Error unless it has exactly `size` bytes.
 */
export function openFileBytes(path: string, size: number, parts: ResidentParts): FileBytes {
  return size <= parts.fileBytesMax ? inMemory(parts.read(wholeFile(path, size))) : inPageCache(openSized(path, size))
}

function inMemory(memory: SharedArrayBuffer): FileBytes {
  const piece = (position: number, bytes: number): Buffer => Buffer.from(memory, position, bytes)
  return {
    memory,
    piece,
    passing: piece,
    copyTo: (target, position) => target.set(new Uint8Array(memory, position, target.length)),
    close: () => undefined,
  }
}

function inPageCache(file: number): FileBytes {
  let buffer = Buffer.alloc(PASSING_BYTES)
  return {
    memory: undefined,
    piece(position, bytes) {
      const read = Buffer.allocUnsafe(bytes)
      readFully(file, read, position)
      return read
    },
    passing(position, bytes) {
      if (buffer.length < bytes) buffer = Buffer.alloc(bytes * 2)
      const read = buffer.subarray(0, bytes)
      readFully(file, read, position)
      return read
    },
    copyTo: (target, position) => readFully(file, target, position),
    close: () => closeSync(file),
  }
}

const PASSING_BYTES = 16_384
