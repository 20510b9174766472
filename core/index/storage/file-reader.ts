import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import { ArtifactError } from '#core/index/artifact-error.ts'

/** Fills `bytes` from an open file, starting at `position`. @throws ArtifactError if the file ends earlier. */
export function readFully(file: number, bytes: Uint8Array, position: number): void {
  readInto(file, bytes, 0, bytes.length, position)
}

/**
 * Fills the part of `bytes` that begins at `from` and is `length` long. A view of it would add a tenth to the time of a
 * small read.
 * @throws ArtifactError if the file ends earlier.
 */
export function readInto(file: number, bytes: Uint8Array, from: number, length: number, position: number): void {
  for (let done = 0; done < length;) {
    const read = readSync(file, bytes, from + done, length - done, position + done)
    if (read === 0) throw new ArtifactError('A file of the artifact is shorter than it was when it was opened.')
    done += read
  }
}

/** Opens a file for reading. @throws Error, with the file closed, unless it has exactly `bytes` bytes. */
export function openSized(path: string, bytes: number): number {
  const file = openSync(path, 'r')
  if (fstatSync(file).size === bytes) return file
  closeSync(file)
  throw new Error(`${basename(path)} is not as long as its description says`)
}
