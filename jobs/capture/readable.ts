import { existsSync } from 'node:fs'
import type { CapturedFile } from '#core/db/sources.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { jsonlRecords } from '#law/import/record/jsonl.ts'
import type { SourceItem } from '#law/import/record/record.ts'
import { readBytes, readDocument, recognised } from '#law/readers/read.ts'
import { UnreadableFile } from '#law/readers/tree.ts'

/** Of what kind a source is: of an address, its first answer is checked too. */
interface ReadAs {
  readonly isAddress: boolean
  /** JSONL. */
  readonly isRecords: boolean
}

/** An error page, or half a file, is no new text of a law: what was read before must be read again, in its format. */
export async function assertReadable(
  store: ArtifactStore,
  { isAddress, isRecords }: ReadAs,
  files: readonly CapturedFile[],
  last: readonly CapturedFile[],
): Promise<void> {
  const before = new Map(last.map(({ sourceName, sha256 }) => [sourceName, sha256]))
  for (const { sourceName, sha256 } of files) {
    const earlier = before.get(sourceName)
    if (earlier === sha256 || (earlier === undefined && !isAddress)) continue
    const path = await store.fetch(store.snapshotFile(sha256))
    const earlierPath = earlier === undefined ? undefined : await store.fetch(store.snapshotFile(earlier))
    try {
      await (isRecords
        ? assertRecords(path)
        : assertLaw(sourceName, path, earlierPath !== undefined && existsSync(earlierPath) ? earlierPath : undefined))
    } catch (error) {
      if (!(error instanceof UnreadableFile)) throw error
      const line = error.line === undefined ? '' : `:${error.line}`
      throw new OperatorError(`${sourceName}${line}: ${error.message}`)
    }
  }
}

async function assertLaw(sourceName: string, path: string, earlierPath: string | undefined): Promise<void> {
  const { format, provisions } = await readDocument(sourceName, await readBytes(path))
  if (!provisions.some(({ text }) => text !== undefined)) throw new UnreadableFile('it holds no provision of law')
  const was = earlierPath === undefined ? format : recognised(sourceName, await readBytes(earlierPath))
  if (was !== format) throw new UnreadableFile(`it is ${format} now, and was ${was}`)
}

/** A page of another kind has no record, and half a file has half of one at its end. */
async function assertRecords(path: string): Promise<void> {
  let records = 0
  let first: SourceItem | undefined
  let last: SourceItem | undefined
  for await (const item of jsonlRecords(path)) {
    if (item.kind === 'record') records += 1
    first ??= item
    last = item
  }
  const bad = records === 0 ? first : last
  if (bad?.kind === 'fault') throw new UnreadableFile(bad.reason, { line: bad.line })
  if (records === 0) throw new UnreadableFile('it holds no record', { line: 1 })
}
