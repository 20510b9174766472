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
import type { BuiltArtifact } from './artifact.ts'
import type { CandidateContext } from './context.ts'
import type { Evaluated } from './evaluate.ts'
import { profileIdOf, versionIdOf } from './ids.ts'
import { StaleBuild } from './progress.ts'
import { documentsFile, revisionsFile } from './read-import.ts'
import { inGroups, linesOf } from './row-files.ts'
import type { Corpus } from './sort.ts'
import { decidedWithdrawals } from './withdrawn.ts'

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
export async function publishCandidate(
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
