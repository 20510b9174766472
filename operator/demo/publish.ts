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
import { ensureReviewer } from './reviewer.ts'

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
