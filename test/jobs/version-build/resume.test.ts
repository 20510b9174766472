import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { digestFile } from '#core/platform/hashed-file.ts'
import { MANIFEST_FILE, filesOf, manifestSchema } from '#core/index/format/manifest.ts'
import { readBuild } from '#core/db/builds.ts'
import { BUILD_STAGES, type BuildStage } from '#jobs/version-build/progress.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { evaluationReportSchema } from '#jobs/evaluation/page/evaluation-report.ts'
import { startEmbeddingEndpoint, vectorsByWords } from '#test/support/embedding-endpoint.ts'
import { demoCorpus, failure, openJobsHarness, type JobsHarness } from '#test/support/jobs.ts'
import { startFakeNode } from '#test/support/search-node.ts'
import { importRulebook } from './rulebook.ts'

const harness = await openJobsHarness()

const endpoint = await startEmbeddingEndpoint(vectorsByWords())
const knowledgeBaseId = await harness.createKnowledgeBase()
const importId = await harness.importFolder(knowledgeBaseId, join(demoCorpus, 'rulebook'))
const withVectors = { embedding: 'openai', questions_sha256: await harness.storeQuestions(fewQuestions()) }
const undisturbed = await harness.requestBuild(knowledgeBaseId, importId, withVectors)
expect(await runProcess(undisturbed)).toMatchObject({ outcome: 'succeeded' })
afterAll(() => endpoint.stop())

/** A fifth of the questions of the demo corpus, which are enough to pass its gates. */
function fewQuestions(): readonly unknown[] {
  const lines = readFileSync(join(demoCorpus, 'questions.jsonl'), 'utf8').trim().split('\n')
  return lines.filter((_, at) => at % 5 === 0).map((line): unknown => JSON.parse(line))
}

/** Name and text of a document of the demo corpus. */
function ofDemo(name: string): readonly [string, string] {
  return [name, readFileSync(join(demoCorpus, 'rulebook', name), 'utf8')]
}

/** A run that is killed before the last stage waits in its evaluation, so that it does not end before. */
async function runProcess(buildId: string, killAt?: BuildStage): ReturnType<JobsHarness['runBuildProcess']> {
  const stuck = await startFakeNode(() => undefined)
  const isHeld = killAt !== undefined && killAt !== 'candidate'
  let isKilled = false
  const ended = harness.runBuildProcess(buildId, {
    environment: {
      ...harness.environment,
      OPENAI_BASE_URL: endpoint.baseUrl,
      ...(isHeld ? { SEARCH_NODES: stuck.address } : {}),
    },
    onProgress: ({ stage }, pid) => {
      if (stage !== killAt || isKilled) return
      isKilled = true
      process.kill(pid, 'SIGKILL')
    },
  })
  return await ended.finally(() => stuck.stop())
}

/** Everything the database shows of a build's version. */
async function visible(buildId: string): Promise<{ versions: number; state: string }> {
  const { rows } = await harness.owner.query<{ versions: number; state: string }>(
    `select count(v.id)::int as versions, b.state from builds b left join corpus_versions v on v.build_id = b.id
     where b.id = $1 group by b.state`,
    [buildId],
  )
  return rows[0] ?? { versions: 0, state: 'unknown' }
}

/**
 * What a build makes: every file of the artifact, the statistics of its cosines, the version's row, and the profile
 * with all that was fitted; but for the version's id and how long its searches took.
 */
async function contentOf(buildId: string): Promise<unknown> {
  const folder = harness.store.artifactFolder(versionIdOf(buildId))
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(join(folder, MANIFEST_FILE), 'utf8')))
  const files = await Promise.all(filesOf(manifest).map(({ name }) => digestFile(join(folder, name))))
  const { cosines } = manifest
  expect(cosines).toBeDefined()
  const { rows } = await harness.owner.query(
    `select state, passages, documents, facets,
       evaluation - '{version_id,latency_ms,latency_ms_by_system}'::text[] as evaluation, passed, profile
     from corpus_versions where id = $1`,
    [versionIdOf(buildId)],
  )
  expect(rows).toHaveLength(1)
  return { files, cosines, rows }
}

describe('a build', () => {
  test('that is killed at every stage resumes, shows nothing meanwhile and ends with the same version', async () => {
    const buildId = await harness.requestBuild(knowledgeBaseId, importId, withVectors)
    const killed: string[] = []
    for (const stage of BUILD_STAGES) {
      if ((await runProcess(buildId, stage)).outcome === 'died') killed.push(stage)
      const shown = await visible(buildId)
      expect(shown).toEqual(
        shown.state === 'succeeded' ? { versions: 1, state: 'succeeded' } : { versions: 0, state: 'queued' },
      )
    }
    // The last stage is one transaction: the kill comes before it or after it.
    expect(killed).toEqual(expect.arrayContaining(BUILD_STAGES.filter((stage) => stage !== 'candidate')))
    await runProcess(buildId)
    expect(await visible(buildId)).toEqual({ versions: 1, state: 'succeeded' })
    expect(await contentOf(buildId)).toEqual(await contentOf(undisturbed))
    const { rows } = await harness.owner.query(
      'select count(*)::int as revisions from revisions r join documents d on d.id = r.document_id ' +
        'where d.knowledge_base_id = $1',
      [knowledgeBaseId],
    )
    expect(rows).toEqual([{ revisions: 15 }])
  })

  test('makes another revision of a corrected text and keeps everything else', async () => {
    const book = ['hsfa-data-harbour.2023-05-01.md', 'hsfa-outsourcing-mainland.2024-10-01.md'].map(ofDemo)
    const base = await harness.createKnowledgeBase()
    const before = await harness.candidate(base, await importRulebook(harness, base, new Map(book)))
    const changed = book.map(([name, text]) => [name, text.replace('1,200 crowns', '1,300 crowns')] as const)
    const after = await harness.candidate(base, await importRulebook(harness, base, new Map(changed)))
    const [old, corrected] = [passagesOf(before), passagesOf(after)]
    const unchanged = corrected.filter((passage) => old.some((other) => other.chunk_id === passage.chunk_id))
    expect(corrected.length - unchanged.length).toBe(1)
    const revisions = (passages: readonly StoredPassage[]): readonly string[] => [
      ...new Set(passages.map((passage) => passage.document.revision_id)),
    ]
    expect(revisions(corrected).filter((id) => !revisions(old).includes(id))).toHaveLength(1)
  })

  test(
    'leaves no work folder behind, and for the reviewer the evaluation as a page and as the JSON that ' +
      'is stored with the version',
    async () => {
      expect(existsSync(harness.store.workFolder(undisturbed))).toBe(false)
      const versionId = versionIdOf(undisturbed)
      expect(readFileSync(harness.store.reportFile(versionId), 'utf8')).toContain('recall@5, hybrid')
      const { rows } = await harness.owner.query<{ evaluation: unknown }>(
        'select evaluation from corpus_versions where id = $1',
        [versionId],
      )
      const report = evaluationReportSchema.parse(
        JSON.parse(readFileSync(harness.store.figuresFile(versionId), 'utf8')),
      )
      expect(evaluationReportSchema.parse(rows[0]?.evaluation)).toEqual(report)
      expect(report).toMatchObject({
        kind: 'question set',
        version_id: versionId,
        question_set: withVectors.questions_sha256,
        comparison: null,
        passed: true,
      })
      expect(report.gates.every(({ passed }) => passed)).toBe(true)
    },
  )

  test('that another run took over stops itself and shows nothing', async () => {
    const buildId = await harness.requestBuild(knowledgeBaseId, importId)
    const outcome = await harness.runBuild(buildId, {
      onProgress: ({ stage }) => {
        if (stage === 'import')
          void harness.owner.query('update builds set attempt = attempt + 1 where id = $1', [buildId])
      },
    })
    expect(outcome).toEqual({ outcome: 'overtaken' })
    expect(await visible(buildId)).toMatchObject({ versions: 0, state: 'running' })
  })

  test('that is finished is not run again', async () => {
    const before = await readBuild(harness.owner, undisturbed)
    expect(await harness.runBuild(undisturbed)).toEqual({ outcome: 'not begun' })
    expect(await readBuild(harness.owner, undisturbed)).toEqual(before)
  })

  test('refuses a snapshot that was changed after its capture', async () => {
    const [name, text] = ofDemo('hsfa-data-harbour.2023-05-01.md')
    const own = new Map([[name, text.replace('Data Registrar', 'Registrar')]])
    const base = await harness.createKnowledgeBase()
    const buildId = await harness.requestBuild(base, await importRulebook(harness, base, own))
    const { rows } = await harness.owner.query<{ sha256: string }>(
      "select encode(sha256, 'hex') as sha256 from source_snapshots where knowledge_base_id = $1",
      [base],
    )
    appendFileSync(harness.store.snapshotFile(rows[0]?.sha256 ?? ''), '\nadded later')
    expect(await harness.runBuild(buildId)).toMatchObject(
      failure('permanent', 'was changed after it was captured: import the source again'),
    )
  })

  test('whose question set cannot be met ends as a candidate that did not pass', async () => {
    const relevant = ['hsfa-conduct-harbour#cob-f-1-1', 'nowhere#1']
    const asked = [{ id: 'q1', text: 'How long is a charge card valid?', relevant }]
    const buildId = await harness.candidate(knowledgeBaseId, importId, {
      questions_sha256: await harness.storeQuestions(asked),
    })
    const { rows } = await harness.owner.query<{ evaluation: unknown }>(
      'select state, passed, evaluation from corpus_versions where build_id = $1',
      [buildId],
    )
    expect(rows).toMatchObject([
      { state: 'candidate', passed: false, evaluation: { unknown_relevant: ['nowhere#1'], unknown_relevant_total: 1 } },
    ])
    const report = evaluationReportSchema.parse(rows[0]?.evaluation)
    expect(report.systems.lexical?.['recall@5']).toBe(0)
    expect(report.gates.filter(({ passed }) => !passed).map(({ group }) => group)).toEqual(['ranking'])
  })
})

const storedPassageSchema = z.object({ chunk_id: z.string(), document: z.object({ revision_id: z.string() }) })
type StoredPassage = z.infer<typeof storedPassageSchema>

function passagesOf(buildId: string): readonly StoredPassage[] {
  const lines = readFileSync(join(harness.store.artifactFolder(versionIdOf(buildId)), 'passages.jsonl'), 'utf8')
    .trimEnd()
    .split('\n')
  return lines.map((line) => storedPassageSchema.parse(JSON.parse(line)))
}
