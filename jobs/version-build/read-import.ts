import { createHash, type Hash } from 'node:crypto'
import { join } from 'node:path'
import type { BuildFence } from '#core/db/builds.ts'
import type { ImportRow, SourceSnapshot } from '#core/db/imports.ts'
import type { RevisionRow } from '#core/db/versions.ts'
import { sha256 } from '#core/platform/digest.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { digestFile } from '#core/platform/hashed-file.ts'
import { derivedUuid } from '#core/platform/ids.ts'
import type { Passage } from '#law/import/passage/passage.ts'
import { heldFiles } from '#law/import/passage/stager.ts'
import { openPassageReader, withStagedRecordsFile } from '#law/import/passage/staged-records-file.ts'
import type { PassageReader } from '#law/import/passage/staged-records-file.ts'
import { parseMapping } from '#law/import/mapping/mapping.ts'
import { readSources } from '#law/import/pipeline.ts'
import type { ImportReport } from '#law/import/report/report.ts'
import { createRevisionIds, recordsByRevision, stagedDocuments } from '#law/import/staging/rows.ts'
import { openStaging, type Staging } from '#law/import/staging/staging.ts'
import type { BuildContext } from './context.ts'
import type { BuildParameters } from './parameters.ts'
import type { Progress } from './progress.ts'
import { replaceLines } from './row-files.ts'
import { dropWithdrawn, type Dropped } from './withdrawn.ts'

/** What the stages that read and sort an import need of a build. */
export interface ImportContext extends Pick<BuildContext, 'knowledgeBaseId' | 'store' | 'workFolder' | 'signal'> {
  /** Its attempt is in the names of unfinished files. */
  readonly fence: Pick<BuildFence, 'attempt'>
  readonly source: Pick<ImportRow, 'mapping'> & {
    readonly snapshots: readonly Pick<SourceSnapshot, 'id' | 'sourceName' | 'mediaType' | 'sha256'>[]
  }
  readonly parameters: Pick<BuildParameters, 'withdrawals'>
  readonly progress: Omit<Progress, 'embedded'>
  /** Names of files that are not read, for the report. */
  readonly leftOut?: readonly string[]
  /** Called with the report before anything is sorted; throws to refuse. */
  readonly accept?: (report: ImportReport) => void
}

/** The imported records in the staging file, and their passages in a file beside it. */
export interface ImportedCorpus {
  readonly staging: Staging
  readonly passages: PassageReader
  readonly report: ImportReport
  /** What withdrawals leave out of it. */
  readonly dropped: Dropped
  /** SHA-256 (hex) over the sorted SHA-256 values of the snapshots. */
  readonly snapshotsDigest: string
}

/** Files of one run of a build. A later run of the build removes them. */
export const RUN_FILES =
  /^(?:(?:drafts|staging)\.\d+\.(?:jsonl|sqlite)|(?:documents|passages|revisions)\.jsonl\.\d+\.tmp)$/

/**
 * Reads the import again from its snapshots, after checking the SHA-256 of each, and passes it to `use`. What
 * identifies and orders a record goes to the staging file, its passages to the spill file.
 */
export async function withImportedCorpus<T>(context: ImportContext, use: (imported: ImportedCorpus) => Promise<T>) {
  const { workFolder, fence, source, store, knowledgeBaseId, leftOut = [], signal } = context
  const snapshots = await verifiedSnapshots(source.snapshots, store)
  const mapping = parseMapping(source.mapping)
  const recordsPath = join(workFolder, `drafts.${fence.attempt}.jsonl`)
  using ending = new DisposableStack()
  const staging = ending.use(openStaging(join(workFolder, `staging.${fence.attempt}.sqlite`)))
  let records = 0
  const onRecord = (): void => context.progress.at((records += 1), 0)
  const isBuild = context.accept === undefined
  const input = { knowledgeBaseId, mapping, snapshots, leftOut, signal, onRecord, isBuild }
  const held = heldFiles(join(workFolder, 'read.sqlite'), input)
  ending.defer(() => held?.close(signal.aborted))
  const report = await withStagedRecordsFile(recordsPath, (file) => readSources({ ...input, held }, staging, file))
  context.accept?.(report)
  if (report.passages === 0)
    throw new OperatorError(
      'The import holds no passage: read its report, correct the sources or the mapping, import ' +
        'again and build from that.',
    )
  using passages = openPassageReader(recordsPath, mapping)
  const dropped = dropWithdrawn(context.parameters.withdrawals, staging, passages)
  if (dropped.passages === report.passages)
    throw new OperatorError('Every passage of the import is withdrawn: restore some, or import other sources.')
  const sorted = source.snapshots.map((snapshot) => snapshot.sha256).sort()
  const snapshotsDigest = sha256(sorted.join('')).toString('hex')
  return await use({ staging, passages, report, dropped, snapshotsDigest })
}

/** @throws OperatorError for a snapshot whose bytes are not those that were captured, whatever the store has there. */
export async function verifiedSnapshots(snapshots: ImportContext['source']['snapshots'], store: ArtifactStore) {
  const verified = []
  for (const { id, sourceName, mediaType, sha256: expected } of snapshots) {
    const path = await store.fetch(store.snapshotFile(expected))
    const found = await digestFile(path).catch((cause: unknown) => {
      throw new OperatorError(
        `The snapshot of ${sourceName} is not in the artifact store: import the source again and build from that.`,
        { cause },
      )
    })
    if (found.sha256 !== expected)
      throw new OperatorError(
        `The snapshot of ${sourceName} was changed after it was captured: import the source again and build from that.`,
      )
    verified.push({ id, sourceName, mediaType, path })
  }
  return verified
}

/**
 * Writes the rows of documents and revisions to files, and notes the id of each revision. A revision's id
 * depends on its content too: a corrected text under the same dates is another revision, an unchanged one the same.
 */
export async function writeRevisions(context: ImportContext, imported: ImportedCorpus): Promise<void> {
  await replaceLines(context, revisionsFile(context.workFolder), revisionRows(imported))
  await replaceLines(context, documentsFile(context.workFolder), stagedDocuments(imported.staging))
}

export function documentsFile(workFolder: string): string {
  return join(workFolder, 'documents.jsonl')
}

export function revisionsFile(workFolder: string): string {
  return join(workFolder, 'revisions.jsonl')
}

/** A revision while its passages are read. */
interface OpenRevision {
  readonly number: number
  readonly first: Passage
  readonly content: Hash
  /** Rule by which the end of one of its records is derived. */
  endDerived: string | undefined
}

function* revisionRows({ staging, passages: reader, dropped }: ImportedCorpus): Generator<RevisionRow> {
  const noteId = createRevisionIds(staging)
  const closed = (revision: OpenRevision): RevisionRow => {
    const row = revisionRow(revision)
    noteId(revision.number, row.id)
    return row
  }
  let revision: OpenRevision | undefined
  for (const kept of recordsByRevision(staging)) {
    const passages = reader.passagesOf(kept).filter((one) => !dropped.chunkIds.has(one.chunk_id))
    const [first] = passages
    if (first === undefined) continue
    if (revision?.number !== kept.revision) {
      if (revision !== undefined) yield closed(revision)
      revision = { number: kept.revision, first, content: contentOfRevision(first), endDerived: undefined }
    }
    if (kept.derived) revision.endDerived ??= first.lineage['effective_to']
    for (const passage of passages) revision.content.update(contentOf(passage))
  }
  if (revision !== undefined) yield closed(revision)
}

function contentOfRevision({ document, effective_to, lineage }: Passage): Hash {
  const { title, authority, canonical_url } = document
  return createHash('sha256').update(JSON.stringify([title, authority, canonical_url, effective_to, lineage]))
}

/** Returns the fields that define a revision's content; a passage's id already depends on its text and position. */
function contentOf(passage: Passage): string {
  return JSON.stringify([
    passage.ordinal,
    passage.chunk_id,
    passage.citation.label,
    passage.metadata,
    passage.subjects,
    passage.references,
  ])
}

function revisionRow({ first, content, endDerived }: OpenRevision): RevisionRow {
  const contentSha256 = content.digest('hex')
  return {
    id: derivedUuid('revision', first.document.revision_id, contentSha256),
    documentId: first.document.id,
    snapshotId: first.citation.source_snapshot_id,
    title: first.document.title,
    publishedAt: first.document.published_at,
    effectiveAt: first.document.effective_at,
    effectiveTo: first.effective_to,
    contentSha256,
    lineage: endDerived === undefined ? first.lineage : { ...first.lineage, effective_to: endDerived },
  }
}
