import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { startBuild } from '#operator/actions/builds.ts'
import {
  finishBuild,
  idsOf,
  importOne,
  jobIn,
  openCorpusHarness,
  rowEventually,
} from '#test/support/operator-corpus.ts'
import { until } from '#test/support/until.ts'

const harness = await openCorpusHarness()
afterAll(() => harness.close())

async function queuedBuild(name: string): Promise<string> {
  const asked = { import: await importOne(harness, name), embedding: 'none', store: harness.store } as const
  return (await startBuild(harness.operator, asked, () => Promise.resolve())).id
}

/** Changes the row as a job worker would. */
async function change(id: string, values: string): Promise<void> {
  await harness.owner.query(`update builds set ${values} where id = $1`, [id])
}

const statusOf = async (id: string): Promise<string> =>
  z.object({ status: z.string() }).parse(await harness.cli.json('build', 'show', id)).status

describe('build show', () => {
  test('a build whose run ended is shown with its reason and the time of the next attempt', async () => {
    const id = await queuedBuild('retrying.md')
    const why = 'its process ended with SIGTERM'
    await change(id, `state = 'retrying', error = '${why}', next_attempt_at = '2030-01-02T03:04:05Z'`)
    expect(await harness.cli.json('build', 'show', id)).toMatchObject({
      state: 'retrying',
      error: why,
      next_attempt_at: '2030-01-02T03:04:05.000Z',
      status: `attempt again at 2030-01-02T03:04:05Z, because ${why}`,
    })
    const { stdout } = await harness.cli.run('build', 'list')
    expect(stdout).toContain(`attempt again at 2030-01-02T03:04:05Z, because ${why}`)
  })

  test('a run is shown with the age of its last heartbeat, a lost one with its time', async () => {
    const id = await queuedBuild('silent.md')
    await change(id, "state = 'running', updated_at = now()")
    expect(await statusOf(id)).toMatch(/^running, last heartbeat \d+ s ago$/)
    await change(id, "updated_at = '2026-01-02T03:04:05Z'")
    expect(await statusOf(id)).toBe(
      'no heartbeat since 2026-01-02T03:04:05Z; a job worker that runs takes the build over',
    )
  })
})

describe('the embed stage', () => {
  const counts = { passages: 1_600, sent: 1_200, tokens: 310_000, overlong: 12, seconds_left: 180 }
  const progress = '1,200 texts sent, 310,000 tokens, 400 vectors from the cache'

  test('is shown by build show with its counts and a warning of passages that are too long', async () => {
    const id = await queuedBuild('embedded.md')
    await change(id, `state = 'succeeded', embedding = '${JSON.stringify({ ...counts, seconds_left: null })}'`)
    expect(await harness.cli.json('build', 'show', id)).toMatchObject({
      embedding: progress,
      warning: expect.stringMatching(/^12 of 1,600 passages are probably longer than the embedding model reads/),
    })
  })

  test('is followed by --wait with the time that is left', async () => {
    const source = await importOne(harness, 'embedding.md')
    const known = await idsOf(harness, 'builds')
    const following = harness.cli.start('build', 'start', '--import', source, '--wait')
    const id = await rowEventually(harness, 'builds', known)
    const row = `stage = 'embed', done = 1600, total = 3200, embedding = '${JSON.stringify(counts)}'`
    await change(id, `state = 'running', updated_at = now(), ${row}`)
    const line = `embed: 1600 of 3200 (50 %), ${progress}, about 3 min left\n`
    await until('the progress is shown', (seen) => {
      seen(following.stderr())
      return following.stderr().includes(line)
    })
    await finishBuild(harness, id, true)
    expect((await following.ended).code).toBe(0)
  })
})

test('build show warns of passages that are probably too long for the model', async () => {
  const id = await queuedBuild('overlong.md')
  await change(id, `embedding = '{"passages":9,"sent":9,"tokens":0,"overlong":1,"seconds_left":null}'`)
  expect(await harness.cli.json('build', 'show', id)).toMatchObject({
    warning: expect.stringMatching(/^1 of 9 passages are probably longer /),
  })
})

describe('build start --wait', () => {
  test('says why a run ended and when the next one begins, and follows the build to its end', async () => {
    const source = await importOne(harness, 'followed.md')
    const known = await idsOf(harness, 'builds')
    const following = harness.cli.start('build', 'start', '--import', source, '--wait')
    const id = await rowEventually(harness, 'builds', known)
    await change(id, "state = 'retrying', error = 'it was ended', next_attempt_at = '2030-01-02T03:04:05Z'")
    const line = 'attempt again at 2030-01-02T03:04:05Z, because it was ended …\n'
    await until('the reason is shown', () => following.stderr().includes(line))
    await change(id, "state = 'running', next_attempt_at = null")
    await finishBuild(harness, id, true)
    expect((await following.ended).code).toBe(0)
  })

  test('says when it is interrupted that the build goes on, and where it is seen', async () => {
    const source = await importOne(harness, 'left.md')
    const known = await idsOf(harness, 'builds')
    const following = harness.cli.start('build', 'start', '--import', source, '--wait')
    const id = await rowEventually(harness, 'builds', known)
    await until('the state is shown', () => following.stderr().includes('queued'))
    following.signal('SIGINT')
    const { code, stderr } = await following.ended
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(`see "operator build show ${id}"`) })
    expect(await harness.cli.json('build', 'show', id)).toMatchObject({ state: 'queued' })
  })

  test('ends with 1 and one sentence, after the result, for a candidate that did not pass', async () => {
    const source = await importOne(harness, 'poor.md')
    const known = await idsOf(harness, 'builds')
    const following = harness.cli.start('build', 'start', '--import', source, '--wait', '--json')
    const version = await finishBuild(harness, await rowEventually(harness, 'builds', known), false)
    const { code, stdout, stderr } = await following.ended
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ state: 'succeeded', version_id: version, passed: false })
    expect(stderr).toMatch(/The candidate did not pass its evaluation, so it cannot be activated: see [^\n]*\n$/)
  })
})

describe('build cancel', () => {
  test.each([
    ['queued', "state = 'queued'"],
    ['running', "state = 'running', stage = 'embed'"],
    ['retrying', "state = 'retrying', next_attempt_at = now()"],
  ])('ends a build that is %s, and audits who asked', async (state, set) => {
    const id = await queuedBuild(`${state}.md`)
    await change(id, set)
    expect(await harness.cli.json('build', 'cancel', id, '--actor', 'first')).toEqual({ id })
    const error = 'it was cancelled by first'
    expect(await harness.cli.json('build', 'show', id)).toMatchObject({ state: 'failed', error })
    const { rows } = await harness.owner.query(
      "select actor, detail ->> 'state' as state from audit where action = 'build.cancel' and subject = $1",
      [`build:${id}`],
    )
    expect(rows).toEqual([{ actor: 'first', state }])
    const again = await harness.cli.run('build', 'cancel', id)
    expect(again.stderr).toMatch(/^The build has ended: there is nothing to cancel/)
  })
})

describe('build retry', () => {
  test('queues a failed build again under its id, with all its attempts, and audits who asked', async () => {
    const id = await queuedBuild('failed.md')
    await change(
      id,
      "state = 'failed', error = 'no memory', attempt = 2, failed_runs = 2, out_of_memory_runs = 2, lost_runs = 1",
    )
    expect(await harness.cli.json('build', 'retry', id, '--actor', 'first')).toEqual({ id })
    expect(await harness.cli.json('build', 'show', id)).toMatchObject({ state: 'queued', attempt: 2 })
    const { rows } = await harness.owner.query(
      "select actor, subject, detail from audit where action = 'build.retry' and subject = $1",
      [`build:${id}`],
    )
    expect(rows).toEqual([{ actor: 'first', subject: `build:${id}`, detail: { failed_with: 'no memory' } }])
    const { rows: counts } = await harness.owner.query(
      'select failed_runs, out_of_memory_runs, lost_runs from builds where id = $1',
      [id],
    )
    expect(counts).toEqual([{ failed_runs: 0, out_of_memory_runs: 0, lost_runs: 0 }])
    expect(await jobIn(harness, 'build', id)).toEqual({ id })
  })

  test('is refused for a build that did not fail, and for one whose files may be gone', async () => {
    const id = await queuedBuild('waiting.md')
    const waiting = await harness.cli.run('build', 'retry', id)
    expect(waiting.code).toBe(1)
    expect(waiting.stderr).toMatch(/^The build is queued, not failed: there is nothing to retry/)
    await change(id, "state = 'failed', updated_at = now() - interval '25 hours'")
    const late = await harness.cli.run('build', 'retry', id)
    expect(late.code).toBe(1)
    expect(late.stderr).toMatch(/^The build failed more than a day ago, .*"operator build start --import /)
    expect(await jobIn(harness, 'build', id)).toBeUndefined()
  })

  test('is the only way: the operator can neither write the state of a build nor retry its job', async () => {
    const id = await queuedBuild('guarded.md')
    await expect(
      harness.operator.database.query("update builds set state = 'succeeded' where id = $1", [id]),
    ).rejects.toThrow('permission denied')
    for (const [queue, instead] of [
      ['build', 'operator build retry'],
      ['activate', 'operator activate'],
    ] as const) {
      const { code, stderr } = await harness.cli.run('jobs', 'retry', queue, id)
      expect({ queue, code }).toEqual({ queue, code: 1 })
      expect(stderr).toContain(instead)
    }
  })
})
