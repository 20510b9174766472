import { rm } from 'node:fs/promises'
import { writeDurably } from '#core/artifact/store.ts'
import { openEmbedder } from '#core/embedding/providers.ts'
import { profileParametersSchema } from '#core/profile.ts'
import type { ProfileParameters } from '#core/profile.ts'
import type { Evaluation } from '#jobs/evaluate/measure.ts'
import { evaluate } from '#jobs/evaluate/pipeline.ts'
import { renderReport } from '#jobs/evaluate/report.ts'
import { buildArtifact, verifyBuilt } from './artifact.ts'
import type { BuiltArtifact } from './artifact.ts'
import { publishCandidate } from './candidate.ts'
import type { BuildContext } from './context.ts'
import { embedPassages } from './embed.ts'
import { versionIdOf } from './ids.ts'
import { expansionOf } from './parameters.ts'
import { preparePassages } from './sort.ts'
import type { Corpus } from './sort.ts'

/**
 * One run of a build, from its import to a candidate: import → sort → embed → artifact → verify → evaluate → candidate. Each stage leaves
 * its output whole or not at all, and what an earlier run left whole is used again; nothing is visible before the last stage commits.
 * @returns the id of the candidate.
 */
export async function runBuild(context: BuildContext): Promise<string> {
  const embedder = openEmbedder(context.parameters.embedding, { ...context.embedding })
  const profile = profileParametersSchema.parse({ expansion: expansionOf(context.parameters) })

  const corpus = await preparePassages(context)
  const vectors = await embedPassages(context, corpus.passages, embedder)
  const artifact = await buildArtifact(context, corpus, vectors, embedder)
  await verifyBuilt(context, artifact)
  const evaluation = await evaluateBuilt(context, corpus, artifact, profile)
  const versionId = await publishCandidate(context, corpus, artifact, profile, evaluation)

  await rm(context.workFolder, { recursive: true, force: true })
  return versionId
}

async function evaluateBuilt(context: BuildContext, corpus: Corpus, artifact: BuiltArtifact, profile: ProfileParameters): Promise<Evaluation> {
  await context.progress.begin('evaluate', 0)
  const versionId = versionIdOf(context.fence.buildId)
  const { evaluation, asked } = await evaluate({
    projection: artifact,
    artifactFolder: artifact.folder,
    facets: corpus.facets,
    profile,
    questionsSha256: context.parameters.questions_sha256,
    store: context.store,
    // An artifact kept from an earlier run may lie in another space than this run is configured for.
    embedder: openEmbedder(artifact.manifest.embedding, context.embedding),
    nodes: context.nodes,
    day: new Date().toISOString().slice(0, 10),
    signal: context.signal,
    onProgress: (done, total) => context.progress.at(done, total),
  })
  await writeDurably(context.store.reportFile(versionId), renderReport(versionId, evaluation, asked))
  return evaluation
}
