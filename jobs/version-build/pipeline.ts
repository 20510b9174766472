import { rm } from 'node:fs/promises'
import type { Embedder } from '#core/embedding/embedder.ts'
import { openEmbedder } from '#core/embedding/providers.ts'
import { readActiveVersion } from '#jobs/evaluation/compare/active-version.ts'
import { buildArtifact, verifyBuilt } from './artifact.ts'
import { publishCandidate } from './candidate.ts'
import type { BuildContext, CandidateContext } from './context.ts'
import { embedPassages } from './embed.ts'
import { evaluateBuilt } from './evaluate.ts'
import { preparePassages } from './sort.ts'
import { assertWithdrawalsDecided, decidedWithdrawals } from './withdrawn.ts'

/**
 * Runs a build from its import to a candidate: import → sort → embed → artifact → verify → evaluate → candidate. Each
 * stage leaves a complete output or none. A later run uses the complete outputs of an earlier one. Nothing is visible
 * before the last stage commits.
 * @returns the id of the candidate.
 */
export async function runBuild(context: CandidateContext): Promise<string> {
  // A candidate that could not be compared or signed at the end fails before the first stage.
  await readActiveVersion(context)
  await assertDecided(context)
  const { corpus, artifact, embedded } = await buildVersion(context, await openVersionEmbedder(context))
  await assertDecided(context)
  const evaluated = await evaluateBuilt(context, corpus, artifact, embedded)
  const versionId = await publishCandidate(context, corpus, artifact, evaluated)

  await rm(context.workFolder, { recursive: true, force: true })
  return versionId
}

/** A withdrawal may begin while the version is built. */
async function assertDecided({ database, knowledgeBaseId, parameters }: CandidateContext): Promise<void> {
  await assertWithdrawalsDecided(database, knowledgeBaseId, decidedWithdrawals(parameters.withdrawals))
}

/** @returns undefined for a version without vectors. */
async function openVersionEmbedder(context: CandidateContext): Promise<Embedder | undefined> {
  const { embedding: provider, endpoint = {} } = context.parameters
  if (provider === 'none') return undefined
  return await openEmbedder(context.embedding, endpoint, context.signal, (warning) =>
    context.log.warn('embedding without known prefixes', { warning }),
  )
}

/**
 * Runs the stages that need only the artifact store; a search node can load their result.
 * @param embedder undefined: the stage embed is skipped, and the version has no vectors.
 */
export async function buildVersion(context: BuildContext, embedder: Embedder | undefined) {
  const corpus = await preparePassages(context)
  const vectors = embedder && (await embedPassages(context, corpus.passages, embedder))
  const artifact = await buildArtifact(context, corpus, vectors)
  await verifyBuilt(context, artifact)
  return { corpus, artifact, embedded: vectors?.counts }
}
