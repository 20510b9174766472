import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import { startBuild } from '#operator/actions/builds.ts'
import { commandLine, type Cli } from '#test/support/operator-cli.ts'
import {
  finishBuild,
  idsOf,
  importOne,
  jobIn,
  openCorpusHarness,
  rowEventually,
  withId,
} from '#test/support/operator-corpus.ts'
import { until } from '#test/support/until.ts'

const harness = await openCorpusHarness()
const { cli } = harness
const source = await importOne(harness, 'one.md')
const START = `build start --import ${source}`

async function queuedBuild(): Promise<string> {
  const asked = { import: source, embedding: 'none', store: harness.store } as const
  return (await startBuild(harness.operator, asked, () => Promise.resolve())).id
}

/** Changes the row as a job worker would. */
async function change(id: string, values: string): Promise<void> {
  await harness.owner.query(`update builds set ${values} where id = $1`, [id])
}

const shown = async (id: string): Promise<unknown> => await cli.json('build show', id)
const askedSince = async (known: ReadonlySet<string>): Promise<string> => await rowEventually(harness, 'builds', known)

/** `build start --wait`, and the build that it asked for. */
async function followed(...flags: readonly string[]): Promise<ReturnType<Cli['start']> & { readonly id: string }> {
  const known = await idsOf(harness, 'builds')
  const following = cli.start(`${START} --wait`, ...flags)
  return { ...following, id: await askedSince(known) }
}

const expectSaid = (following: ReturnType<Cli['start']>, line: string): Promise<unknown> =>
  until(`"${line}" is said`, (seen) => {
    seen(following.stderr())
    return following.stderr().includes(line)
  })

describe('build start', () => {
  test('makes a row, a job that carries only its id, and captures the question set', async () => {
    const questions = join(harness.folder, 'questions.jsonl')
    writeFileSync(
      questions,
      `${JSON.stringify({ id: 'q1', text: 'What about conduct?', relevant: ['d-one.md#a-1-1'] })}\n`,
    )
    const { id, parameters } = withId
      .extend({ parameters: z.object({ questions_sha256: z.string() }) })
      .parse(await cli.json(START, '--questions', questions))
    expect(await jobIn(harness, 'build', id)).toEqual({ id })
    const bytes = await readFile(questions)
    expect(parameters.questions_sha256).toBe(sha256(bytes).toString('hex'))
    expect(await readFile(harness.store.snapshotFile(parameters.questions_sha256))).toEqual(bytes)
    expect(await shown(id)).toMatchObject({ state: 'queued', knowledge_base: 'rules', version_id: null })
  })

  test('captures search questions, or leaves them to a model', async () => {
    const path = join(harness.folder, 'asked.jsonl')
    writeFileSync(path, `${JSON.stringify({ id: 'd-one.md#a-1-1', lang: 'en', q: 'May I keep bees?' })}\n`)
    const { parameters } = z
      .object({ parameters: z.object({ search_questions_sha256: z.string() }) })
      .parse(await cli.json(START, '--search-questions', path))
    const captured = harness.store.snapshotFile(parameters.search_questions_sha256)
    expect(await readFile(captured)).toEqual(await readFile(path))
    expect(await cli.json(`${START} --search-questions openai --chat-model writer`)).toMatchObject({
      parameters: { search_questions: 'openai', endpoint: { chat_model: 'writer' } },
    })
    expect(await cli.refused(`${START} --search-questions openai`)).toContain('name it with --chat-model')
  })

  test('puts target risk, embedding, reader and use of the endpoint into the parameters of the build', async () => {
    const parametersOf = async (flags: string, ...further: readonly string[]): Promise<unknown> =>
      z.object({ parameters: z.unknown() }).parse(await cli.json(`${START} ${flags}`, ...further)).parameters
    const [target_risk, withdrawals] = [0.05, { drop: [], restore: [] }]
    expect(await parametersOf('')).toEqual({ embedding: 'none', target_risk, withdrawals })
    const chat = { model: 'judge-1', kind: 'chat', scores: 'decide', passages: 5, on_failure: 'refuse' }
    expect(await parametersOf('--target-risk 0.1 --reader judge-1')).toEqual({
      embedding: 'none',
      target_risk: 0.1,
      reader: chat,
      withdrawals,
    })
    const cross = '--reader judge-1 --reader-kind cross-encoder --reader-scores both'
    const both = { ...chat, kind: 'cross-encoder', scores: 'both' }
    expect(await parametersOf(cross)).toMatchObject({ reader: { ...both, passages: 20 } })
    expect(await parametersOf(`${cross} --reader-passages 7`)).toMatchObject({ reader: { ...both, passages: 7 } })
    const model =
      '--embedding openai --embedding-model e5 --embedding-batch 8 --embedding-concurrency 2 --retry-seconds 60'
    const prefixes = ['--embedding-query-prefix', '', '--embedding-passage-prefix', 'tell: ']
    expect(await parametersOf(model, ...prefixes)).toMatchObject({
      embedding: 'openai',
      endpoint: {
        model: 'e5',
        query_prefix: '',
        passage_prefix: 'tell: ',
        batch_texts: 8,
        concurrency: 2,
        retry_ms: 60_000,
      },
    })
  })

  test('refuses what is out of range, a faulty file by its line, and Redis away, before anything is asked', async () => {
    const before = await idsOf(harness, 'builds')
    for (const flag of [
      '--embedding words',
      '--target-risk 0',
      '--target-risk 1',
      '--reader-kind reranker',
      '--reader-scores rank',
      '--reader-passages 1',
      '--reader-passages 51',
      '--embedding-model e5\u001b[2J',
      '--embedding-dimensions 7',
      '--retry-seconds 59',
    ]) {
      const { code, stderr } = await cli.run(`${START} ${flag}`)
      expect({ flag, code }).toEqual({ flag, code: 2 })
      expect(stderr).toContain(flag.split(' ')[0])
    }
    expect(await cli.refused(`${START} --embedding-model e5`)).toContain('add --embedding openai')
    const order = '--reader judge-1 --reader-scores order --reader-failure decide_without'
    expect(await cli.refused(`${START} ${order}`)).toContain('needs --reader-scores decide')
    const faulty = join(harness.folder, 'faulty.jsonl')
    writeFileSync(faulty, `${JSON.stringify({ id: 'q1', text: 'x', relevant: ['a'] })}\n{"id":`)
    expect(await cli.refused(START, '--questions', faulty)).toBe(
      'Line 2 of the question set is not JSON: correct it and build again.\n',
    )
    const twice = JSON.stringify({ id: 'd-one.md#a-1-1', lang: 'en', q: 'May I keep bees?' })
    writeFileSync(faulty, `${twice}\n${twice}\n`)
    expect(await cli.refused(START, '--search-questions', faulty)).toContain('faulty.jsonl, line 2, repeats a question')
    expect(await commandLine({ ...harness.environment, REDIS_URL: 'redis://127.0.0.1:1' }).refused(START)).toBe(
      'Redis does not answer: check that it runs and that REDIS_URL names its host, port and password.\n',
    )
    expect(await idsOf(harness, 'builds')).toEqual(before)
  })
})

describe('build show', () => {
  test('shows why the last run ended and when the next begins, and so does the list', async () => {
    const id = await queuedBuild()
    const error = 'its process ended with SIGTERM'
    const status = `attempt again at 2030-01-02T03:04:05Z, because ${error}`
    await change(id, `state = 'retrying', error = '${error}', next_attempt_at = '2030-01-02T03:04:05Z'`)
    const next_attempt_at = '2030-01-02T03:04:05.000Z'
    expect(await shown(id)).toMatchObject({ state: 'retrying', error, next_attempt_at, status })
    expect((await cli.run('build list')).stdout).toContain(status)
  })

  test('shows a run with the age of its last heartbeat, a lost one with its time', async () => {
    const id = await queuedBuild()
    await change(id, "state = 'running', updated_at = now()")
    expect(await shown(id)).toMatchObject({ status: expect.stringMatching(/^running, last heartbeat \d+ s ago$/) })
    await change(id, "updated_at = '2026-01-02T03:04:05Z'")
    expect(await shown(id)).toMatchObject({
      status: 'no heartbeat since 2026-01-02T03:04:05Z; a job worker that runs takes the build over',
    })
  })

  test('counts what was embedded, and warns of passages that are probably too long for the model', async () => {
    const id = await queuedBuild()
    const counts = { passages: 1_600, sent: 1_200, tokens: 310_000, overlong: 12, seconds_left: null }
    await change(id, `state = 'succeeded', embedding = '${JSON.stringify(counts)}'`)
    expect(await shown(id)).toMatchObject({
      embedding: '1,200 texts sent, 310,000 tokens, 400 vectors from the cache',
      warning: expect.stringMatching(/^12 of 1,600 passages are probably longer than the embedding model reads/),
    })
  })
})

describe('build start --wait', () => {
  test('follows the stages, the reasons of retries and the time left on standard error, to the candidate', async () => {
    const following = await followed('--json')
    const { id } = following
    await change(id, "state = 'retrying', error = 'it was ended', next_attempt_at = '2030-01-02T03:04:05Z'")
    await expectSaid(following, 'attempt again at 2030-01-02T03:04:05Z, because it was ended …\n')
    const counts = { passages: 1_600, sent: 1_200, tokens: 310_000, overlong: 12, seconds_left: 180 }
    const row = `stage = 'embed', done = 1600, total = 3200, embedding = '${JSON.stringify(counts)}'`
    await change(id, `state = 'running', next_attempt_at = null, updated_at = now(), ${row}`)
    const sent = '1,200 texts sent, 310,000 tokens, 400 vectors from the cache'
    await expectSaid(following, `embed: 1600 of 3200 (50 %), ${sent}, about 3 min left\n`)
    const version = await finishBuild(harness, id, true)
    const { code, stdout, stderr } = await following.ended
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ id, state: 'succeeded', version_id: version, passed: true })
  })

  test('ends with 1 and the reason when the build fails', async () => {
    const known = await idsOf(harness, 'builds')
    const following = cli.refused(`${START} --wait`)
    await change(await askedSince(known), "state = 'failed', error = 'the provider refused the key'")
    expect(await following).toMatch(/The build failed: the provider refused the key\n$/)
  })

  test('says when it is interrupted that the build goes on, and where it is seen', async () => {
    const following = await followed()
    await expectSaid(following, 'queued')
    following.signal('SIGINT')
    const { code, stderr } = await following.ended
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`see "operator build show ${following.id}"`),
    })
    expect(await shown(following.id)).toMatchObject({ state: 'queued' })
  })

  test('ends with 1 and one sentence, after the result, for a candidate that did not pass', async () => {
    const known = await idsOf(harness, 'builds')
    const following = cli.run(`${START} --wait --json`)
    const version = await finishBuild(harness, await askedSince(known), false)
    const { code, stdout, stderr } = await following
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ state: 'succeeded', version_id: version, passed: false })
    expect(stderr).toMatch(/The candidate did not pass its evaluation, so it cannot be activated: see [^\n]*\n$/)
  })
})

async function audited(action: string, id: string): Promise<unknown> {
  const sql = 'select actor, detail from audit where action = $1 and subject = $2'
  return (await harness.owner.query(sql, [action, `build:${id}`])).rows
}

test.each([
  ['queued', "state = 'queued'"],
  ['running', "state = 'running', stage = 'embed'"],
  ['retrying', "state = 'retrying', next_attempt_at = now()"],
])('build cancel ends a build that is %s, and audits who asked', async (state, set) => {
  const id = await queuedBuild()
  await change(id, set)
  expect(await cli.json('build cancel', id, '--actor', 'first')).toEqual({ id })
  expect(await shown(id)).toMatchObject({ state: 'failed', error: 'it was cancelled by first' })
  expect(await audited('build.cancel', id)).toMatchObject([{ actor: 'first', detail: { state } }])
  expect(await cli.refused('build cancel', id)).toMatch(/^The build has ended: there is nothing to cancel/)
})

describe('build retry', () => {
  test('queues a failed build again under its id, with all its attempts, and audits who asked', async () => {
    const id = await queuedBuild()
    const counted = 'failed_runs = 2, out_of_memory_runs = 2, lost_runs = 1'
    await change(id, `state = 'failed', error = 'no memory', attempt = 2, ${counted}`)
    expect(await cli.json('build retry', id, '--actor', 'first')).toEqual({ id })
    expect(await shown(id)).toMatchObject({ state: 'queued', attempt: 2 })
    expect(await audited('build.retry', id)).toEqual([{ actor: 'first', detail: { failed_with: 'no memory' } }])
    const { rows } = await harness.owner.query(
      'select failed_runs, out_of_memory_runs, lost_runs from builds where id = $1',
      [id],
    )
    expect(rows).toEqual([{ failed_runs: 0, out_of_memory_runs: 0, lost_runs: 0 }])
    expect(await jobIn(harness, 'build', id)).toEqual({ id })
  })

  test('is refused for a build that did not fail, and for one whose files may be gone', async () => {
    const id = await queuedBuild()
    expect(await cli.refused('build retry', id)).toMatch(/^The build is queued, not failed: there is nothing to retry/)
    await change(id, "state = 'failed', updated_at = now() - interval '25 hours'")
    expect(await cli.refused('build retry', id)).toMatch(
      /^The build failed more than a day ago, .*"operator build start --import /,
    )
    expect(await jobIn(harness, 'build', id)).toBeUndefined()
  })

  test('is the only way: the operator can neither write the state of a build nor retry its job', async () => {
    const id = await queuedBuild()
    const forbidden = harness.operator.database.query("update builds set state = 'succeeded' where id = $1", [id])
    await expect(forbidden).rejects.toThrow('permission denied')
    expect(await cli.refused('jobs retry build', id)).toContain('operator build retry')
    expect(await cli.refused('jobs retry activate', id)).toContain('operator activate')
  })
})
