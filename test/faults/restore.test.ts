import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readAuditHead } from '#core/db/audit.ts'
import { readConfirmed } from '#core/limits/confirmed.ts'
import { issueKeyFor, revokeKeyNow } from '#operator/actions/api-keys.ts'
import { parsePeppers } from '#core/credentials/settings.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import { withRedis } from '#test/support/redis.ts'
import { startTestService, type Caller, type TestService } from '#test/support/service.ts'
import { expectEventually, until } from '#test/support/until.ts'
import { withClient } from '#test/support/postgres.ts'

let service: TestService
beforeAll(async () => {
  service = await startTestService({ gateways: 2 })
})
afterAll(() => service?.stop())

/** Runs a statement where nobody is connected to the database of the service. */
async function alone(...statements: readonly string[]): Promise<void> {
  const url = new URL(service.database.ownerUrl)
  const { name } = service.database
  url.pathname = '/postgres'
  await withClient(url.href, async (client) => {
    await client.query(`alter database ${name} allow_connections false`)
    await client.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1', [name])
    for (const statement of statements) await client.query(statement)
    await client.query(`alter database ${name} allow_connections true`)
  })
}

const served = (caller: Caller): Promise<unknown> =>
  until('requests are served', async () => (await caller.ask()).status === 200)

/** What each gateway says now: status and code, readiness, refusals by metric, and lines of its log. */
function gatewaysSay(caller: Caller) {
  return Promise.all(
    service.gateways.map(async ({ baseUrl, internalUrl, logFile }) => {
      const answer = await caller.ask({}, { baseUrl })
      const metrics = await (await fetch(`${internalUrl}/metrics`)).text()
      return {
        status: answer.status,
        ready: (await fetch(`${internalUrl}/readyz`)).status,
        refused: Number(/^evidence_restore_refusals_total (\d+)$/m.exec(metrics)?.[1]) > 0,
        logged: readFileSync(logFile, 'utf8').includes('restored: Postgres lacks what was committed'),
      }
    }),
  )
}

const isCopied = async (): Promise<boolean> => {
  const { audit } = await withRedis(service.settings.redisUrl, readConfirmed)
  return audit?.seq === (await readAuditHead(service.owner)).seq
}

const HEALTHY = { status: 200, ready: 200, refused: false, logged: false }

test('after a restore that lost a reply and a revocation nothing is admitted until an operator accepts it', async () => {
  const [caller, bystander] = [await service.createCaller(), await service.createCaller()]
  const peppers = parsePeppers(service.settings.secrets.KEY_PEPPERS)
  const key = await issueKeyFor(service.operator, { client: caller.client, environment: 'live', peppers })
  const cli = commandLine({
    DATABASE_URL: service.database.operatorUrl,
    REDIS_URL: service.settings.redisUrl,
    OPERATOR_ACTOR: 'on-call',
  })
  await served(bystander)
  await expectEventually(isCopied, true)
  const { name } = service.database
  // Losing every connection is no restore.
  await alone(`create database ${name}_copy template ${name}`)
  await served(caller)
  expect(await gatewaysSay(caller)).toEqual([HEALTHY, HEALTHY])
  expect(await cli.refused('restore accept')).toContain('there is no restore to accept')
  await revokeKeyNow(service.operator, key.id)
  await expectEventually(isCopied, true)

  await alone(`alter database ${name} rename to ${name}_lost`, `alter database ${name}_copy rename to ${name}`)
  const restored = { status: 503, ready: 200, refused: true, logged: true }
  // Until they have connected again they refuse without a reason.
  await expectEventually(() => gatewaysSay(bystander), [restored, restored])
  expect(await gatewaysSay(caller)).toEqual([restored, restored])

  const stated = await cli.json('restore accept')
  const lost = {
    replies: [{ organization: caller.organization, client: caller.client, replies: 3 }],
    changes: [{ action: 'key.revoke', subject: `key:${key.id}` }],
    changes_unknown: 0,
  }
  expect(stated).toMatchObject({ ...lost, accepted: false })
  expect((await gatewaysSay(caller)).map(({ status }) => status)).toEqual([503, 503])
  expect(await cli.json('restore accept --yes')).toMatchObject({ ...lost, accepted: true })
  await served(caller)
  await served(bystander)
  const { code, stdout } = await cli.run('audit list --action restore.accept')
  expect([code, stdout]).toEqual([0, expect.stringContaining('on-call')])
  // The trail goes on and is copied anew.
  await expectEventually(isCopied, true)
  expect((await gatewaysSay(bystander)).map(({ status }) => status)).toEqual([200, 200])
  await alone(`drop database ${name}_lost`)
})
