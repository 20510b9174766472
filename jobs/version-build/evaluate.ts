import { join } from 'node:path'
import { readImported, type Imported } from '#core/db/imports.ts'
import { readBuildStarter } from '#core/db/builds.ts'
import { readStatedPolicy } from '#core/db/review-policies.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import type { ProfileParameters } from '#core/domain/retrieval-profile.ts'
import type { EmbeddingCounts } from '#core/domain/embedding-counts.ts'
import { createEmbedder } from '#core/embedding/providers.ts'
import type { ArtifactError } from '#core/index/artifact-error.ts'
import { sha256 } from '#core/platform/digest.ts'
import { writeDurably } from '#core/platform/durable-file.ts'
import { utcDay } from '#core/platform/time.ts'
import { wholly } from '#core/index/format/description.ts'
import { askCanaries } from '#core/rewriting/canaries.ts'
import type { Rewriter } from '#core/rewriting/rewriter.ts'
import { readActiveVersion } from '#jobs/evaluation/compare/active-version.ts'
import type { NamedChange } from '#jobs/evaluation/compare/changes-file.ts'
import { changesSection, changesTables, changesTitle, passagesSection } from '#jobs/evaluation/compare/page/changes.ts'
import { isOfPassage, readPlaces, type PlaceOf } from '#jobs/evaluation/compare/page/neighbours.ts'
import { compareWithActive } from '#jobs/evaluation/compare/pipeline.ts'
import type { ComparedCandidate, ComparisonSettings } from '#jobs/evaluation/compare/pipeline.ts'
import { alteredCandidate } from '#jobs/evaluation/altered-candidate.ts'
import { servedOf } from '#jobs/evaluation/ask.ts'
import type { EvaluationReport } from '#jobs/evaluation/page/evaluation-report.ts'
import { renderPage, type ReviewSections } from '#jobs/evaluation/page/page.ts'
import { kindsToName } from '#jobs/evaluation/page/verdict.ts'
import { signCommand } from '#core/domain/review-statements.ts'
import { EVALUATION_DEPTH, evaluate, type Evaluation, type EvaluationInput } from '#jobs/evaluation/pipeline.ts'
import { cachedReader, cachedRewriter } from '#jobs/evaluation/reply-cache.ts'
import { reportOf } from '#jobs/evaluation/report.ts'
import { withSourceIds } from '#jobs/evaluation/source-ids.ts'
import { importReportSchema, type ImportReport } from '#law/import/report/report.ts'
import { lawUnderOtherIds, readLaw } from '#jobs/platform/withdrawn-law.ts'
import { NOTHING, html } from '#jobs/platform/page/markup.ts'
import type { BuiltArtifact } from './artifact.ts'
import type { CandidateContext } from './context.ts'
import { versionIdOf } from './ids.ts'
import { importSection } from './page/import-section.ts'
import { readCaptured, samplePassages, sampleSection } from './page/sample.ts'
import { defaultProfile } from './parameters.ts'
import type { Corpus } from './sort.ts'

export type Evaluated = Awaited<ReturnType<typeof evaluateBuilt>>

/** Evaluates a built artifact, compares it with the active version and writes the files that a reviewer reads. */
export async function evaluateBuilt(
  context: CandidateContext,
  corpus: Corpus,
  artifact: BuiltArtifact,
  embedded: EmbeddingCounts | undefined,
) {
  await context.progress.begin('evaluate', 0)
  const versionId = versionIdOf(context.fence.buildId)
  const { folder, manifest } = artifact
  const damaged = (error: ArtifactError): Error => alteredCandidate(versionId, error)
  const { evaluation, compared } = await withSourceIds(
    { ...manifest, folder, damaged },
    async (sourceIdOf, noteSourceIds) => {
      const measured = await measure(context, corpus, artifact, { versionId, sourceIdOf, noteSourceIds })
      const candidate = comparedCandidate(measured, corpus, artifact, versionId)
      return {
        evaluation: measured,
        compared: await compareWithActive(candidate, await comparisonSettings(context), context.store),
      }
    },
  )
  const report = reportOf({
    ...evaluation.measured,
    comparison: compared?.comparison ?? null,
    changeGates: compared?.changeGates ?? [],
    longPassages: embedded && { passages: embedded.overlong, windows: embedded.windows === true },
  })
  const page = renderPage(report, await reviewSections(context, corpus, artifact, report, compared?.shown ?? []))
  const files = {
    report: await written(context.store, context.store.reportFile(versionId), page),
    figures: await written(context.store, context.store.figuresFile(versionId), `${JSON.stringify(report, null, 2)}\n`),
    changes: report.comparison?.changes?.sha256 ?? null,
  }
  if (files.changes !== null) await context.store.publish(context.store.changesFile(versionId), { again: true })
  return { report, profile: evaluation.profile, files }
}

async function reviewSections(
  context: CandidateContext,
  { withdrawals_without_passages }: Corpus,
  artifact: BuiltArtifact,
  report: EvaluationReport,
  shown: readonly NamedChange[],
): Promise<ReviewSections> {
  const { store, source, database, parameters, knowledgeBaseId } = context
  const { folder } = artifact
  const active = report.comparison?.version_id ?? null
  const [imported, before] = await readImported(database, source.id, active)
  const first =
    active === null
      ? sampleSection(await samplePassages(context, artifact, remainderOf(imported)))
      : changesSection(
          report,
          shown,
          await placesOf(context, shown, { before: store.artifactFolder(active), after: folder }),
        )
  const law = await readLaw(database, store, knowledgeBaseId)
  const again = await lawUnderOtherIds(law, folder, parameters.withdrawals.restore)
  const findings =
    imported === undefined
      ? NOTHING
      : importSection(imported, before, { ...parameters.withdrawals, withdrawals_without_passages, again })
  return {
    title: changesTitle(report, shown),
    first: html`${first}${findings}`,
    tables: changesTables(report, shown.length),
    last: html`${await passagesSection(folder)}${await signSection(context, report)}`,
  }
}

/** Where changed passages stand in both versions, with what was captured at the places of the candidate. */
async function placesOf(
  context: CandidateContext,
  shown: readonly NamedChange[],
  folders: { readonly before: string; readonly after: string },
): Promise<PlaceOf> {
  const placeOf = await readPlaces(shown, folders)
  const held = shown.filter(isOfPassage).filter(({ kind }) => kind !== 'passages_removed')
  const passages = held.flatMap((change) => placeOf(change)?.passage ?? [])
  const captured = await readCaptured(context, passages)
  return (change) => {
    const place = placeOf(change)
    return place && { ...place, captured: captured.get(place.passage) }
  }
}

/** Who built the version from what, how many must approve it, and the command to copy. */
async function signSection({ database, fence, knowledgeBaseId, source }: CandidateContext, report: EvaluationReport) {
  const id = report.version_id ?? ''
  const { reviewers, exclude_build_starter: excluded } = await readStatedPolicy(database, knowledgeBaseId)
  const starter = await readBuildStarter(database, fence.buildId)
  return html`<h2 id="sign">Who signs, and how</h2>
    <p>
      Built by <b><bdi>${starter?.started_by ?? ''}</bdi></b> from import <code>${source.id}</code>. Approvals needed:
      <b>${reviewers}</b>${excluded ? ', not counting who built it' : ''}. When this page was written, nobody had
      signed; <code>operator review show ${id}</code> says who has, and whether another version has become active since.
    </p>
    <pre
      class="scroll"
      tabindex="0"
      aria-label="The command that signs"
    ><code>${signCommand(id, kindsToName(report))}</code></pre>`
}

/** The text of captured files that lies in no passage, as the report of the import lists it. */
function remainderOf(imported: Imported | undefined): ImportReport['coverage']['remainder'] {
  return imported === undefined ? [] : importReportSchema.parse(imported.report).coverage.remainder
}

async function measure(
  context: CandidateContext,
  corpus: Corpus,
  artifact: BuiltArtifact,
  own: Pick<EvaluationInput, 'versionId' | 'sourceIdOf' | 'noteSourceIds'>,
): Promise<Evaluation> {
  const { description, as_of } = artifact.manifest
  const unasked = { ...defaultProfile(context.parameters, description), ...(as_of === undefined ? {} : { as_of }) }
  const models = await openModels(context, unasked)
  const profile = await withCanaries(unasked, models.rewriter, context.signal)
  return await evaluate({
    ...own,
    manifestDigest: artifact.manifestDigest,
    knowledgeBase: context.knowledgeBase,
    artifact: { ...artifact.manifest, folder: artifact.folder },
    facets: corpus.facets,
    profile,
    targetRisk: context.parameters.target_risk,
    questionsSha256: context.parameters.questions_sha256,
    store: context.store,
    // An artifact kept from an earlier run may use another embedding space than this run's configuration.
    embedder:
      artifact.manifest.embedding &&
      createEmbedder(artifact.manifest.embedding, context.embedding, context.parameters.endpoint),
    ...models,
    note: (sentence) => context.warn(sentence),
    nodes: context.nodes,
    day: profile.as_of ?? utcDay(new Date()),
    signal: context.signal,
    onProgress: (done, total) => context.progress.at(done, total),
  })
}

/** Records what the rewriter writes now for questions that it is asked again every day. */
async function withCanaries(profile: ProfileParameters, rewriter: Rewriter | undefined, signal: AbortSignal) {
  if (rewriter === undefined || profile.rewriter === null) return profile
  const canaries = await askCanaries(rewriter, wholly(profile.rewriter.description), signal)
  return { ...profile, rewriter: { ...profile.rewriter, canaries } }
}

/** What they give is kept in the work folder, so that a build that resumes pays for nothing twice. */
async function openModels({ embedding, workFolder }: CandidateContext, { rewriter, reader }: ProfileParameters) {
  const fileOf = (name: string): string => join(workFolder, name)
  return {
    rewriter: rewriter ? await cachedRewriter(rewriter, embedding, fileOf('rewritings.jsonl')) : undefined,
    reader: reader ? await cachedReader(reader, embedding, fileOf('readings.jsonl')) : undefined,
  }
}

function comparedCandidate(
  { measured: { questionSet, questions, outcomes }, profile, context }: Evaluation,
  { facets }: Corpus,
  { manifestDigest }: BuiltArtifact,
  versionId: string,
): ComparedCandidate {
  return {
    versionId,
    manifestDigest,
    facets,
    profile,
    questionSet: questionSet ?? undefined,
    evaluated: { questions, outcomes: servedOf(outcomes) },
    limit: EVALUATION_DEPTH,
    context,
  }
}

async function comparisonSettings(context: CandidateContext): Promise<ComparisonSettings> {
  const [imported] = await readImported(context.database, context.source.id, null)
  return {
    gone: imported && importReportSchema.parse(imported.report).gone,
    readActive: () => readActiveVersion(context),
    publicKeysDer: context.publicKeysDer,
    sortFile: join(context.workFolder, `comparison.${context.fence.attempt}.sqlite`),
    changeLimits: (await readStatedPolicy(context.database, context.knowledgeBaseId)).limits,
  }
}

/** @returns the SHA-256 (hex) of the file. */
async function written(store: ArtifactStore, path: string, text: string): Promise<string> {
  await writeDurably(path, text)
  await store.publish(path, { again: true })
  return sha256(text).toString('hex')
}
