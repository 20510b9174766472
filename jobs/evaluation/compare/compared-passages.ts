import { closeSync } from 'node:fs'
import { join } from 'node:path'
import type { PassageEntry, Side } from '#core/db/version-differences.ts'
import { ArtifactError } from '#core/index/artifact-error.ts'
import type { Facets } from '#core/index/facets/layout.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { openPassages, parsePassageLine, verifiedPassageLines } from '#core/index/passages/records.ts'
import { readFully } from '#core/index/storage/file-reader.ts'
import { damagedArtifact } from '#jobs/evaluation/altered-candidate.ts'
import { servedDigest } from './served-fields.ts'

/** An artifact, as its signed manifest describes it, and the facets of its version. */
export interface ComparedContents {
  readonly versionId: string
  readonly folder: string
  readonly manifest: Pick<
    Manifest,
    'passages' | 'embedding' | 'files' | 'clusters' | 'cosines' | 'search_questions' | 'engine'
  >
  readonly facets: Facets
}

export type ComparedPassages = ReturnType<typeof openComparedPassages>

/**
 * Opens the passages of one side. The file is opened once, so another file under its name is not read. A file that is
 * altered in place has another digest.
 */
export function openComparedPassages(side: Side, contents: ComparedContents) {
  const refuse = (error: unknown): unknown => damagedArtifact(side, contents.versionId, error)
  const file = refusing(refuse, () => openPassages(join(contents.folder, 'passages.jsonl')))
  return {
    /**
     * Every passage in row order.
     * @throws OperatorError at the end if the bytes that were read are not those of the manifest.
     */
    async *all() {
      try {
        yield* verifiedPassageLines(file, contents.manifest.files['passages.jsonl'])
      } catch (error) {
        throw refuse(error)
      }
    },
    /** Reads a passage once more. @throws OperatorError unless it is what the first reading found. */
    again: (entry: PassageEntry) => refusing(refuse, () => readAgain(file, entry)),
    close: () => closeSync(file),
  }
}

function refusing<T>(refuse: (error: unknown) => unknown, task: () => T): T {
  try {
    return task()
  } catch (error) {
    throw refuse(error)
  }
}

function readAgain(file: number, entry: PassageEntry): PassageRecord {
  const passage = parsePassageLine(bytesOf(file, entry))
  const same =
    servedDigest(passage).equals(entry.content) &&
    passage.document.id === entry.document &&
    passage.metadata.language === entry.language &&
    passage.provision === entry.provision &&
    passage.in_force_from === entry.day
  if (!same) throw altered()
  return passage
}

function bytesOf(file: number, { from, bytes }: PassageEntry): Buffer {
  const line = Buffer.allocUnsafe(bytes)
  try {
    readFully(file, line, from)
  } catch (cause) {
    throw altered(cause)
  }
  return line
}

function altered(cause?: unknown): ArtifactError {
  return new ArtifactError('passages.jsonl was altered while it was compared.', { cause })
}
