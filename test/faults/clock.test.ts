import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startGateway, startJobs } from '#operator/demo/local/stack.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { withSearchNode } from '#test/support/search-node.ts'
import { startTestService, type TestService } from '#test/support/service.ts'
import { CALL_TIMEOUT_MS, expectEventually } from '#test/support/until.ts'

const DAY_MS = 86_400_000
let service: TestService
beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service?.stop())

/** Settings of a process whose clock `move` moves. */
function movable(name: string) {
  const file = join(service.settings.folder, `${name}.clock`)
  const move = (ms: number): void => writeFileSync(file, String(ms))
  const preload = new URL('../support/moved-date.ts', import.meta.url).href
  const moved = { NODE_OPTIONS: `--import=${preload}?file=${file}` }
  move(0)
  return { move, settings: { ...service.settings, environment: { ...service.settings.environment, ...moved } } }
}

const addresses = (): readonly string[] => service.searchNodes.map(({ address }) => address)
const read = async (url: string): Promise<readonly [number, string]> => {
  const reply = await fetch(url)
  return [reply.status, await reply.text()]
}

test('a gateway whose clock is wrong says so and refuses, instead of calling every key invalid, until it is right', async () => {
  const { move, settings } = movable('gateway-moved')
  const gateway = service.add(await startGateway(settings, addresses(), 'gateway-moved'))
  const caller = await service.createCaller()
  const ask = async () => {
    const answer = await caller.ask({}, { baseUrl: gateway.baseUrl })
    return answer.status === 200 ? [200] : [answer.status, answer.error().error.code, answer.error().error.retryable]
  }
  await expectEventually(ask, [200])
  move(400 * DAY_MS)
  await expectEventually(ask, [503, 'INTERNAL_UNAVAILABLE', true])
  await expectEventually(() => read(`${gateway.internalUrl}/readyz`), [503, expect.stringContaining('clock: against')])
  const [, metrics] = await read(`${gateway.internalUrl}/metrics`)
  expect(metrics).toMatch(/evidence_clock_refusals_total [1-9]/)
  expect(metrics).toMatch(/evidence_clock_difference_seconds\{server="redis"\} -34/)
  move(0)
  await expectEventually(ask, [200])
  await expectEventually(async () => (await read(`${gateway.internalUrl}/readyz`))[0], 200)
})

test('a worker that was two days ahead for a while begins nothing meanwhile, and repairs at once when it is right', async () => {
  await service.jobs.stop()
  const { move, settings } = movable('jobs-moved')
  const listen = `127.0.0.1:${await freePort()}`
  const heartbeat = join(settings.folder, 'heartbeat')
  const environment = { ...settings.environment, JOBS_LISTEN: listen, HEARTBEAT_FILE: heartbeat }
  service.add(await startJobs({ ...settings, environment }, addresses(), 'jobs-moved'))
  const health = (): Promise<readonly [number, string]> => read(`http://${listen}/readyz`)
  await expectEventually(async () => (await health())[0], 200)
  move(2 * DAY_MS)
  await expectEventually(health, [503, expect.stringContaining('clock: against')])
  for (const address of addresses())
    await withSearchNode(address, (node) => node.releaseVersion(service.versionId, CALL_TIMEOUT_MS))
  const caller = await service.createCaller()
  expect((await caller.ask()).status).toBe(503)
  move(0)
  await expectEventually(async () => (await health())[0], 200)
  await expectEventually(async () => (await caller.ask()).status, 200)
  expect(statSync(heartbeat).isFile()).toBe(true)
  const [, metrics] = await read(`http://${listen}/metrics`)
  expect(metrics).toMatch(/evidence_task_success_age_seconds\{task="sweep"\} \d/)
  expect(metrics).toMatch(/evidence_task_success_age_seconds\{task="reconcile 127/)
})

test('a worker does not start under a wrong clock, and says what to do', async () => {
  const { move, settings } = movable('jobs-refused')
  move(2 * DAY_MS)
  await expect(startJobs(settings, addresses(), 'jobs-refused')).rejects.toThrow(/The clocks differ.*set them/)
})
