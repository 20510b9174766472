import { ArtifactError } from '#core/index/artifact-error.ts'
import type { Manifest } from '#core/index/format/manifest.ts'
import { openPassagesReader } from '#core/index/passages/reader.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { createResidentParts } from '#core/index/storage/resident-parts.ts'

export type SourceIdOf = (row: number) => string

interface Artifact extends Pick<Manifest, 'passages' | 'files'> {
  readonly folder: string
  readonly damaged: (error: ArtifactError) => unknown
}

type Passages = AsyncIterable<PassageRecord>
/** Notes the ids of passages that are streamed in row order for another purpose. */
export type NoteSourceIds = (passages: Passages) => Passages

/** Ids that are noted while passages are streamed; rows beyond are read one by one. */
const NOTED_MAX = 100_000

/** Opens the passages of a verified artifact while `use` runs. It reads each asked row once, and remembers its id. */
export async function withSourceIds<T>(
  { folder, passages, files, damaged }: Artifact,
  use: (sourceIdOf: SourceIdOf, note: NoteSourceIds) => Promise<T>,
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
  async function* note(streamed: Passages): AsyncGenerator<PassageRecord> {
    let row = 0
    for await (const passage of streamed) {
      if (row < NOTED_MAX) known.set(row, passage.source_id)
      row += 1
      yield passage
    }
  }
  using ending = new DisposableStack()
  ending.defer(() => reader.close())
  return await use((row) => {
    const id = known.get(row) ?? unlessDamaged(() => reader.passage(row).source_id)
    known.set(row, id)
    return id
  }, note)
}
