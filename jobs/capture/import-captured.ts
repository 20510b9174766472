import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { appendAudit } from '#core/db/audit.ts'
import { insertImport, insertSnapshots } from '#core/db/imports.ts'
import { inTransaction, type Database, type Queryable } from '#core/db/pool.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { BuildParameters } from '#jobs/version-build/parameters.ts'
import { verifiedSnapshots } from '#jobs/version-build/read-import.ts'
import { sortPassages } from '#jobs/version-build/sort.ts'
import type { Mapping } from '#law/import/mapping/mapping.ts'
import { heldFiles } from '#law/import/passage/stager.ts'
import { readSources } from '#law/import/pipeline.ts'
import { renderImportReport, type ImportReport } from '#law/import/report/report.ts'
import { openStaging } from '#law/import/staging/staging.ts'
import { snapshotsOf, type CapturedSource } from '#law/sources/capture.ts'

export type OnProgress = (stage: string, done: number, total: number) => void

export interface CapturedImport {
  readonly knowledgeBase: { readonly id: string; readonly slug: string }
  readonly mapping: Mapping
  readonly sources: readonly CapturedSource[]
  /** Names of files that are not read. */
  readonly leftOut: readonly string[]
  readonly actor: string
  /** Called with the report before anything is recorded; throws to refuse. */
  readonly accept?: (report: ImportReport) => void
  readonly onProgress?: OnProgress
  readonly signal?: AbortSignal
  /** A build that follows. Its passages are sorted in this folder, so that it need not read the sources again. */
  readonly build?: { readonly folder: string; readonly withdrawals: BuildParameters['withdrawals'] } | undefined
}

export type Imported = Awaited<ReturnType<typeof recordImport>>

const PROGRESS_EVERY_RECORDS = 200
/** Names of accepted losses in the audit; the report has all. */
const AUDITED_LOSSES_MAX = 20

/**
 * Imports captured sources: parse → record. Every record has been read before anything is written to the database. An
 * existing import can therefore be built.
 * @throws OperatorError as `readCaptured` does.
 */
export async function importCaptured(
  { database, store }: { readonly database: Database; readonly store: ArtifactStore },
  input: CapturedImport,
): Promise<Imported> {
  const report = await readCaptured(store, input)
  return await inTransaction(database, (client) => recordImport(client, input, report))
}

/**
 * Reads captured sources, and records nothing.
 * @throws OperatorError also when no record became a passage, or a loss is not accepted; the error carries the report.
 */
export async function readCaptured(store: ArtifactStore, input: CapturedImport): Promise<ImportReport> {
  const accept = (report: ImportReport): void => {
    assertLossesAccepted(report)
    input.accept?.(report)
  }
  return await (input.build === undefined
    ? parse(store, input, accept)
    : sortForBuild(store, input, input.build, accept))
}

/** Records what was read, in the transaction of the client. */
export async function recordImport(client: Queryable, input: CapturedImport, report: ImportReport) {
  const { knowledgeBase: base, mapping, actor, onProgress = () => undefined } = input
  const id = randomUUID()
  const snapshots = snapshotsOf(base.id, input.sources)
  const snapshotIds = await insertSnapshots(client, base.id, snapshots, (done) =>
    onProgress('recording', done, snapshots.length),
  )
  const gone = Object.fromEntries(input.sources.flatMap((source) => Object.entries(source.gone ?? {})))
  await insertImport(client, { id, knowledgeBaseId: base.id, mapping, snapshotIds, report: { ...report, gone } })
  const { files, records_read, passages, skipped, losses } = report
  const lost = losses.map(({ name }) => name).slice(0, AUDITED_LOSSES_MAX)
  const detail = { knowledge_base: base.slug, files, records_read, passages, skipped, losses: losses.length, lost }
  await appendAudit(client, { actor, action: 'import.create', subject: `import:${id}`, detail })
  return { id, knowledge_base: base.slug, report }
}

/** Law of the sources would be lost, and nobody accepted it by name. */
export class LossesNotAccepted extends OperatorError {
  readonly losses: ImportReport['losses']

  constructor(report: ImportReport) {
    super(
      `${renderImportReport(report)}\nNothing is imported, because ${report.losses_unnamed} ` +
        `${report.losses_unnamed === 1 ? 'loss is' : 'losses are'} not accepted: ` +
        'correct the sources, or state in source.yaml what is missing ("operator import init FOLDER" writes it); or ' +
        'accept each by its name, with --accept-loss or in "accepted_losses" of source.yaml or the mapping. Then ' +
        'import again.',
    )
    this.losses = report.losses
  }
}

function assertLossesAccepted(report: ImportReport): void {
  if (report.passages === 0)
    throw new OperatorError(
      (
        'Nothing in the source became a passage; correct the source or the mapping, or let "operator import init" ' +
        `write what its files do not state, and import again.\n${renderImportReport(report)}`
      ).trimEnd(),
    )
  if (report.losses_unnamed > 0) throw new LossesNotAccepted(report)
}

type Accept = (report: ImportReport) => void

/** Reads the captured sources for the report. The staging file has no name: an interruption leaves what was read. */
async function parse(store: ArtifactStore, input: CapturedImport, accept: Accept): Promise<ImportReport> {
  const { knowledgeBase, mapping, leftOut, signal, onProgress = () => undefined } = input
  const path = store.incomingFile(`${randomUUID()}.sqlite`)
  await mkdir(dirname(path), { recursive: true })
  using ending = new DisposableStack()
  const staging = ending.use(openStaging(path, { unnamed: true }))
  const snapshots = await verifiedSnapshots(snapshotsOf(knowledgeBase.id, input.sources), store)
  let records = 0
  const onRecord = (): void => {
    if ((records += 1) % PROGRESS_EVERY_RECORDS === 0) onProgress('reading records', records, 0)
  }
  const read = { knowledgeBaseId: knowledgeBase.id, mapping, leftOut, snapshots, signal, onRecord }
  const held = heldFiles(store.incomingFile(`read-${knowledgeBase.id}.sqlite`), read)
  ending.defer(() => held?.close(signal?.aborted === true))
  const report = await readSources({ ...read, held }, staging)
  if (held?.taken()) onProgress('files taken over from the interrupted import', held.taken(), snapshots.length)
  accept(report)
  return report
}

/** Reads the captured sources for the report and for the build that follows. */
async function sortForBuild(
  store: ArtifactStore,
  input: CapturedImport,
  { folder, withdrawals }: NonNullable<CapturedImport['build']>,
  accept: Accept,
): Promise<ImportReport> {
  const { knowledgeBase, mapping, leftOut, signal = new AbortController().signal } = input
  const { report } = await sortPassages({
    fence: { attempt: 0 },
    knowledgeBaseId: knowledgeBase.id,
    source: { mapping, snapshots: snapshotsOf(knowledgeBase.id, input.sources) },
    parameters: { withdrawals },
    store,
    workFolder: folder,
    leftOut,
    accept,
    progress: { begin: () => Promise.resolve(), at: () => undefined },
    signal,
  })
  return report
}
