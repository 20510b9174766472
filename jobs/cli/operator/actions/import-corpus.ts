import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { OperatorError } from '#core/platform/errors.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { insertImport, insertSnapshot } from '#core/db/imports.ts'
import { MARKDOWN_MAPPING, parseMapping } from '#jobs/import/mapping.ts'
import type { Mapping } from '#jobs/import/mapping.ts'
import { importSnapshots } from '#jobs/import/pipeline.ts'
import type { ImportInput as SnapshotsInput } from '#jobs/import/pipeline.ts'
import { renderImportReport } from '#jobs/import/report.ts'
import type { ImportReport } from '#jobs/import/report.ts'
import { captureSources, snapshotId } from '#jobs/sources/capture.ts'
import type { CapturedSource } from '#jobs/sources/capture.ts'
import { listSource } from '#jobs/sources/list.ts'
import type { SourceFile } from '#jobs/sources/list.ts'
import { knowledgeBaseNamed } from './names.ts'
import { recorded } from './operator.ts'
import type { Operator } from './operator.ts'

export type OnProgress = (stage: string, done: number, total: number) => void

export interface ImportInput {
  readonly knowledgeBase: string
  /** A JSONL file, a folder holding `corpus.jsonl` or its parts `corpus-*.jsonl`, or a folder of Markdown. */
  readonly source: string
  /** Path of a mapping file; without one the source is Markdown with the documented front matter. */
  readonly mapping?: string | undefined
  readonly store: ArtifactStore
  readonly onProgress?: OnProgress
}

export interface Imported {
  readonly id: string
  readonly knowledge_base: string
  readonly report: ImportReport
}

const PROGRESS_EVERY_PASSAGES = 200

/**
 * Imports a corpus: capture → parse → record. The exact bytes are in the store, and every record has been read, before
 * anything is written to the database. An existing import can therefore be built.
 * @throws OperatorError also when no record became a passage; the error carries the report.
 */
export async function importCorpus(operator: Operator, input: ImportInput): Promise<Imported> {
  const { store, onProgress = () => undefined } = input
  const base = await knowledgeBaseNamed(operator.database, input.knowledgeBase)
  const mapping = input.mapping === undefined ? MARKDOWN_MAPPING : await readMapping(input.mapping)
  const listing = await listSource(input.source, mapping.format)
  const sources = await capture(listing.files, store, onProgress)
  const report = await parse(
    { knowledgeBaseId: base.id, mapping, leftOut: listing.leftOut },
    sources,
    store,
    onProgress,
  )
  if (report.passages === 0)
    throw new OperatorError(
      (
        'Nothing in the source became a passage; correct the source or the mapping and import ' +
        `again.\n${renderImportReport(report)}`
      ).trimEnd(),
    )
  const id = randomUUID()
  return recorded(operator, async (client) => {
    const snapshotIds: string[] = []
    for (const [index, source] of sources.entries()) {
      snapshotIds.push(
        await insertSnapshot(client, base.id, {
          ...source,
          id: snapshotId(base.id, source.sourceName, source.sha256Hex),
          sha256: source.sha256Hex,
        }),
      )
      onProgress('recording', index + 1, sources.length)
    }
    await insertImport(client, { id, knowledgeBaseId: base.id, mapping, snapshotIds, report })
    const { files, records_read, passages, skipped } = report
    const audit = {
      action: 'import.create',
      subject: `import:${id}`,
      detail: { knowledge_base: base.slug, files, records_read, passages, skipped },
    }
    return { result: { id, knowledge_base: base.slug, report }, audit }
  })
}

async function readMapping(path: string): Promise<Mapping> {
  const contents = await readFile(path, 'utf8').catch((cause: unknown) => {
    throw new OperatorError(`The mapping file ${path} cannot be read: check its path and rights.`, { cause })
  })
  try {
    return parseMapping(JSON.parse(contents))
  } catch (cause) {
    if (cause instanceof SyntaxError)
      throw new OperatorError(`The mapping file ${path} is not JSON: correct it and import again.`, { cause })
    throw cause
  }
}

async function capture(
  files: readonly SourceFile[],
  store: ArtifactStore,
  onProgress: OnProgress,
): Promise<readonly CapturedSource[]> {
  const captured: CapturedSource[] = []
  for (const file of files) {
    onProgress('capturing', captured.length, files.length)
    captured.push(...(await captureSources(store, [file])))
  }
  onProgress('capturing', captured.length, files.length)
  return captured
}

async function parse(
  described: Omit<SnapshotsInput, 'snapshots'>,
  sources: readonly CapturedSource[],
  store: ArtifactStore,
  onProgress: OnProgress,
): Promise<ImportReport> {
  const snapshots = sources.map(({ sourceName, mediaType, sha256Hex }) => ({
    id: snapshotId(described.knowledgeBaseId, sourceName, sha256Hex),
    sourceName,
    mediaType,
    path: store.snapshotFile(sha256Hex),
  }))
  const passages = importSnapshots({ ...described, snapshots })
  for (let count = 1; ; count++) {
    const step = await passages.next()
    if (step.done === true) return step.value
    if (count % PROGRESS_EVERY_PASSAGES === 0) onProgress('reading passages', count, 0)
  }
}
