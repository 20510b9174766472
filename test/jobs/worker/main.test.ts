import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { openJobsHarness } from '#test/support/jobs.ts'
import { startProgram } from '#test/support/processes.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { openTestRedis } from '#test/support/redis.ts'

const program = fileURLToPath(new URL('../../../jobs/worker/main.ts', import.meta.url))
const harness = await openJobsHarness()
const redis = await openTestRedis()
afterAll(() => redis.release())

/** Runs the worker under plain node; sends SIGTERM once it is ready. */
async function boot(environment: NodeJS.ProcessEnv) {
  const { child, said, ended } = startProgram([program], environment)
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', () => !child.killed && said.both.includes('"event":"ready"') && child.kill('SIGTERM'))
  return { code: await ended, output: said.both }
}

describe('the job worker as a process', () => {
  test('starts under plain node, becomes ready, touches its heartbeat and stops cleanly on SIGTERM', async () => {
    const heartbeat = join(harness.store.workFolder('..'), 'heartbeat')
    const ended = await boot({
      ...harness.environment,
      REDIS_URL: redis.url,
      HEARTBEAT_FILE: heartbeat,
      LOG_LEVEL: 'info',
    })
    expect(ended).toMatchObject({ code: 0, output: expect.stringContaining('"event":"ready"') })
    expect(ended.output).toContain('"event":"stopping"')
    expect(existsSync(heartbeat)).toBe(true)
  })

  test('does not start with a private key whose versions the search nodes would not load', async () => {
    const other = testSecrets().MANIFEST_PUBLIC_KEY
    const [environment, rotating] = [other, `${other},${harness.environment['MANIFEST_PUBLIC_KEY'] ?? ''}`].map(
      (keys) => ({ ...harness.environment, REDIS_URL: redis.url, LOG_LEVEL: 'info', MANIFEST_PUBLIC_KEY: keys }),
    )
    const refused = await boot(environment ?? {})
    expect(refused.code).toBe(1)
    expect(refused.output).toContain('MANIFEST_PRIVATE_KEY belongs to no key of MANIFEST_PUBLIC_KEY')
    expect(await boot(rotating ?? {})).toMatchObject({ code: 0, output: expect.stringContaining('"event":"ready"') })
  })

  test('names every faulty variable at once and prints no value', async () => {
    const ended = await boot({
      PATH: process.env['PATH'],
      DATABASE_URL: 'mysql://user:hunter2@db/x',
      MANIFEST_PRIVATE_KEY: 'c2VjcmV0',
    })
    expect(ended.code).toBe(1)
    for (const name of [
      'DATABASE_URL',
      'REDIS_URL',
      'ARTIFACT_STORE',
      'SEARCH_NODES',
      'MANIFEST_PRIVATE_KEY',
      'MANIFEST_PUBLIC_KEY',
    ])
      expect(ended.output).toContain(name)
    expect(ended.output).not.toContain('hunter2')
    expect(ended.output).not.toContain('c2VjcmV0')
  })
})
