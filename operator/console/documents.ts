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
export type HeldDocument = Source['revisions'][number] & {
  readonly file: string
  readonly capturedAt: string | null
  readonly snapshot: string
}

interface Holdings {
  readonly operator: Pick<Operator, 'database'>
  readonly store: SignedStore
  readonly subject: Pick<ExposureSubject, 'knowledgeBaseId'>
}

/** @returns the documents of the active version, by title and day; the provisions of one may end on different days. */
export async function heldDocuments(holdings: Holdings): Promise<readonly HeldDocument[]> {
  const { folder, files } = await activeArtifact(holdings)
  const held: HeldDocument[] = []
  const sources = sourcesIn(folder, files['sources.jsonl'])
  for await (const { id: snapshot, revisions, source_name: file, captured_at: capturedAt } of sources)
    for (const of of Map.groupBy(revisions, textOf).values()) {
      const [last] = of.toSorted((one, other) => ((one.in_force_to ?? '9') < (other.in_force_to ?? '9') ? 1 : -1))
      const passages = of.reduce((sum, each) => sum + each.passages, 0)
      if (last !== undefined) held.push({ ...last, passages, file, capturedAt, snapshot })
    }
  const key = ({ title, in_force_from: from }: HeldDocument): string => `${title}\0${from}`
  return held.sort((a, b) => (key(a) < key(b) ? -1 : 1))
}

/** What the provisions of one text share, whenever they end: it ends with the last of them. */
function textOf({ id, effective_at, published_at }: PassageRecord['document']): string {
  return `${id} ${effective_at} ${published_at}`
}

/** @returns what a file has of a revision's text, in order. @throws OperatorError where the active version has none. */
export async function passagesOf(holdings: Holdings, revisionId: string, snapshot: string) {
  const { versionId, folder, files } = await activeArtifact(holdings)
  const passages: PassageRecord[] = []
  let text: string | undefined
  for await (const { revisions } of sourcesIn(folder, files['sources.jsonl']))
    for (const each of revisions) if (each.revision_id === revisionId) text = textOf(each)
  for await (const passage of verifiedPassagesIn(folder, files['passages.jsonl']))
    if (textOf(passage.document) === text && passage.citation.source_snapshot_id === snapshot) passages.push(passage)
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
