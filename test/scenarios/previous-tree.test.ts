import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MIGRATIONS, migrate } from '#core/db/schema.ts'
import { builtInCorpus } from '#operator/demo/corpus.ts'
import { startGateway, startJobs, startSearchNode, type LocalGateway } from '#operator/demo/local/stack.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { settledLedgerRows } from '#test/support/ledger.ts'
import { failuresOf, servedOf, startLoad } from '#test/support/load.ts'
import { until } from '#test/support/until.ts'
import { extractCommitBefore, extractPreviousTree, repositoryWithNewestMigration } from './previous-tree.ts'
import type { PreviousTree, Repository } from './previous-tree.ts'
import { startTestService, type TestService } from '#test/support/service.ts'

let repository: Repository
let previous: PreviousTree
let before: PreviousTree
let service: TestService
beforeAll(async () => {
  repository = repositoryWithNewestMigration()
  previous = extractPreviousTree(repository.root)
  before = extractCommitBefore()
  service = await startTestService({ gateways: 0 })
  await migrate(service.database.migrationUrl, repository.migrations)
})
afterAll(async () => {
  await service?.stop()
  previous?.remove()
  before?.remove()
  repository?.remove()
})

test('a gateway of the tree before the newest migration is ready on the schema after it, and serves', async () => {
  const { rows } = await service.owner.query<{ name: string }>('select name from schema_migrations order by number')
  expect(rows.map(({ name }) => name).slice(0, -1)).toEqual(previous.migrations)

  const addresses = service.searchNodes.map(({ address }) => address)
  const settings = { ...service.settings, root: previous.folder }
  const gateway = service.add(await startGateway(settings, addresses, 'gateway-of-previous-tree'))
  const caller = await service.createCaller({})
  const statuses: number[] = []
  for (let n = 0; n < 3; n++) statuses.push((await caller.ask({}, { baseUrl: gateway.baseUrl })).status)
  expect(statuses).toEqual([200, 200, 200])
  expect((await fetch(`${gateway.internalUrl}/readyz`)).status).toBe(200)
})

test(
  'gateways, search nodes and job workers of the commit before are replaced one at a time under load, and put back: no ' +
    'request fails, no job is lost, and what either builds both serve',
  async () => {
    const old = { ...service.settings, root: before.folder }
    const ports = [await freePort(), await freePort()] as const
    const addresses = ports.map((port) => `127.0.0.1:${port}`)
    const startNode = async (settings: typeof old | typeof service.settings, at: 0 | 1) =>
      service.add(await startSearchNode(settings, `rolling-node-${at}`, ports[at]))
    const startWorker = async (settings: typeof old | typeof service.settings) =>
      service.add(await startJobs(settings, addresses, settings === old ? 'worker-before' : 'worker-of-this-tree'))
    await Promise.all([startNode(old, 0), service.jobs.stop()])
    let node = await startNode(old, 1)
    let worker = await startWorker(old)
    const kept = service.add(await startGateway(old, addresses, 'gateway-before'))
    const caller = await service.createCaller()
    const loads = [startLoad(caller, [kept.baseUrl], { callers: 2, pauseMs: 50 })]

    async function loaded(gateway: LocalGateway) {
      const load = startLoad(caller, [gateway.baseUrl], { callers: 2, pauseMs: 50 })
      loads.push(load)
      await load.until('it serves', (sent) => sent.length >= 20)
      return { gateway, load }
    }
    /** Replaces a worker while it builds. */
    async function replaceWorker(by: typeof old | typeof service.settings, knowledgeBase: string): Promise<void> {
      const publishing = service.publish({ ...builtInCorpus(), knowledgeBase, embedding: 'none' })
      await until('a build runs', async () => {
        const { rows } = await service.owner.query("select 1 from builds where state = 'running'")
        return rows.length > 0
      })
      const next = await startWorker(by)
      expect(await worker.stop()).toBe(0)
      worker = next
      await publishing
      const other = await service.createCaller({ knowledgeBase })
      for (const baseUrl of [kept.baseUrl, replaced.gateway.baseUrl])
        expect((await other.ask({}, { baseUrl })).status).toBe(200)
    }

    let replaced = await loaded(service.add(await startGateway(old, addresses, 'gateway-replaced')))
    for (const [by, name] of [
      [service.settings, 'of-this-tree'],
      [old, 'put-back'],
    ] as const) {
      expect(await node.stop()).toBe(0)
      node = await startNode(by, 1)
      const next = await loaded(service.add(await startGateway(by, addresses, `gateway-${name}`)))
      await replaced.load.stop()
      expect(await replaced.gateway.stop()).toBe(0)
      replaced = next
      await replaceWorker(by, `rolled-${name}`)
    }
    const sent = (await Promise.all(loads.map((load) => load.stop()))).flat()
    expect(failuresOf(sent)).toEqual([])
    const ledger = await settledLedgerRows(service.owner, caller.entitlementId)
    const delivered = ledger.filter(({ entry, charged }) => entry === 'delivered' && charged === true)
    expect(delivered.length).toBe(servedOf(sent).length)
  },
)

test('gateway and job worker of the commit before refuse a schema that ended their support, by name', async () => {
  await service.owner.query(`
    insert into schema_migrations (number, name, sha256, oldest_release) values (9999, '9999-later.sql', sha256(''), '999.0.0')`)
  const old = { ...service.settings, root: before.folder }
  const refusal = /The database is at migration 9999, which release \S+ does not run on: deploy release 999\.0\.0/
  await expect(startGateway(old, ['127.0.0.1:1'], 'gateway-refusing')).rejects.toThrow(refusal)
  await expect(startJobs(old, ['127.0.0.1:1'], 'worker-refusing')).rejects.toThrow(refusal)
})

test('without the git history, the sentence says what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-no-history-'))
  using ending = new DisposableStack()
  ending.defer(() => rmSync(folder, { recursive: true, force: true }))
  cpSync(MIGRATIONS, join(folder, 'core/db/migrations'), { recursive: true })
  expect(() => extractPreviousTree(folder)).toThrow(
    'The tree before is not in the git history: run the tests in a clone with its whole history',
  )
})
