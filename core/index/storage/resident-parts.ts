import { closeSync } from 'node:fs'
import { basename } from 'node:path'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { openSized, readFully } from './file-reader.ts'

/** Parts by file name, position and length. Threads of a process pass them on without a copy. */
export type SharedParts = ReadonlyMap<string, SharedArrayBuffer | SharedMemory>

export interface FilePart {
  readonly path: string
  /** Size of the whole file. */
  readonly size: number
  readonly position: number
  readonly bytes: number
}

/** Parts of immutable files that stay in memory while the files are in use. */
export type ResidentParts = ReturnType<typeof createResidentParts>

/** @param known parts that another thread read from the same files. */
export function createResidentParts(
  known: SharedParts = new Map(),
  fileBytesMax: number = INDEX_BOUNDS.residentFileBytesMax,
) {
  const shared = new Map(known)
  return {
    /** @returns the bytes, which nobody may change. @throws Error unless the file has the stated size. */
    read(part: FilePart): SharedArrayBuffer {
      const found = shared.get(nameOf(part))
      if (found instanceof SharedArrayBuffer) return found
      const bytes = new SharedArrayBuffer(part.bytes)
      readPart(part, bytes)
      shared.set(nameOf(part), bytes)
      return bytes
    },
    /** Reads a part into memory of WebAssembly, which may be longer than the part. */
    memory(part: FilePart): SharedMemory {
      const found = shared.get(nameOf(part))
      if (isSharedMemory(found)) return found
      const memory = createSharedMemory(part.bytes)
      readPart(part, memory.buffer)
      shared.set(nameOf(part), memory)
      return memory
    },
    /** All parts that were read, for another thread. */
    get shared(): SharedParts {
      return shared
    },
    /** Files of at most this size are kept in memory as a whole where searches read short pieces of them. */
    fileBytesMax,
    /** Float32 vectors of at most this size are kept in memory. */
    vectorBytesMax: INDEX_BOUNDS.residentVectorBytesMax,
  }
}

function nameOf({ path, position, bytes }: FilePart): string {
  return `${basename(path)} ${position} ${bytes}`
}

function readPart({ path, size, position, bytes }: FilePart, into: SharedArrayBuffer): void {
  using opened = new DisposableStack()
  const file = opened.adopt(openSized(path, size), closeSync)
  readFully(file, new Uint8Array(into, 0, bytes), position)
}

/** A whole file as a part. */
export function wholeFile(path: string, size: number): FilePart {
  return { path, size, position: 0, bytes: size }
}

/** Memory that all threads share and WebAssembly addresses. It is freed when its last handle is collected. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer
}

/** The part of the JavaScript API that is used; its types come with those of browsers only. */
declare const WebAssembly: {
  readonly Memory: new (limits: {
    readonly initial: number
    readonly maximum: number
    readonly shared: true
  }) => SharedMemory
}

/** Page size of WebAssembly. */
export const PAGE_BYTES = 65_536

/** @returns memory of at least this many bytes, all of them zero. @throws RangeError past 4 GiB. */
export function createSharedMemory(bytes: number): SharedMemory {
  const pages = Math.max(1, Math.ceil(bytes / PAGE_BYTES))
  return new WebAssembly.Memory({ initial: pages, maximum: pages, shared: true })
}

function isSharedMemory(value: unknown): value is SharedMemory {
  return value instanceof WebAssembly.Memory
}
