import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MIGRATIONS, migrate } from '#core/db/schema.ts'
import { startGateway } from '#operator/demo/local/stack.ts'
import { extractPreviousTree, repositoryWithNewestMigration } from './previous-tree.ts'
import type { PreviousTree, Repository } from './previous-tree.ts'
import { startTestService, type TestService } from '#test/support/service.ts'

let repository: Repository
let previous: PreviousTree
let service: TestService
beforeAll(async () => {
  repository = repositoryWithNewestMigration()
  previous = extractPreviousTree(repository.root)
  service = await startTestService({ gateways: 0 })
  await migrate(service.database.migrationUrl, repository.migrations)
})
afterAll(async () => {
  await service?.stop()
  previous?.remove()
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

test('without the git history, the sentence says what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-no-history-'))
  try {
    cpSync(MIGRATIONS, join(folder, 'core/db/migrations'), { recursive: true })
    expect(() => extractPreviousTree(folder)).toThrow(
      'The tree before the newest migration is not in the git history: run the tests in a clone with its whole history',
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
