import { appendFileSync, existsSync, readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { NO_CHANGES, changesInWords } from '#core/domain/changes.ts'
import { reviewPolicySchema } from '#core/domain/review-policy.ts'
import { statementText } from '#core/domain/review-statements.ts'
import { sha256 } from '#core/platform/digest.ts'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import type { BuildMark } from '#jobs/version-build/run-child.ts'
import type { EvaluationReport } from '#jobs/evaluation/page/evaluation-report.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { changesNamed } from '#test/support/compared-contents.ts'
import { failure, openJobsHarness, type RunOptions } from '#test/support/jobs.ts'
import { evaluationOf, firstRules, importRulebook, rulebook, serve, withChapter, type Rulebook } from './rulebook.ts'
import { startProvider } from '#test/support/embedding-faults.ts'

const BOOK = rulebook(4)
/** Twelve passages fewer. */
const ONE_DOCUMENT = new Map([...BOOK].slice(0, 1))
const ALTERED = withChapter(BOOK, 2, (text) => text.replace('must keep', 'need not keep'))

const harness = await openJobsHarness()

const knowledgeBaseId = await harness.createKnowledgeBase()
/** Build of the active version, which known items evaluated. */
const active = await built(BOOK)
await serve(harness, active)

async function run(
  book: Rulebook,
  parameters: Readonly<Record<string, unknown>> = {},
  options: RunOptions = {},
  base = knowledgeBaseId,
) {
  const importId = await importRulebook(harness, base, book)
  const buildId = await harness.requestBuild(base, importId, parameters)
  return { buildId, outcome: await harness.runBuild(buildId, options) }
}

async function built(...input: Parameters<typeof run>): Promise<string> {
  const { buildId, outcome } = await run(...input)
  expect(outcome).toMatchObject({ outcome: 'succeeded' })
  return buildId
}

const reportOf = (buildId: string): Promise<EvaluationReport> => evaluationOf(harness, buildId)

async function comparisonOf(...input: Parameters<typeof run>) {
  const { comparison } = await reportOf(await built(...input))
  if (comparison?.changes === undefined) throw new Error('the candidate was not compared')
  return { ...comparison, changes: comparison.changes }
}

/** Questions about the first rules of the first chapter. */
const easyQuestions = await harness.storeQuestions(
  Array.from({ length: 4 }, (_, rule) => ({
    id: `q${rule}`,
    text: `Who keeps the register of contract number ${rule} of chapter 0?`,
    relevant: [`chapter-0#rule-0-${rule}`],
  })),
)

/** Serves another version while `task` runs. */
async function whileServing<T>(buildId: string, task: () => Promise<T>): Promise<T> {
  await serve(harness, buildId)
  await using ending = new AsyncDisposableStack()
  ending.defer(async () => void (await serve(harness, active)))
  return await task()
}

describe('a candidate without a question set', () => {
  test('of five passages beside 64 is asked for what the active version holds, and each loss is named', async () => {
    const base = await harness.createKnowledgeBase()
    const large = rulebook(8)
    const served = await built(large, {}, {}, base)
    await serve(harness, served)
    const five = new Map([...large].slice(0, 1).map(([name, text]) => [name, firstRules(text, 5)]))
    const report = await reportOf(await built(five, {}, {}, base))
    const { comparison } = report
    expect(comparison).toMatchObject({
      version_id: versionIdOf(served),
      questions_from: 'known items of the active version',
      worse: true,
      changes: { counts: { documents_removed: 7, passages_removed: 59, passages_changed: 0 } },
    })
    expect(comparison?.changes === undefined ? '' : changesInWords(comparison.changes)).toMatch(
      /^64 → 5 passages, 59 removed, 0 changed/,
    )
    const beyond = report.gates.filter(({ group, passed }) => group === 'changes' && !passed)
    expect(beyond.map(({ label }) => label)).toEqual([
      'documents_removed',
      'provisions_removed',
      'passages_removed',
      'answers_lost',
    ])
  })

  test('with one altered word is no worse, but has one changed passage, whose words the page shows', async () => {
    const buildId = await built(ALTERED)
    const report = await reportOf(buildId)
    expect(report).toMatchObject({
      passed: true,
      comparison: { worse: false, changes: { counts: { passages_changed: 1, passages_removed: 0 } } },
    })
    const page = readFileSync(harness.store.reportFile(versionIdOf(buildId)), 'utf8')
    expect(page).toMatch(/<del>must<\/del>\s*<ins>need not<\/ins> keep/)
    expect(page).toContain('16 → 16 passages, 0 removed, 1 changed')
    const named = changesNamed(harness.store.changesFile(versionIdOf(buildId)))
    expect(named.filter(({ kind }) => kind === 'passages_changed')).toHaveLength(1)
  })

  test('states the SHA-256 of its changes file, which is the same for the same sources', async () => {
    const [first, second] = [await built(ALTERED), await built(ALTERED)]
    const stated = (await reportOf(first)).comparison?.changes?.sha256
    const [one, other] = [first, second].map((id) => readFileSync(harness.store.changesFile(versionIdOf(id))))
    expect(other).toEqual(one)
    expect(stated).toBe(sha256(one ?? '').toString('hex'))
  })

  test('of the same sources as the active version differs in nothing', async () => {
    expect((await comparisonOf(BOOK)).changes).toMatchObject({ counts: NO_CHANGES, sha256: sha256('').toString('hex') })
  })

  test('that leaves out the question set of the active version says so, and is asked that set all the same', async () => {
    const withQuestions = await built(BOOK, { questions_sha256: easyQuestions })
    expect(await whileServing(withQuestions, () => comparisonOf(BOOK))).toMatchObject({
      questions_from: 'question set of the active version',
      questions: 4,
      changes: { counts: { ...NO_CHANGES, questions_changed: 1 } },
    })
  })
})

describe('a candidate with a question set', () => {
  test('that asks only what both versions hold hides no loss, since known items are asked too', async () => {
    expect(await comparisonOf(ONE_DOCUMENT, { questions_sha256: easyQuestions })).toMatchObject({
      worse: true,
      questions_from: 'known items of the active version',
      changes: { counts: { passages_removed: 12 } },
    })
  })
})

describe('a candidate', () => {
  test('of a knowledge base without an active version is compared with nothing', async () => {
    const buildId = await built(ONE_DOCUMENT, {}, {}, await harness.createKnowledgeBase())
    expect((await reportOf(buildId)).comparison).toBeNull()
    expect(existsSync(harness.store.changesFile(versionIdOf(buildId)))).toBe(false)
  })

  test('is compared with the version that became active while it was built', async () => {
    const other = await built(ALTERED)
    let served: Promise<string> | undefined
    const onProgress = ({ stage }: BuildMark): void => void (stage === 'sort' && (served ??= serve(harness, other)))
    const { buildId, outcome } = await run(BOOK, {}, { onProgress })
    await served
    await serve(harness, active)
    expect(outcome).toMatchObject({ outcome: 'succeeded' })
    expect((await reportOf(buildId)).comparison).toMatchObject({
      version_id: versionIdOf(other),
      changes: { counts: { passages_changed: 1 } },
    })
  })
})

test('the limits of the knowledge base are those of its newest review policy', async () => {
  const base = await harness.createKnowledgeBase()
  await serve(harness, await built(BOOK, {}, {}, base))
  const { rows } = await harness.owner.query<{ slug: string }>('select slug from knowledge_bases where id = $1', [base])
  const statement = statementText({
    format: 'evidence review policy 1',
    knowledge_base: { id: base, slug: rows[0]?.slug ?? '' },
    seq: 1,
    previous_sha256: null,
    policy: reviewPolicySchema.parse({ limits: { passages_changed: 1 } }),
  })
  await withoutGuards(
    harness.owner,
    "insert into review_policies (knowledge_base_id, seq, statement, signatures, change) values ($1, 1, $2, '[]', 1)",
    [base, statement],
  )
  const { gates, passed } = await reportOf(await built(ALTERED, {}, {}, base))
  const found = gates.filter(({ group, value }) => group === 'changes' && value !== 0)
  expect(found.map(({ label, bound, passed: within }) => [label, bound, within])).toEqual([
    ['provisions_changed', 0, false],
    ['passages_changed', 1, true],
  ])
  expect(passed).toBe(true)
})

describe('a candidate that cannot be compared fails its build with what to do', () => {
  const passagesOf = (buildId: string): string =>
    join(harness.store.artifactFolder(versionIdOf(buildId)), 'passages.jsonl')

  test.each([
    ['was changed', (path: string) => appendFileSync(path, '\n'), 'passages.jsonl does not have the SHA-256'],
    ['is missing', (path: string) => renameSync(path, `${path}.gone`), 'no readable passages.jsonl'],
  ])('where the artifact of the active version %s', async (_, damage, reason) => {
    const damaged = await built(BOOK)
    damage(passagesOf(damaged))
    const { outcome } = await whileServing(damaged, () => run(BOOK))
    expect(outcome).toMatchObject(failure('permanent', new RegExp(`${reason}.*restore the artifact from a backup`)))
  })

  test('where the manifest of the active version is not the one of the database', async () => {
    const damaged = await built(BOOK)
    await withoutGuards(harness.owner, "update corpus_versions set manifest_digest = sha256('other') where id = $1", [
      versionIdOf(damaged),
    ])
    const { outcome } = await whileServing(damaged, () => run(BOOK))
    expect(outcome).toMatchObject(failure('permanent', 'another digest'))
  })

  test('where a reader orders the active version and none is configured, before the first stage', async () => {
    const reranking = await built(BOOK)
    await withoutGuards(
      harness.owner,
      `update corpus_versions set profile = profile || '{"reranker":{"model":"m","candidates":20}}'
       where id = $1`,
      [versionIdOf(reranking)],
    )
    const stages = new Set<string>()
    const { outcome } = await whileServing(reranking, () =>
      run(BOOK, {}, { onProgress: ({ stage }) => void stages.add(stage) }),
    )
    expect(outcome).toMatchObject(failure('permanent', 'set READER_BASE_URL'))
    expect([...stages]).toEqual([])
  })

  test('where the active version has another embedding space, unless its provider is configured', async () => {
    await using ending = new AsyncDisposableStack()
    const provider = ending.adopt(await startProvider(), (it) => it.stop())
    const environment = { ...harness.environment, OPENAI_BASE_URL: provider.baseUrl, OPENAI_API_KEY: 'key' }
    const remote = await built(BOOK, { embedding: 'openai' }, { environment })
    await whileServing(remote, async () => {
      expect((await run(BOOK)).outcome).toMatchObject(
        failure('permanent', /cannot embed questions into openai\/.*configure that embedding provider/),
      )
      expect(await comparisonOf(BOOK, {}, { environment })).toMatchObject({
        version_id: versionIdOf(remote),
        changes: { counts: { passages_changed: 0 } },
      })
    })
  })

  test('where nothing of the active version is in force today and there is no question set', async () => {
    const withdraw = (text: string): string => text.replace('status: source-declared', 'status: withdrawn')
    const withdrawn = new Map([...BOOK].map(([name, text]) => [name, withdraw(text)]))
    const ended = await built(withdrawn, { questions_sha256: easyQuestions })
    const unset = `update corpus_versions set evaluation = evaluation || '{"question_set":null}' where id = $1`
    await withoutGuards(harness.owner, unset, [versionIdOf(ended)])
    const { outcome } = await whileServing(ended, () => run(BOOK))
    expect(outcome).toMatchObject(failure('permanent', 'build with a question set'))
  })

  test('but is tried again while no search node answers', async () => {
    const environment = { ...harness.environment, SEARCH_NODES: '127.0.0.1:9' }
    const { outcome } = await run(BOOK, {}, { environment })
    expect(outcome).toMatchObject(failure('transient', 'start or repair a search node'))
  })
})
