import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { insertImport, insertSnapshots } from '#core/db/imports.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { mappingOf } from '#jobs/import/corpus-mapping.ts'
import { readMapping } from '#jobs/import/mapping.ts'
import { readSources } from '#jobs/import/pipeline.ts'
import type { ImportInput as SnapshotsInput } from '#jobs/import/pipeline.ts'
import { renderImportReport } from '#jobs/import/report.ts'
import type { ImportReport } from '#jobs/import/report.ts'
import { openStaging } from '#jobs/import/staging/staging.ts'
import { captureSources, snapshotId } from '#jobs/sources/capture.ts'
import type { CapturedSource } from '#jobs/sources/capture.ts'
import { listSource } from '#jobs/sources/list.ts'
import type { SourceFile } from '#jobs/sources/list.ts'
import { knowledgeBaseNamed } from './names.ts'
import { withAudit } from './operator.ts'
import type { Operator } from './operator.ts'

export type OnProgress = (stage: string, done: number, total: number) => void

export interface ImportInput {
  readonly knowledgeBase: string
  /** A file or a folder of law; JSONL is `corpus.jsonl` or its parts `corpus-1.jsonl` …. */
  readonly source: string
  /** Path of a mapping file; without one the files and a `source.yaml` beside them say all. */
  readonly mapping?: string | undefined
  /** Names of losses, beside those that the mapping accepts. */
  readonly acceptLoss?: readonly string[] | undefined
  readonly store: ArtifactStore
  readonly onProgress?: OnProgress
  /** Aborted: the import ends, and nothing of it is recorded. */
  readonly signal?: AbortSignal
}

export interface Imported {
  readonly id: string
  readonly knowledge_base: string
  readonly report: ImportReport
}

const PROGRESS_EVERY_RECORDS = 200
/** Names of accepted losses in the audit; the report has all. */
const AUDITED_LOSSES_MAX = 20

/** A name that the operator gives and that accepts nothing is misspelt. A mapping may name losses of other files too. */
function assertEachAccepts(names: readonly string[], { losses }: ImportReport): void {
  const lost = new Set(losses.map(({ name }) => name))
  const unused = names.filter((name) => !lost.has(name))
  if (unused.length > 0)
    throw new OperatorError(
      `Nothing is imported, because ${unused.length} names of --accept-loss match no loss, first "${unused[0]}": ` +
        'correct or remove them. Then import again.',
    )
}

/**
 * Imports a corpus: capture → parse → record. The exact bytes are in the store, and every record has been read, before
 * anything is written to the database. An existing import can therefore be built.
 * @throws OperatorError also when no record became a passage, or a loss is not accepted; the error carries the report.
 */
export async function importCorpus(operator: Operator, input: ImportInput): Promise<Imported> {
  const { store, onProgress = () => undefined } = input
  const signal = input.signal === undefined ? {} : { signal: input.signal }
  const base = await knowledgeBaseNamed(operator.database, input.knowledgeBase)
  const described = input.mapping === undefined ? await mappingOf(input.source) : await readMapping(input.mapping)
  // The build reads the sources with the stored mapping, and reports the same losses as accepted.
  const accepted_losses = [...new Set([...described.accepted_losses, ...(input.acceptLoss ?? [])])]
  const mapping = { ...described, accepted_losses }
  const listing = await listSource(input.source, mapping.format)
  const sources = await capture(listing.files, input, onProgress)
  const { leftOut } = listing
  const report = await parse({ knowledgeBaseId: base.id, mapping, leftOut, ...signal }, sources, store, onProgress)
  if (report.passages === 0)
    throw new OperatorError(
      (
        'Nothing in the source became a passage; correct the source or the mapping, or let "operator import init" ' +
        `write what its files do not state, and import again.\n${renderImportReport(report)}`
      ).trimEnd(),
    )
  if (report.losses_unnamed > 0)
    throw new OperatorError(
      `${renderImportReport(report)}\nNothing is imported, because ${report.losses_unnamed} losses are not accepted: ` +
        'correct the sources, their source.yaml or the mapping; or accept each by its name, with --accept-loss or in "accepted_losses" of ' +
        'the mapping. Then import again.',
    )
  assertEachAccepts(input.acceptLoss ?? [], report)
  const id = randomUUID()
  return withAudit(operator, async (client) => {
    const snapshots = sources.map(({ sha256Hex, ...source }) => ({
      ...source,
      id: snapshotId(base.id, source.sourceName, sha256Hex),
      sha256: sha256Hex,
    }))
    const snapshotIds = await insertSnapshots(client, base.id, snapshots, (done) =>
      onProgress('recording', done, snapshots.length),
    )
    await insertImport(client, { id, knowledgeBaseId: base.id, mapping, snapshotIds, report })
    const { files, records_read, passages, skipped, losses } = report
    const lost = losses.map(({ name }) => name).slice(0, AUDITED_LOSSES_MAX)
    const audit = {
      action: 'import.create',
      subject: `import:${id}`,
      detail: { knowledge_base: base.slug, files, records_read, passages, skipped, losses: losses.length, lost },
    }
    return { result: { id, knowledge_base: base.slug, report }, audit }
  })
}

async function capture(
  files: readonly SourceFile[],
  { store, signal }: ImportInput,
  onProgress: OnProgress,
): Promise<readonly CapturedSource[]> {
  onProgress('capturing bytes', 0, 0)
  let bytes = 0
  return await captureSources(store, files, {
    ...(signal === undefined ? {} : { signal }),
    onBytes: (read) => onProgress('capturing bytes', (bytes += read), 0),
  })
}

/** Reads the captured sources for the report. The staging file has no name, so an interruption leaves nothing. */
async function parse(
  described: Omit<SnapshotsInput, 'snapshots' | 'onRecord'>,
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
  let records = 0
  const path = store.incomingFile(`${randomUUID()}.sqlite`)
  await mkdir(dirname(path), { recursive: true })
  const staging = openStaging(path, { unnamed: true })
  try {
    const onRecord = (): void => {
      records += 1
      if (records % PROGRESS_EVERY_RECORDS === 0) onProgress('reading records', records, 0)
    }
    return await readSources({ ...described, snapshots, onRecord }, staging)
  } finally {
    staging.close()
  }
}
