import { activePointer } from '#core/db/corpus-lists.ts'
import type { ExposureSubject } from '#core/db/exposure.ts'
import { readServedVersion } from '#core/db/requests.ts'
import { readWithdrawnAt } from '#core/db/withdrawals.ts'
import type { Withdrawn } from '#core/domain/search.ts'
import type { SignedStore } from '#core/index/format/store.ts'
import { readSignedManifest } from '#core/index/format/manifest.ts'
import { verifiedPassagesIn } from '#core/index/passages/records.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { type Source, sourcesIn } from '#core/index/passages/sources.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { Operator } from '#operator/actions/operator.ts'

/** One revision of a document, with the captured file that it was read from. */
export type HeldDocument = Source['revisions'][number] & { readonly file: string; readonly capturedAt: string | null }

interface Holdings {
  readonly operator: Pick<Operator, 'database'>
  readonly store: SignedStore
  readonly subject: Pick<ExposureSubject, 'knowledgeBaseId'>
}

/** @returns the documents of the active version, by title and day. */
export async function heldDocuments(holdings: Holdings): Promise<readonly HeldDocument[]> {
  const { folder, files } = await activeArtifact(holdings)
  const held: HeldDocument[] = []
  for await (const { revisions, source_name: file, captured_at: capturedAt } of sourcesIn(
    folder,
    files['sources.jsonl'],
  ))
    held.push(...revisions.map((revision) => ({ ...revision, file, capturedAt })))
  const key = ({ title, in_force_from: from }: HeldDocument): string => `${title}\0${from}`
  return held.sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** @returns the passages of one revision in their order. @throws OperatorError where the active version has none. */
export async function passagesOf(holdings: Holdings, revisionId: string) {
  const { versionId, folder, files } = await activeArtifact(holdings)
  const passages: PassageRecord[] = []
  for await (const passage of verifiedPassagesIn(folder, files['passages.jsonl']))
    if (passage.document.revision_id === revisionId) passages.push(passage)
  if (passages.length === 0)
    throw new OperatorError('The active version has no such document: list the documents again.')
  const withdrawn = await readWithdrawnAt(holdings.operator.database, versionId, new Date())
  // What covers a part of a record covers the record.
  const records = new Set(passages.filter((one) => withdrawn.some((by) => covers(by, one))).map(recordOf))
  const alone = new Set(withdrawn.map(({ chunkId }) => chunkId))
  return passages
    .toSorted((a, b) => a.position.ordinal - b.position.ordinal)
    .map((passage) => ({ passage, withdrawn: alone.has(passage.chunk_id) || records.has(recordOf(passage)) }))
}

function covers({ document, provisions, chunkId }: Withdrawn, { document: of, provision }: PassageRecord): boolean {
  return chunkId === '' && document === of.id && (provisions.length === 0 || provisions.includes(provision))
}

function recordOf({ document, source_id: id }: PassageRecord): string {
  return `${document.revision_id} ${id}`
}

async function activeArtifact({ operator: { database }, store, subject }: Holdings) {
  const pointer = await activePointer(database, subject.knowledgeBaseId)
  if (pointer === undefined) throw new OperatorError('No version is active.')
  const { version_id: versionId } = pointer
  const { manifest_digest: digest } = await readServedVersion(database, versionId)
  const folder = await store.fetch(store.artifactFolder(versionId), { digest, publicKeysDer: store.publicKeysDer })
  const { manifest } = await readSignedManifest(folder, store.publicKeysDer, digest)
  return { versionId, folder, files: manifest.files }
}
