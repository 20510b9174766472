import { hash } from 'node:crypto'
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { openSized, readFully } from '#core/index/storage/file-reader.ts'
import { wholeFile, type ResidentParts } from '#core/index/storage/resident-parts.ts'
import { PASSAGE_DIGEST_BYTES, passageOffsetsBytes } from './layout.ts'
import type { PassageRecord } from './record.ts'

export type PassagesReader = ReturnType<typeof openPassagesReader>

/**
 * Offsets and digests stay in memory. The digests are checked against the manifest once they are there, so that what
 * happens to the file afterwards changes nothing.
 * @param folder of a verified artifact. @param digestsSha256 SHA-256 of `passages.sha256`, lower-case hex.
 * @throws Error if a file does not have the expected size. ArtifactError if the digests are not those that were signed.
 */
export function openPassagesReader(folder: string, rows: number, digestsSha256: string, parts: ResidentParts) {
  const offsets = new Float64Array(parts.read(wholeFile(join(folder, 'passages.offsets'), passageOffsetsBytes(rows))))
  const digests = Buffer.from(parts.read(wholeFile(join(folder, 'passages.sha256'), rows * PASSAGE_DIGEST_BYTES)))
  if (hash('sha256', digests) !== digestsSha256)
    throw new ArtifactError('passages.sha256 does not have the SHA-256 that the manifest states.')
  const file = openSized(join(folder, 'passages.jsonl'), offsets[rows] ?? 0)
  return {
    /**
     * Reads one passage from the page cache, which all threads share, and checks its bytes before they are parsed.
     * @throws ArtifactError if they are other bytes than those that were signed.
     */
    passage(row: number): PassageRecord {
      const from = offsets[row] ?? 0
      const line = Buffer.allocUnsafe((offsets[row + 1] ?? 0) - from)
      readFully(file, line, from)
      const at = row * PASSAGE_DIGEST_BYTES
      const digest = hash('sha256', line, 'buffer')
      if (digest.compare(digests, at, at + PASSAGE_DIGEST_BYTES, 0, PASSAGE_DIGEST_BYTES) !== 0)
        throw new ArtifactError('A passage of passages.jsonl was altered after the version was loaded.')
      // The build parsed and signed every record, so it is not validated again.
      return JSON.parse(line.toString('utf8')) as PassageRecord
    },
    /** The signed digest of a passage's line, `PASSAGE_DIGEST_BYTES` in hex. */
    digest: (row: number): string =>
      digests.toString('hex', row * PASSAGE_DIGEST_BYTES, (row + 1) * PASSAGE_DIGEST_BYTES),
    close: () => closeSync(file),
  }
}
