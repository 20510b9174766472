import { copyFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { versionIdOf } from '#jobs/version-build/ids.ts'
import { changesNamed } from '#test/support/compared-contents.ts'
import { failure, openJobsHarness } from '#test/support/jobs.ts'
import { until } from '#test/support/until.ts'
import { evaluationOf, importRulebook, rulebook, serve, withChapter, type Rulebook } from './rulebook.ts'

/** Ways in which an editor has other law served, and what the comparison names. */

/** Four rulebooks, each of which is an act with a name. The second has another name. */
const BOOK = acts([1])
/** The answers to questions that cite its rules, of the second one by its other name. */
const QUESTIONS = Array.from({ length: 16 }, (_, at) => [Math.floor(at / 4), at % 4] as const).map(
  ([chapter, rule]) => ({
    id: `q${chapter}.${rule}`,
    text: `What does ${chapter === 1 ? 'GUILD' : `CH-${chapter}`} ${chapter}.${rule} say?`,
    relevant: [`chapter-${chapter}#rule-${chapter}-${rule}`],
  }),
)

const harness = await openJobsHarness()

const knowledgeBaseId = await harness.createKnowledgeBase()
/** The active version. */
const { buildId: active, outcome: built } = await run(BOOK)
expect(built).toMatchObject({ outcome: 'succeeded' })
await serve(harness, active)

/** @param guilds the rulebooks that are also named `GUILD`. */
function acts(guilds: readonly number[]): Rulebook {
  const front = (at: number): string =>
    `act: rulebook:ch-${at}\naliases: ${guilds.includes(at) ? `[CH-${at}, GUILD]` : `CH-${at}`}\ncitation_prefix: CH-${at}\n`
  const cited = (text: string, at: number): string => text.replaceAll('### ', `### CH-${at} `)
  return new Map(
    [...rulebook(4)].map(([name, text], at) => [name, cited(text, at).replace('---\n', `---\n${front(at)}`)]),
  )
}

async function run(book: Rulebook, questions: readonly object[] = QUESTIONS) {
  const importId = await importRulebook(harness, knowledgeBaseId, book)
  const questionsSha256 = await harness.storeQuestions(questions)
  const buildId = await harness.requestBuild(knowledgeBaseId, importId, { questions_sha256: questionsSha256 })
  return { buildId, outcome: await harness.runBuild(buildId) }
}

async function found(...input: Parameters<typeof run>) {
  const { buildId, outcome } = await run(...input)
  expect(outcome).toMatchObject({ outcome: 'succeeded' })
  const counts = (await evaluationOf(harness, buildId)).comparison?.changes?.counts
  if (counts === undefined) throw new Error('the candidate was not compared')
  return { counts, named: changesNamed(harness.store.changesFile(versionIdOf(buildId))) }
}

/** Questions of the active set whose answers were lost or became wrong. */
const ofActiveSet = ({ named }: Awaited<ReturnType<typeof found>>): readonly string[] =>
  named.flatMap((change) =>
    'from' in change && change.from === 'question set of the active version' ? [change.question] : [],
  )

describe('a question set of the candidate', () => {
  test('of the questions that it still answers does not hide those that it lost', async () => {
    const without = withChapter(BOOK, 2, (text) => text.replace(/### CH-2 2\.3[^]*$/, ''))
    const compared = await found(without, QUESTIONS.slice(0, 8))
    expect(ofActiveSet(compared)).toEqual(['q2.3'])
    expect(compared.counts).toMatchObject({ questions_changed: 8, passages_removed: 1 })
  })

  test('is refused where a question counts as answerable and the version holds nothing of it', async () => {
    const padding = { id: 'padding 1', text: 'How many wheels has a dulfenwright?', relevant: ['nowhere#1'] }
    expect((await run(BOOK, [...QUESTIONS, padding])).outcome).toMatchObject(
      failure('permanent', 'The version holds no relevant passage of 1 question: "padding 1"'),
    )
  })

  test.each([
    [true, []],
    [false, ['chapter-0#rule-0-0']],
  ])('is refused where a question states answerable %s and names %j', async (answerable, relevant) => {
    const padding = { id: 'padding 1', text: 'How many wheels has a dulfenwright?', relevant, answerable }
    expect((await run(BOOK, [...QUESTIONS, padding])).outcome).toMatchObject(
      failure('permanent', 'The question set contradicts itself: 1 question: "padding 1"'),
    )
  })
})

test('a name that leads to another act is a change, and so is each answer that follows from it', async () => {
  const compared = await found(acts([0]))
  expect(compared.counts).toMatchObject({ aliases_changed: 1, passages_changed: 0 })
  expect(ofActiveSet(compared)).toEqual(['q1.0', 'q1.1', 'q1.2', 'q1.3'])
  expect(compared.named).toContainEqual({
    kind: 'aliases_changed',
    name: 'GUILD',
    before: 'rulebook:ch-1',
    after: 'rulebook:ch-0',
  })
})

test('a name that two acts claim refuses the build', async () => {
  expect((await run(acts([0, 1]))).outcome).toMatchObject(failure('permanent', 'give the name "GUILD" to two acts'))
})

describe('a file that is added', () => {
  const copied = (change: (text: string) => string): Rulebook => {
    const copy = ([...BOOK.values()][2] ?? '').replace('document: chapter-2', 'document: guild')
    return new Map([...BOOK, ['copy.md', change(copy)]])
  }

  test('with the rules of another document repeats them, also where their texts are equal', async () => {
    const { counts, named } = await found(copied((text) => text))
    expect(counts).toMatchObject({ passages_repeated: 4, passages_added: 0, documents_added: 1 })
    expect(named.filter(({ kind }) => kind === 'passages_repeated')).toHaveLength(4)
  })

  test.each([
    ['under another key', (text: string) => text],
    ['with its key in capitals', (text: string) => text.replace('document: guild', 'document: CHAPTER-2')],
    [
      'under the language of a region',
      (text: string) =>
        text.replace('document: guild', 'document: chapter-2').replace('language: en', 'language: en-GB'),
    ],
  ])('with other texts under the names of these rules, %s, refuses the build', async (_, change) => {
    const { outcome } = await run(copied((text) => change(text).replaceAll('must keep', 'need not keep')))
    expect(outcome).toMatchObject(failure('permanent', 'but different texts'))
  })

  test('needs an acceptance beyond a tenth of the active version', async () => {
    const more = new Map([...BOOK, ['more.md', [...rulebook(5).values()][4] ?? '']])
    const { buildId } = await run(more)
    const beyond = (await evaluationOf(harness, buildId)).gates.filter(
      ({ group, passed }) => group === 'changes' && !passed,
    )
    expect(beyond.map(({ label, value, bound }) => [label, value, bound])).toEqual([['passages_added', 5, 2]])
  })
})

test('a build fails where somebody puts the passages of the active version in the place of its own', async () => {
  const names = ['passages.jsonl', 'passages.offsets']
  const from = harness.store.artifactFolder(versionIdOf(active))
  using ending = new DisposableStack()
  const client = ending.adopt(await harness.owner.connect(), (it) => it.release())
  let hidden: Promise<unknown> | undefined
  // The comparison waits for the row of the active version, so the files are in place before it begins.
  async function hide(to: string): Promise<void> {
    await client.query('begin; lock table active_versions in access exclusive mode')
    await until('the comparison waits', async (seen) => {
      const { rows } = await harness.owner.query<{ waiting: number }>(
        "select count(*)::int as waiting from pg_locks where relation = 'active_versions'::regclass and not granted " +
          // Tables have the same number in every copy of the template.
          'and database = (select oid from pg_database where datname = current_database())',
      )
      seen(rows)
      return rows[0]?.waiting === 1
    })
    for (const name of names) {
      copyFileSync(join(from, name), join(to, `${name}.copy`))
      renameSync(join(to, `${name}.copy`), join(to, name))
    }
    await client.query('commit')
  }
  const importId = await importRulebook(
    harness,
    knowledgeBaseId,
    withChapter(BOOK, 2, (text) => text.replace('must keep', 'need not keep')),
  )
  const buildId = await harness.requestBuild(knowledgeBaseId, importId)
  const to = harness.store.artifactFolder(versionIdOf(buildId))
  const outcome = await harness.runBuild(buildId, {
    onProgress: ({ stage }) => void (stage === 'artifact' && (hidden ??= hide(to))),
  })
  await hidden
  const altered = /^The artifact .* of the candidate was altered after it was built/
  expect(outcome).toMatchObject(failure('permanent', altered))
})

test('an altered copy of a provision beside the original refuses the build', async () => {
  const copied = withChapter(BOOK, 2, (text) => {
    const original = /^### CH-2 2\.1 .*\n\n.*\n/m.exec(text)?.[0] ?? ''
    return `${text}\n${original.replace('{#rule-2-1}', '{#rule-2-1-x}').replace('must keep', 'need not keep')}`
  })
  expect((await run(copied)).outcome).toMatchObject(failure('permanent', 'but different texts'))
})
