import type { ActivationRow } from '#core/db/activations.ts'
import type { Queryable } from '#core/db/pool.ts'
import { listReviewers } from '#core/db/reviewers.ts'
import { newestSignedReviews, readPredecessor } from '#core/db/reviews.ts'
import { insertLink, readLastLink, readPlace } from '#core/db/version-chain.ts'
import type { VersionRow } from '#core/db/versions.ts'
import { changesSchema } from '#core/domain/changes.ts'
import { chainText, type ChainRecord } from '#core/domain/version-chain.ts'
import { signManifest } from '#core/index/format/manifest.ts'
import { sha256 } from '#core/platform/digest.ts'
import type { Approved } from '#jobs/review/approvals.ts'
import { REVIEW_BOUNDS } from '#jobs/review/bounds.ts'

/** Reads what an activation rests on; it runs before the pointer moves, as approvals are of that step. */
export async function readChainRecord(
  client: Queryable,
  { kind }: Pick<ActivationRow, 'kind'>,
  version: VersionRow,
  approved: Approved | undefined,
): Promise<ChainRecord> {
  const predecessor = await readPredecessor(client, version.knowledge_base_id)
  const reviews = await newestSignedReviews(client, { versionId: version.id, predecessor })
  const reviewers = new Map((await listReviewers(client, REVIEW_BOUNDS.reviewersMax)).map((row) => [row.id, row]))
  const approvals = (approved?.reviewers ?? []).flatMap(({ id, name }) => {
    const review = reviews.find(({ reviewer_id: by }) => by === id)
    const key = reviewers.get(id)?.public_key
    if (review === undefined || key === undefined) return []
    const { statement, signature } = review
    return [
      {
        reviewer: { id, name },
        public_key: key.toString('base64'),
        statement,
        signature: signature.toString('base64'),
      },
    ]
  })
  const changes = kind === 'rollback' ? undefined : version.comparison?.changes
  return {
    version_id: version.id,
    profile: { id: version.profile_id, sha256: version.profile_sha256 },
    changes: changes === undefined ? null : changesSchema.parse(changes),
    approvals,
  }
}

/** Signs the entry of an activation that is done, and appends it to the chain of its knowledge base. */
export async function extendChain(
  client: Queryable,
  activation: Pick<ActivationRow, 'id' | 'kind' | 'expected_version_id'>,
  version: VersionRow,
  record: ChainRecord,
  privateKeyDer: Buffer,
): Promise<void> {
  const { sequence, finished_at: at } = await readPlace(client, activation.id)
  const last = await readLastLink(client, version.knowledge_base_id)
  const recordText = chainText(record)
  const entry = chainText({
    format: 'evidence version chain 1',
    knowledge_base: { id: version.knowledge_base_id, slug: version.knowledge_base },
    sequence,
    kind: activation.kind,
    version_id: version.id,
    predecessor: activation.expected_version_id,
    manifest_sha256: version.manifest_digest.toString('hex'),
    record_sha256: sha256(recordText).toString('hex'),
    activated_at: at.toISOString(),
    previous_sha256: last === undefined ? null : sha256(last.entry).toString('hex'),
  })
  const signature = signManifest(Buffer.from(entry), privateKeyDer)
  const knowledgeBaseId = version.knowledge_base_id
  await insertLink(client, { knowledgeBaseId, sequence, entry, record: recordText, signature })
}
