import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { createArtifactStore } from '#core/index/format/store.ts'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import { storeUrl } from '#operator/demo/local/stack.ts'
import { startBuild } from '#operator/actions/builds.ts'
import { importCorpus } from '#operator/actions/import-corpus.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { enqueueBuild } from '#jobs/platform/queues.ts'
import { listReviewers } from '#core/db/reviewers.ts'
import { readSigningKey } from '#operator/actions/reviewers.ts'
import { buildNamed } from '#operator/actions/names.ts'
import { insertSignedReview, makeComparable, type TestReviewer } from '#test/support/reviews.ts'
import { KNOWLEDGE_BASE, type TestService } from '#test/support/service.ts'
import { reviewerKeyFile } from '#test/support/installation.ts'
import { until } from '#test/support/until.ts'

export interface Change {
  /** A file of the demo rulebook. */
  readonly file: string
  readonly from: string
  readonly to: string
}

/**
 * Imports a copy of the demo rulebook with one change, builds it `candidates` times side by side, and approves each.
 * @returns the candidates.
 */
export async function approvedCandidates(
  service: TestService,
  change: Change,
  candidates: number,
): Promise<readonly string[]> {
  const { operator, settings } = service
  const store = createArtifactStore(storeUrl(settings))
  const corpus = builtInCorpus()
  const folder = mkdtempSync(join(tmpdir(), 'evidence-rulebook-'))
  using ending = new DisposableStack()
  ending.defer(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(corpus.source, folder, { recursive: true })
  const path = join(folder, change.file)
  const before = readFileSync(path, 'utf8')
  if (!before.includes(change.from)) throw new Error(`${change.file} holds no "${change.from}"`)
  writeFileSync(path, before.replace(change.from, change.to))
  const imported = await importCorpus(operator, { knowledgeBase: KNOWLEDGE_BASE, source: folder, store })
  return await withQueues(settings.redisUrl, (open) =>
    Promise.all(
      Array.from({ length: candidates }, async () => {
        const started = await startBuild(
          operator,
          { import: imported.id, questions: corpus.questionsFile, embedding: 'openai', store },
          (id) => enqueueBuild(open('build'), id),
        )
        const version = await builtVersion(service, started.id)
        await makeComparable(service.owner, version, { store })
        await insertSignedReview(service.owner, version, { reviewer: await reviewerOf(service) })
        return version
      }),
    ),
  )
}

/** The reviewer whose key the service was published with. */
async function reviewerOf({ owner, settings }: TestService): Promise<TestReviewer> {
  const key = await readSigningKey(reviewerKeyFile(settings))
  const row = (await listReviewers(owner, 100)).find(({ public_key: known }) => known.equals(key.publicKeyDer))
  if (row === undefined) throw new Error('the service has no reviewer')
  return { id: row.id, name: row.name, key }
}

/** Waits for a build, whose stages and steps are its progress. @returns its version. */
async function builtVersion({ operator, jobs }: TestService, buildId: string): Promise<string> {
  return until(
    'the build succeeds',
    async (seen) => {
      const { state, stage, done, error, version_id } = await buildNamed(operator.database, buildId)
      seen([state, stage, done])
      if (state === 'failed') throw new Error(`the build failed: ${error}`)
      return state === 'succeeded' && z.string().parse(version_id)
    },
    { processes: [jobs] },
  )
}

/** The passages of a version by chunk id, as its artifact holds them. */
export function passagesOf(service: TestService, versionId: string): ReadonlyMap<string, string> {
  const folder = createArtifactStore(storeUrl(service.settings)).artifactFolder(versionId)
  const lines = readFileSync(join(folder, 'passages.jsonl'), 'utf8').trimEnd().split('\n')
  const passage = z.object({ chunk_id: z.string(), text: z.string() })
  return new Map(lines.map((line) => passage.parse(JSON.parse(line))).map(({ chunk_id, text }) => [chunk_id, text]))
}
