import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { sha256 } from '#core/platform/digest.ts'
import {
  finishBuild,
  idsOf,
  importOne,
  jobIn,
  openCorpusHarness,
  rowEventually,
  withId,
} from '#test/support/operator-corpus.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import { until } from '#test/support/until.ts'

const harness = await openCorpusHarness()
afterAll(() => harness.close())

describe('build', () => {
  test('a started build is a row, a job that carries only its id, and a captured question set', async () => {
    const questions = join(harness.folder, 'questions.jsonl')
    writeFileSync(
      questions,
      `${JSON.stringify({ id: 'q1', text: 'What about conduct?', relevant: ['d-one.md#a-1-1'] })}\n`,
    )
    const started = withId
      .extend({ parameters: z.object({ questions_sha256: z.string() }) })
      .parse(
        await harness.cli.json(
          'build',
          'start',
          '--import',
          await importOne(harness, 'one.md'),
          '--questions',
          questions,
        ),
      )
    expect(await jobIn(harness, 'build', started.id)).toEqual({ id: started.id })
    expect(started.parameters.questions_sha256).toBe(sha256(await readFile(questions)).toString('hex'))
    expect(await readFile(harness.store.snapshotFile(started.parameters.questions_sha256))).toEqual(
      await readFile(questions),
    )
    expect(await harness.cli.json('build', 'show', started.id)).toMatchObject({
      state: 'queued',
      knowledge_base: 'rules',
      version_id: null,
    })
  })

  test('search questions are captured, and refused by their line, before anything is asked', async () => {
    const path = join(harness.folder, 'asked.jsonl')
    const line = JSON.stringify({ id: 'd-one.md#a-1-1', lang: 'en', q: 'May I keep bees?' })
    writeFileSync(path, `${line}\n`)
    const start = ['build', 'start', '--import', await importOne(harness, 'one.md'), '--search-questions', path]
    const started = withId
      .extend({ parameters: z.object({ search_questions_sha256: z.string() }) })
      .parse(await harness.cli.json(...start))
    const { search_questions_sha256: captured } = started.parameters
    expect(await readFile(harness.store.snapshotFile(captured))).toEqual(await readFile(path))
    writeFileSync(path, `${line}\n${line}\n`)
    const before = await idsOf(harness, 'builds')
    const { code, stderr } = await harness.cli.run(...start)
    expect([code, stderr]).toEqual([1, expect.stringContaining('asked.jsonl, line 2, repeats a question')])
    expect(await idsOf(harness, 'builds')).toEqual(before)
  })

  test('search questions may be left to a model', async () => {
    const start = ['build', 'start', '--import', await importOne(harness, 'one.md'), '--search-questions', 'openai']
    expect(await harness.cli.json(...start, '--chat-model', 'writer')).toMatchObject({
      parameters: { search_questions: 'openai', endpoint: { chat_model: 'writer' } },
    })
    expect((await harness.cli.run(...start)).stderr).toContain('name it with --chat-model')
  })

  test('a question set with a fault is refused by its line, before anything is asked', async () => {
    const questions = join(harness.folder, 'faulty.jsonl')
    writeFileSync(questions, `${JSON.stringify({ id: 'q1', text: 'x', relevant: ['a'] })}\n{"id":`)
    const before = await idsOf(harness, 'builds')
    const { code, stderr } = await harness.cli.run(
      'build',
      'start',
      '--import',
      await importOne(harness, 'two.md'),
      '--questions',
      questions,
    )
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'Line 2 of the question set is not JSON: correct it and build again.\n',
    })
    expect(await idsOf(harness, 'builds')).toEqual(before)
  })

  test('--wait follows the stages on standard error and ends with the candidate', async () => {
    const source_ = await importOne(harness, 'three.md')
    const known = await idsOf(harness, 'builds')
    const following = harness.cli.start('build', 'start', '--import', source_, '--wait', '--json')
    const id = await rowEventually(harness, 'builds', known)
    await harness.owner.query(
      "update builds set state = 'running', stage = 'embed', done = 1, total = 4 where id = $1",
      [id],
    )
    await until('the stage is shown', () => following.stderr().includes('embed: 1 of 4 (25 %)\n'))
    const version = await finishBuild(harness, id, true)
    const { code, stdout, stderr } = await following.ended
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ id, state: 'succeeded', version_id: version, passed: true })
  })

  test('--wait ends with 1 and the reason when the build fails', async () => {
    const source_ = await importOne(harness, 'four.md')
    const known = await idsOf(harness, 'builds')
    const following = harness.cli.run('build', 'start', '--import', source_, '--wait')
    await harness.owner.query(
      "update builds set state = 'failed', error = 'the provider refused the key' where id = $1",
      [await rowEventually(harness, 'builds', known)],
    )
    const { code, stdout, stderr } = await following
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/The build failed: the provider refused the key\n$/)
  })

  test('with Redis away nothing is asked and nothing is written', async () => {
    const source_ = await importOne(harness, 'five.md')
    const before = await idsOf(harness, 'builds')
    const { code, stderr } = await commandLine({ ...harness.environment, REDIS_URL: 'redis://127.0.0.1:1' }).run(
      'build',
      'start',
      '--import',
      source_,
    )
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'Redis does not answer: check that it runs and that REDIS_URL names its host, port and password.\n',
    })
    expect(await idsOf(harness, 'builds')).toEqual(before)
  })
})
