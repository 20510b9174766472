import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { startSearchNode, type LocalSearchNode } from '#operator/demo/local/stack.ts'
import { remaining, settledLedgerRows } from '#test/support/ledger.ts'
import { loadedOn, withSearchNode } from '#test/support/search-node.ts'
import { runScript } from '#test/support/processes.ts'
import { CALL_TIMEOUT_MS, until } from '#test/support/until.ts'
import { startTestService, type TestService } from '#test/support/service.ts'
import { adjustedNowMs } from '#test/support/clock.ts'

let service: TestService
let nodes: [LocalSearchNode, LocalSearchNode]
beforeAll(async () => {
  service = await startTestService({ searchNodes: 2 })
  const [one, other] = service.searchNodes
  if (one === undefined || other === undefined) throw new Error('two search nodes were asked for')
  nodes = [one, other]
})
afterAll(() => service?.stop())
afterEach(() => {
  service.jobs.signal('SIGCONT')
  for (const node of nodes) if (node.running()) node.signal('SIGCONT')
})

test('a search node that hangs is skipped: the other answers every request within the deadline', async () => {
  const caller = await service.createCaller()
  nodes[0].signal('SIGSTOP')
  for (let request = 0; request < 6; request++) {
    const beganMs = adjustedNowMs()
    expect((await caller.ask()).retrieved().results.length).toBeGreaterThan(0)
    expect(adjustedNowMs() - beganMs).toBeLessThan(PLATFORM_BOUNDS.requestDeadlineMs)
  }
  const atOnce = await Promise.all(Array.from({ length: 10 }, () => caller.ask()))
  expect(atOnce.map(({ status }) => status)).toEqual(atOnce.map(() => 200))
})

test(
  'when every search node hangs the answer is 503 RETRIEVAL_UNAVAILABLE within the deadline, day and ' +
    'month are refunded, and service returns by itself',
  async () => {
    const caller = await service.createCaller({ limits: { requests_per_day: 10, requests_per_month: 10 } })
    expect((await caller.ask()).status).toBe(200)
    for (const node of nodes) node.signal('SIGSTOP')
    const beganMs = adjustedNowMs()
    const refused = await caller.ask()
    expect(adjustedNowMs() - beganMs).toBeLessThan(PLATFORM_BOUNDS.requestDeadlineMs)
    expect({ status: refused.status, ...refused.error().error }).toMatchObject({
      status: 503,
      code: 'RETRIEVAL_UNAVAILABLE',
      retryable: true,
    })
    for (const node of nodes) node.signal('SIGCONT')
    await until('requests are served again', async () => (await caller.ask()).status === 200)
    const ledger = await settledLedgerRows(service.owner, caller.entitlementId)
    const refunded = ledger.filter(({ entry, charged }) => entry === 'refunded' && charged === false)
    expect(refunded.length).toBeGreaterThanOrEqual(1)
    expect(ledger.filter(({ charged }) => charged).length).toBe(2)
    const left = remaining((await caller.ask()).headers)
    expect({ day: left.day, month: left.month }).toEqual({ day: 7, month: 7 })
    expect(left.minute).toBe(100_000 - ledger.length - 1)
  },
)

test('a search node that lacks the version is passed over, and gets it again by itself', async () => {
  const caller = await service.createCaller()
  service.jobs.signal('SIGSTOP')
  const [versionId] = await loadedOn(nodes[0].address)
  if (versionId === undefined) throw new Error('the node holds nothing')
  await withSearchNode(nodes[0].address, (client) => client.releaseVersion(versionId, CALL_TIMEOUT_MS))
  expect(await loadedOn(nodes[0].address)).toEqual([])
  const answers = await Promise.all(Array.from({ length: 10 }, () => caller.ask()))
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  expect(await loadedOn(nodes[0].address)).toEqual([])
  service.jobs.signal('SIGCONT')
  await until('the node has its version again', async () => (await loadedOn(nodes[0].address)).includes(versionId))
})

/** The health of the node is all that whoever restarts it looks at. */
async function restart(index: 0 | 1): Promise<void> {
  const { address } = nodes[index]
  await nodes[index].stop()
  const port = Number(address.split(':').at(-1))
  nodes[index] = service.add(await startSearchNode(service.settings, `search-node-${index}`, port))
  await until('it is serving', async () => (await runScript(['core/rpc/probe.ts', address])).code === 0)
}

test('a rolling restart of all search nodes by their health alone fails no request, also without a job worker', async () => {
  const caller = await service.createCaller()
  service.jobs.signal('SIGSTOP')
  const enough = new AbortController()
  const statuses: number[] = []
  const askOn = async (): Promise<void> => {
    while (!enough.signal.aborted) statuses.push((await caller.ask()).status)
  }
  const asked = [askOn(), askOn()]
  await restart(0)
  await restart(1)
  const since = statuses.length
  await until('both have answered', () => statuses.length > since + 10)
  enough.abort()
  await Promise.all(asked)
  expect(statuses.filter((status) => status !== 200)).toEqual([])
})

test('a node that hangs while it loads keeps no other waiting', async () => {
  const [hung, other] = [nodes[0].address, nodes[1].address]
  nodes[0].signal('SIGSTOP')
  await withSearchNode(other, (client) => client.releaseVersion(service.versionId, CALL_TIMEOUT_MS))
  await until('the other has its version again', async () => (await loadedOn(other)).includes(service.versionId))
  nodes[0].signal('SIGCONT')
  await until('the hung one has it too', async () => (await loadedOn(hung)).includes(service.versionId))
})

test('refunds of a day end at the daily allowance: the next failure stays charged, and its lease ends', async () => {
  const allowance = 3
  const caller = await service.createCaller({
    limits: { concurrency: 1, requests_per_day: allowance, requests_per_month: 100 },
  })
  service.jobs.signal('SIGSTOP')
  const [versionId] = await loadedOn(nodes[0].address)
  if (versionId === undefined) throw new Error('the node holds nothing')
  for (const { address } of nodes)
    await withSearchNode(address, (client) => client.releaseVersion(versionId, CALL_TIMEOUT_MS))
  for (let failure = 0; failure <= allowance; failure++)
    expect((await caller.ask()).error().error.code).toBe('RETRIEVAL_UNAVAILABLE')
  service.jobs.signal('SIGCONT')
  for (const { address } of nodes)
    await until('the node has its version again', async () => (await loadedOn(address)).length > 0)
  const answer = await caller.ask()
  expect(answer.status).toBe(200)
  expect(remaining(answer.headers)).toMatchObject({ day: allowance - 2, month: 98 })
  const ledger = await settledLedgerRows(service.owner, caller.entitlementId)
  expect(ledger.map(({ entry, charged }) => `${entry} ${charged}`)).toEqual([
    ...Array.from({ length: allowance }, () => 'refunded false'),
    'failed true',
    'delivered true',
  ])
})

test('a killed search node that restarts empty is loaded automatically and then answers alone', async () => {
  const caller = await service.createCaller()
  const [killed, other] = nodes
  killed.signal('SIGKILL')
  await killed.ended.catch(() => undefined)
  const during = await Promise.all(Array.from({ length: 10 }, () => caller.ask()))
  expect(during.map(({ status }) => status)).toEqual(during.map(() => 200))
  const again = service.add(
    await startSearchNode(service.settings, 'search-node-again', Number(killed.address.split(':')[1])),
  )
  nodes = [again, other]
  await until('the restarted node has its versions', async () => (await loadedOn(again.address)).length > 0)
  expect(await other.stop()).toBe(0)
  await until('the restarted node answers alone', async () => (await caller.ask()).status === 200)
})
