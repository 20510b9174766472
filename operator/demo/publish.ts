import { READ_PASSAGES_MAX } from '#core/domain/retrieval-profile.ts'
import type { Engine } from '#core/index/engine/description.ts'
import type { Embedding } from '#core/embedding/embedder.ts'
import type { EndpointOptions } from '#core/embedding/settings.ts'
import type { SignedStore } from '#core/index/format/store.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { requestActivation } from '#operator/actions/activations.ts'
import { startBuild } from '#operator/actions/builds.ts'
import { importCorpus } from '#operator/actions/import-corpus.ts'
import type { Operator } from '#operator/actions/operator.ts'
import { readKindsToAccept, signReview } from '#operator/actions/reviews.ts'
import type { Progress } from '#operator/command-line/progress.ts'
import { waitForActivation, waitForBuild } from '#operator/command-line/wait.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import type { ImportReport } from '#law/import/report/report.ts'
import { enqueueActivation, enqueueBuild } from '#jobs/platform/queues.ts'
import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SigningKey } from '#core/credentials/reviewer-keys.ts'
import { addReviewer, readSigningKey, writeReviewerKey } from '#operator/actions/reviewers.ts'
import { readRegistry } from '#jobs/review/approvals.ts'

export interface PublishDeps {
  readonly operator: Operator
  readonly store: SignedStore
  readonly redisUrl: string
  /** Private key of a reviewer, made if there is none. */
  readonly reviewerKeyFile: string
}

export interface Publication {
  readonly knowledgeBase: string
  readonly source: string
  /** Undefined for Markdown with the built-in mapping. */
  readonly mappingFile: string | undefined
  /** If undefined, the candidate is evaluated on its own passages as known items. */
  readonly questionsFile: string | undefined
  readonly embedding: Embedding
  /** How the endpoint is used; absent: as it tells or as is known of its model. */
  readonly endpoint?: EndpointOptions | undefined
  readonly engine?: Engine | undefined
  /** Chat model that rewrites questions and reads passages. */
  readonly assistant?: string | undefined
}

/** A large corpus takes hours at an embedding endpoint on two cores. */
const WAIT_SECONDS = 21_600

/**
 * Takes a corpus version through import → build → evaluate → review → activate, using the queues as an operator does.
 */
export async function publish(
  { operator, store, redisUrl, reviewerKeyFile }: PublishDeps,
  publication: Publication,
  progress: Progress,
): Promise<{ readonly versionId: string; readonly report: ImportReport }> {
  const { knowledgeBase, source, mappingFile, questionsFile, embedding, endpoint, engine, assistant } = publication
  const imported = await importCorpus(operator, {
    knowledgeBase,
    source,
    mapping: mappingFile,
    store,
    onProgress: (stage, done, total) => progress.update(stage, done, total),
  })
  return withQueues(redisUrl, async (open) => {
    const started = await startBuild(
      operator,
      {
        import: imported.id,
        questions: questionsFile,
        embedding,
        endpoint,
        engine,
        store,
        ...(assistant === undefined ? {} : assistedBy(assistant)),
      },
      (id) => enqueueBuild(open('build'), id),
    )
    const built = await waitForBuild(operator.database, started.id, WAIT_SECONDS, progress)
    const { version_id: versionId } = built
    if (versionId === null || built.passed !== true)
      throw new OperatorError(
        'The candidate did not pass its evaluation, so it was not activated: see "operator review ' +
          `show ${versionId ?? ''}".`,
      )
    const key = await ensureReviewer(operator, reviewerKeyFile)
    await signReview(operator, store, key, {
      version: versionId,
      verdict: 'approved',
      note: 'The evaluation passed; approved for local use.',
      accept: (await readKindsToAccept(operator, versionId)).map(({ kind }) => kind),
    })
    const asked = await requestActivation(operator, { version: versionId }, (id) =>
      enqueueActivation(open('activate'), id),
    )
    await waitForActivation(operator.database, asked.id, WAIT_SECONDS, progress)
    return { versionId, report: imported.report }
  })
}

function assistedBy(model: string): Pick<Parameters<typeof startBuild>[1], 'rewriter' | 'reader'> {
  const named = { model, on_failure: 'refuse' } as const
  return { rewriter: named, reader: { ...named, kind: 'chat', scores: 'decide', passages: READ_PASSAGES_MAX } }
}

/** Returns the key of a local installation, which is its first reviewer. Both are made if there are none. */
export async function ensureReviewer(operator: Operator, keyFile: string): Promise<SigningKey> {
  if (!existsSync(keyFile)) {
    mkdirSync(dirname(keyFile), { recursive: true })
    await writeReviewerKey(keyFile)
  }
  const key = await readSigningKey(keyFile)
  const known = (await readRegistry(operator.database)).byPublicKey(key.publicKeyDer)
  if (known === undefined) await addReviewer(operator, { name: 'local reviewer', publicKey: key.publicKeyDer })
  return key
}

const WRITTEN_WITHIN_MS = 120_000
const ASKED_EVERY_MS = 100
const TRACE_TIMEOUT_MS = 5_000

/**
 * Waits until the trace shows that a version is active.
 * @throws OperatorError when the job worker has not written it in time.
 */
export async function untilTraced(traceUrl: string, slug: string, versionId: string): Promise<void> {
  const deadline = performance.now() + WRITTEN_WITHIN_MS
  while (performance.now() < deadline) {
    const head = await fetch(`${traceUrl}/${slug}/head.json`, { signal: AbortSignal.timeout(TRACE_TIMEOUT_MS) })
    if ((await head.text()).includes(versionId)) return
    await sleep(ASKED_EVERY_MS)
  }
  throw new OperatorError('The trace was not written in two minutes: read the log of the job worker.')
}
