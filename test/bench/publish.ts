import { spaceOfVectors } from '#test/support/artifact.ts'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { beginAttempt } from '#core/db/build-runs.ts'
import { insertBuild, succeedBuild } from '#core/db/builds.ts'
import { insertImport, insertSnapshots } from '#core/db/imports.ts'
import { inTransaction } from '#core/db/pool.ts'
import { sha256 } from '#core/platform/digest.ts'
import { writeDurably } from '#core/platform/durable-file.ts'
import { ensureReviewer } from '#operator/demo/publish.ts'
import { storeOf } from '#operator/demo/local/stack.ts'
import { insertVersion } from '#core/db/versions.ts'
import { defaultProfile } from '#jobs/version-build/parameters.ts'
import { requestActivation } from '#operator/actions/activations.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { signReview } from '#operator/actions/reviews.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { waitForActivation } from '#operator/command-line/wait.ts'
import { enqueueActivation } from '#jobs/platform/queues.ts'
import { grantAccess } from '#test/support/caller.ts'
import type { BenchArtifact } from './artifact.ts'
import { FACETS, SNAPSHOT_ID } from './corpus.ts'
import type { Installation } from './installation.ts'

export const KNOWLEDGE_BASE = 'bench'
/** Every question is answered, because an abstention carries no passages. */
const DEFAULTS = defaultProfile({ embedding: 'none' })
export const PARAMETERS = {
  ...DEFAULTS,
  dense_weight: 0.05,
  // Every passage that is found is served, so that the lists of all paths compare.
  passage_floor: 0,
  calibration: { ...DEFAULTS.calibration, threshold: 0 },
}
const NAME = 'bench'
/** Content of the files of a report that nobody reads. */
const NO_FINDINGS = ''

type Base = Awaited<ReturnType<typeof createBase>>
const ACTIVATION_SECONDS = 120
const UNHEARD = { update: () => undefined, end: () => undefined }
/** Every limit is decided, none refuses. */
const LIMITS = {
  requests_per_minute: 1_000_000,
  concurrency: 10_000,
  requests_per_day: 1_000_000_000,
  requests_per_month: 1_000_000_000,
  exposure: { floors: { corpus: 1_000_000_000, document: 1_000_000 } },
}

/** @returns a knowledge base without a version yet. */
export async function createBase({ owner, operator }: Installation) {
  const { id } = await createKnowledgeBase(operator, { slug: KNOWLEDGE_BASE, title: 'Invented regulations' })
  const file = { sourceName: NAME, mediaType: 'application/x-ndjson', sha256: '0'.repeat(64), bytes: 0 }
  const importId = randomUUID()
  await insertSnapshots(owner, id, [{ id: SNAPSHOT_ID, ...file }])
  await insertImport(owner, { id: importId, knowledgeBaseId: id, mapping: {}, snapshotIds: [SNAPSHOT_ID], report: {} })
  return { id, importId }
}

/**
 * Makes the artifact the active version of the knowledge base: the rows that a build would have left, then review and
 * activation as an operator does them, over the queue, with the search node loading it.
 */
export async function publishArtifact(
  { owner, operator, settings }: Installation,
  base: Base,
  artifact: BenchArtifact,
): Promise<void> {
  const store = storeOf(settings)
  const { versionId } = artifact
  for (const file of [store.reportFile(versionId), store.figuresFile(versionId)]) await writeDurably(file, NO_FINDINGS)
  const digest = sha256(NO_FINDINGS).toString('hex')
  const build = { id: artifact.buildId, knowledgeBaseId: base.id, importId: base.importId }
  await insertBuild(owner, { ...build, parameters: {}, startedBy: NAME })
  const fence = await beginAttempt(owner, artifact.buildId)
  await inTransaction(owner, async (client) => {
    await succeedBuild(client, fence)
    await insertVersion(client, {
      id: artifact.versionId,
      knowledgeBaseId: base.id,
      buildId: artifact.buildId,
      passages: artifact.manifest.passages,
      documents: artifact.manifest.documents,
      facets: FACETS,
      evaluation: { comparison: null },
      passed: true,
      files: { report: digest, figures: digest, changes: null },
      embedding: spaceOfVectors(artifact.manifest),
      manifestDigest: artifact.manifestDigest,
      withdrawalsDecided: [],
      profileId: randomUUID(),
      profile: PARAMETERS,
    })
  })
  await signReview(operator, store, await ensureReviewer(operator, join(settings.folder, 'reviewer.pem')), {
    version: artifact.versionId,
    verdict: 'approved',
    note: 'An invented corpus for measurements.',
    accept: [],
  })
  await withQueues(settings.redisUrl, async (open) => {
    const asked = await requestActivation(operator, { version: artifact.versionId }, (id) =>
      enqueueActivation(open('activate'), id),
    )
    await waitForActivation(operator.database, asked.id, ACTIVATION_SECONDS, UNHEARD)
  })
}

/** A client with a key, unlimited and entitled to everything. @returns its key. */
export async function admitCaller({ operator, settings }: Installation): Promise<string> {
  const access = { name: NAME, limits: LIMITS, knowledgeBase: KNOWLEDGE_BASE, ...FACETS }
  const { keys } = await grantAccess(operator, settings, access)
  return keys[0]?.key ?? ''
}
