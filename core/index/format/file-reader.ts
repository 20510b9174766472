import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs'

/**
 * Fills `bytes` from a file of a verified artifact, from `position` on. @throws Error when the file is shorter than it
 * was when it was verified.
 */
export function readFully(file: number, bytes: Uint8Array, position: number): void {
  for (let done = 0; done < bytes.length;) {
    const read = readSync(file, bytes, done, bytes.length - done, position + done)
    if (read === 0) throw new Error('a file of the artifact is shorter than it was when it was verified')
    done += read
  }
}

/**
 * Opens a file for reading. @throws Error, and leaves nothing open, unless it has as many bytes as its description
 * says.
 */
export function openSized(path: string, bytes: number): number {
  const file = openSync(path, 'r')
  if (fstatSync(file).size === bytes) return file
  closeSync(file)
  throw new Error('a file of the artifact is not as long as its description says')
}

/**
 * A file in a buffer of its own, aligned for typed arrays. @param bytes what its description says. @throws Error unless
 * it has so many.
 */
export function ownBytes(path: string, bytes = statSync(path).size): ArrayBuffer {
  const file = openSized(path, bytes)
  try {
    const own = new Uint8Array(bytes)
    readFully(file, own, 0)
    return own.buffer
  } finally {
    closeSync(file)
  }
}
