import { ArtifactError } from '#core/index/artifact-error.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import { openPassagesReader } from '#core/index/passages/reader.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'

/** The `source_id` of the passage of a row. */
export type SourceIdOf = (row: number) => string

interface Artifact extends Pick<Manifest, 'passages' | 'files'> {
  readonly folder: string
  /** Makes the error of an artifact that was altered after it was verified. */
  readonly damaged: (error: ArtifactError) => Error
}

/** Opens the passages of a verified artifact while `use` runs. It reads each asked row once, and remembers its id. */
export async function withSourceIds<T>(
  { folder, passages, files, damaged }: Artifact,
  use: (sourceIdOf: SourceIdOf) => Promise<T>,
): Promise<T> {
  const unlessDamaged = <Value>(read: () => Value): Value => {
    try {
      return read()
    } catch (error) {
      throw error instanceof ArtifactError ? damaged(error) : error
    }
  }
  const reader = unlessDamaged(() =>
    openPassagesReader(folder, passages, files['passages.sha256'].sha256, createResidentParts()),
  )
  const known = new Map<number, string>()
  try {
    return await use((row) => {
      const id = known.get(row) ?? unlessDamaged(() => reader.passage(row).source_id)
      known.set(row, id)
      return id
    })
  } finally {
    reader.close()
  }
}
