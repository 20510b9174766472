import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { readBuild } from '#core/db/builds.ts'
import { smallSource, openJobsHarness } from '#test/support/jobs.ts'
import { openTestRedis } from '#test/support/redis.ts'
import { startFakeNode } from '#test/support/search-node.ts'
import { until } from '#test/support/until.ts'

const program = fileURLToPath(new URL('../../../jobs/worker/main.ts', import.meta.url))
const harness = await openJobsHarness()
const redis = await openTestRedis()
const workers: ChildProcess[] = []
afterAll(async () => {
  for (const worker of workers) {
    const ended = worker.exitCode === null && worker.signalCode === null ? once(worker, 'exit') : undefined
    worker.kill('SIGTERM')
    await ended
  }
  await redis.release()
})

function startWorker(searchNode = harness.searchNode): ChildProcess {
  const worker = spawn(process.execPath, [program], {
    env: { ...harness.environment, REDIS_URL: redis.url, SEARCH_NODES: searchNode },
    stdio: 'ignore',
  })
  workers.push(worker)
  return worker
}

test('a build whose whole job worker is killed is ended as lost by another worker, which finishes it', async () => {
  const knowledgeBaseId = await harness.createKnowledgeBase()
  const importId = await harness.importFolder(knowledgeBaseId, smallSource)
  const id = await harness.requestBuild(knowledgeBaseId, importId)
  // Its build waits in the evaluation for this search node, so that it does not end before it is killed.
  const stuck = await startFakeNode(() => undefined)
  const first = startWorker(stuck.address)
  await until('a run has begun', async (seen) => {
    const build = await readBuild(harness.owner, id)
    seen(build)
    return build?.state === 'running' && build.stage !== null
  })
  first.kill('SIGKILL')
  await once(first, 'exit')
  stuck.stop()
  startWorker()
  // The age of the last heartbeat is the progress until the run counts as lost.
  await until('another run has succeeded', async (seen) => {
    const { rows } = await harness.owner.query<{ silent: number }>(
      'select floor(extract(epoch from now() - updated_at))::int as silent from builds where id = $1',
      [id],
    )
    const build = await readBuild(harness.owner, id)
    seen([build, rows[0]?.silent])
    return build?.state === 'succeeded'
  })
  const { rows } = await harness.owner.query('select attempt, failed_runs, error from builds where id = $1', [id])
  expect(rows).toEqual([{ attempt: 2, failed_runs: 1, error: null }])
})
