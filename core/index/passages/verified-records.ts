import { createHash } from 'node:crypto'
import { createReadStream, openSync } from 'node:fs'
import { z } from 'zod'
import { ArtifactError } from '#core/index/artifact-error.ts'
import type { FileDigest } from '#core/platform/hashed-file.ts'
import { passageRecordSchema } from './record.ts'
import type { PassageRecord } from './record.ts'

export interface PassageLine {
  readonly passage: PassageRecord
  /** Byte offset of the line. */
  readonly from: number
  /** Length of the line, without its end. */
  readonly bytes: number
}

const NEWLINE = 0x0a
const BLOCK_BYTES = 1024 * 1024

/**
 * Opens the passages of an artifact.
 * @throws ArtifactError if the file cannot be read.
 */
export function openPassages(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    throw new ArtifactError('The artifact has no readable passages.jsonl.', { cause })
  }
}

/**
 * Streams every passage of an open `passages.jsonl` in row order, and hashes the bytes that it parses. What was read
 * is verified only once the stream has ended.
 * @param expected digest that the signed manifest states.
 * @throws ArtifactError if what was read is something else.
 */
export async function* verifiedPassageLines(file: number, expected: FileDigest): AsyncGenerator<PassageLine> {
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
      const passage = parsePassageLine(held.subarray(begin, end))
      yield { passage, from: restFrom + begin, bytes: end - begin }
      begin = end + 1
    }
    rest = held.subarray(begin)
    restFrom += begin
  }
  if (rest.length > 0 || restFrom !== expected.bytes || hash.digest('hex') !== expected.sha256) throw altered()
}

/** @throws ArtifactError if the line is no passage. */
export function parsePassageLine(line: Buffer): PassageRecord {
  try {
    return passageRecordSchema.parse(JSON.parse(line.toString('utf8')))
  } catch (cause) {
    throw new ArtifactError('passages.jsonl holds a line that is no passage.', { cause })
  }
}

function altered(): ArtifactError {
  return new ArtifactError('passages.jsonl does not have the SHA-256 that the manifest states.')
}
