import { createHash } from 'node:crypto'
import { createReadStream, openSync } from 'node:fs'
import { z } from 'zod'
import { ArtifactError } from '#core/index/artifact-error.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'

export interface VerifiedLine {
  /** Without its end; valid until the next one. */
  readonly line: Buffer
  /** Byte offset. */
  readonly from: number
}

const NEWLINE = 0x0a
const BLOCK_BYTES = 1024 * 1024

/** Opens a file of lines of an artifact. @throws ArtifactError if the file cannot be read. */
export function openLines(path: string, name: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    throw new ArtifactError(`The artifact has no readable ${name}.`, { cause })
  }
}

/**
 * Streams every line of an open file, and hashes the bytes. What was read is verified only once the stream has ended.
 * @param expected digest that the signed manifest states. @param name of the file.
 * @throws ArtifactError if what was read is something else.
 */
export async function* verifiedLines(file: number, expected: FileDigest, name: string): AsyncGenerator<VerifiedLine> {
  const altered = (): ArtifactError => new ArtifactError(`${name} does not have the SHA-256 that the manifest states.`)
  const hash = createHash('sha256')
  let rest: Buffer = Buffer.alloc(0)
  let restFrom = 0
  for await (const read of createReadStream('', { fd: file, autoClose: false, start: 0, highWaterMark: BLOCK_BYTES })) {
    const block = z.instanceof(Buffer).parse(read)
    hash.update(block)
    const held = rest.length === 0 ? block : Buffer.concat([rest, block])
    if (restFrom + held.length > expected.bytes) throw altered()
    let begin = 0
    for (let end = held.indexOf(NEWLINE); end !== -1; end = held.indexOf(NEWLINE, begin)) {
      yield { line: held.subarray(begin, end), from: restFrom + begin }
      begin = end + 1
    }
    rest = held.subarray(begin)
    restFrom += begin
  }
  if (rest.length > 0 || restFrom !== expected.bytes || hash.digest('hex') !== expected.sha256) throw altered()
}
