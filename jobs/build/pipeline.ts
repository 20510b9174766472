import { rm } from 'node:fs/promises'
import { writeDurably } from '#core/platform/durable-file.ts'
import type { Embedder } from '#core/embedding/embedder.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { createReranker } from '#core/reranking/reranker.ts'
import { createEmbedder } from '#core/embedding/providers.ts'
import { readServing } from '#core/db/versions.ts'
import type { ActiveVersion } from '#jobs/evaluate/active.ts'
import { renderPage } from '#jobs/evaluate/page/page.ts'
import { evaluate } from '#jobs/evaluate/pipeline.ts'
import type { Evaluated } from '#jobs/evaluate/pipeline.ts'
import { buildArtifact, verifyBuilt } from './artifact.ts'
import type { BuiltArtifact } from './artifact.ts'
import { publishCandidate } from './candidate.ts'
import type { BuildContext, CandidateContext } from './context.ts'
import { embedPassages } from './embed.ts'
import { versionIdOf } from './ids.ts'
import { defaultProfile } from './parameters.ts'
import { preparePassages } from './sort.ts'
import type { Corpus } from './sort.ts'

/**
 * Runs a build from its import to a candidate: import → sort → embed → artifact → verify → evaluate → candidate. Each
 * stage leaves a complete output or none. A later run uses the complete outputs of an earlier one. Nothing is visible
 * before the last stage commits.
 * @returns the id of the candidate.
 */
export async function runBuild(context: CandidateContext): Promise<string> {
  const embedder = createEmbedder(context.parameters.embedding, { ...context.embedding })

  const { corpus, artifact } = await buildProjection(context, embedder)
  const evaluated = await evaluateBuilt(context, corpus, artifact)
  const versionId = await publishCandidate(context, corpus, artifact, evaluated)

  await rm(context.workFolder, { recursive: true, force: true })
  return versionId
}

export interface BuiltProjection {
  readonly corpus: Corpus
  readonly artifact: BuiltArtifact
}

/** Runs the stages that need only the artifact store; a search node can load their result. */
export async function buildProjection(context: BuildContext, embedder: Embedder): Promise<BuiltProjection> {
  const corpus = await preparePassages(context)
  const vectors = await embedPassages(context, corpus.passages, embedder)
  const artifact = await buildArtifact(context, corpus, vectors, embedder)
  await verifyBuilt(context, artifact)
  return { corpus, artifact }
}

async function evaluateBuilt(context: CandidateContext, corpus: Corpus, artifact: BuiltArtifact): Promise<Evaluated> {
  await context.progress.begin('evaluate', 0)
  const versionId = versionIdOf(context.fence.buildId)
  const evaluated = await evaluate({
    versionId,
    knowledgeBase: context.knowledgeBase,
    projection: artifact,
    artifact: { ...artifact.manifest, folder: artifact.folder },
    facets: corpus.facets,
    profile: defaultProfile(context.parameters),
    targetRisk: context.parameters.target_risk,
    questionsSha256: context.parameters.questions_sha256,
    active: await activeVersion(context),
    store: context.store,
    // An artifact kept from an earlier run may use another embedding space than this run's configuration.
    embedder: createEmbedder(artifact.manifest.embedding, context.embedding),
    reranker:
      context.parameters.reranker === undefined && context.embedding.RERANK_BASE_URL === undefined
        ? undefined
        : createReranker(context.embedding),
    rerankerToTry: context.parameters.reranker ?? null,
    nodes: context.nodes,
    day: new Date().toISOString().slice(0, 10),
    signal: context.signal,
    onProgress: (done, total) => context.progress.at(done, total),
  })
  const { report } = evaluated
  await writeDurably(context.store.reportFile(versionId), renderPage(report))
  await writeDurably(context.store.figuresFile(versionId), `${JSON.stringify(report, null, 2)}\n`)
  return evaluated
}

/**
 * Returns the version that the candidate would replace. Returns undefined also where this worker can no longer embed
 * questions for that version, or cannot apply its re-ranker.
 */
async function activeVersion({
  database,
  knowledgeBaseId,
  embedding,
}: CandidateContext): Promise<ActiveVersion | undefined> {
  const active = await readServing(database, knowledgeBaseId)
  if (active === undefined || (active.profile.reranker !== null && embedding.RERANK_BASE_URL === undefined))
    return undefined
  try {
    return { ...active, embedder: createEmbedder(active.embedding, embedding) }
  } catch (error) {
    if (error instanceof OperatorError) return undefined
    throw error
  }
}
