import { rm } from 'node:fs/promises'
import type { Embedder } from '#core/embedding/embedder.ts'
import { openEmbedder } from '#core/embedding/providers.ts'
import { readActiveVersion } from '#jobs/evaluation/compare/active-version.ts'
import { buildArtifact, verifyBuilt, type BuiltArtifact } from './artifact.ts'
import type { BuildContext, CandidateContext } from './context.ts'
import { embedPassages } from './embed.ts'
import { evaluateBuilt, type Evaluated } from './evaluate.ts'
import { preparePassages, type Corpus } from './sort.ts'
import { assertWithdrawalsDecided, decidedWithdrawals } from './withdrawn.ts'
import { appendAudit } from '#core/db/audit.ts'
import { succeedBuild } from '#core/db/builds.ts'
import { DATABASE_BOUNDS } from '#core/db/bounds.ts'
import { inTransaction, type Queryable } from '#core/db/pool.ts'
import {
  documentRowSchema,
  insertDocuments,
  insertRevisions,
  insertVersion,
  revisionRowSchema,
} from '#core/db/versions.ts'
import { profileIdOf, versionIdOf } from './ids.ts'
import { StaleBuild } from './progress.ts'
import { documentsFile, revisionsFile } from './read-import.ts'
import { inGroups, linesOf } from './row-files.ts'

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

/** Inserts documents and revisions in groups, so that a statement has a bounded size whatever the size of the corpus. */
export async function insertRows(
  client: Queryable,
  { knowledgeBaseId, workFolder }: Pick<CandidateContext, 'knowledgeBaseId' | 'workFolder'>,
): Promise<void> {
  const { insertRowsMax } = DATABASE_BOUNDS
  for await (const group of inGroups(linesOf(documentsFile(workFolder), documentRowSchema), insertRowsMax))
    await insertDocuments(client, knowledgeBaseId, group)
  for await (const group of inGroups(linesOf(revisionsFile(workFolder), revisionRowSchema), insertRowsMax))
    await insertRevisions(client, group)
}

/**
 * Makes the version visible. One transaction writes documents, revisions, version, the build's success and the audit
 * row. The first statement locks the build's row under the fence, so two runs can never both commit.
 * @throws StaleBuild
 */
async function publishCandidate(
  context: CandidateContext,
  corpus: Corpus,
  artifact: BuiltArtifact,
  { report, profile, files }: Evaluated,
): Promise<string> {
  const { fence, knowledgeBaseId } = context
  const versionId = versionIdOf(fence.buildId)
  await context.progress.begin('candidate', 0)
  await inTransaction(context.database, async (client) => {
    if (!(await succeedBuild(client, fence)))
      throw new StaleBuild(`build ${fence.buildId} was taken over by another run`)
    await insertRows(client, context)
    await insertVersion(client, {
      id: versionId,
      knowledgeBaseId,
      buildId: fence.buildId,
      passages: artifact.manifest.passages,
      documents: artifact.manifest.documents,
      facets: corpus.facets,
      evaluation: report,
      passed: report.passed,
      files,
      embedding: artifact.manifest.embedding ?? null,
      manifestDigest: artifact.manifestDigest,
      profileId: profileIdOf(fence.buildId),
      profile,
      withdrawalsDecided: decidedWithdrawals(context.parameters.withdrawals),
    })
    const detail = {
      build_id: fence.buildId,
      knowledge_base_id: knowledgeBaseId,
      passages: artifact.manifest.passages,
      withdrawn_passages_left_out: corpus.withdrawn,
      passed: report.passed,
      worse_than_active: report.comparison?.worse ?? null,
      ndcg_at_10: (report.systems.hybrid ?? report.systems.lexical)?.['ndcg@10'] ?? null,
    }
    await appendAudit(client, { actor: 'jobs', action: 'version.build', subject: `version:${versionId}`, detail })
  })
  return versionId
}
