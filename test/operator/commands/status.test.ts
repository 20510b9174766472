import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { createLog } from '#core/platform/log.ts'
import { countRefusals } from '#core/redis/refusals.ts'
import { readStatuses, reportStatus } from '#core/redis/status-board.ts'
import { openQueueRedis } from '#jobs/platform/queues.ts'
import { grantEntitlement } from '#operator/actions/entitlements.ts'
import { createClient, createKnowledgeBase, createOrganization } from '#operator/actions/organizations.ts'
import { createPlan } from '#operator/actions/plans.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { commandLine, openOperatorHarness } from '#test/support/operator-cli.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import {
  PRIMARY_SETTINGS,
  openTestRedis,
  startOwnRedis,
  startReplica,
  startSentinel,
  withRedis,
} from '#test/support/redis.ts'
import { testSecrets } from '#test/support/secrets.ts'
import { until } from '#test/support/until.ts'
import { insertVersion } from '#test/support/version-rows.ts'

const redis = await openTestRedis()
const folder = folderOfFile()
const { cli, operator, owner, environment, serviceSecrets } = await openOperatorHarness({
  REDIS_URL: redis.url,
  ARTIFACT_STORE: pathToFileURL(folder).href,
  MANIFEST_PUBLIC_KEY: testSecrets().MANIFEST_PUBLIC_KEY,
})
const connection = openQueueRedis(redis.url, createLog('test', 'silent'))
await connection.usable()
afterAll(async () => {
  connection.close()
  await redis.release()
})

await createPlan(operator, { name: 'beta', limits: {} })
await createKnowledgeBase(operator, { slug: 'rules', title: 'Rules' })
await createOrganization(operator, { name: 'Bank', serviceSecrets })
const client = await createClient(operator, { organization: 'Bank', name: 'Desk' })
const entitlement = await grantEntitlement(operator, {
  client: 'Desk',
  environment: 'live',
  knowledgeBase: 'rules',
  plan: 'beta',
  languages: ['en'],
  jurisdictions: ['HS-M'],
  subjects: null,
})
const node = { node: 'n:1', up: true, inFlight: 2, held: ['v'], calls: 9, passedOver: 3, p50Ms: 4.04, p99Ms: 80 }

test('status shows what processes report, names who is near a limit, and a gateway that stops leaves it', async () => {
  const gateway = reportStatus(connection.redis, 'gateway', () => ({
    faults: [],
    dependencies: { redis: { state: 'up' }, search: { state: 'down', reason: 'no search node answers' } },
    not_served: [{ knowledge_base: 'rules', reason: 'no version is active' }],
    nodes: [node],
    near_limits: [{ entitlement_id: entitlement.id, day: 0.834, month: 0.1, tightened: true }],
  }))
  const jobs = reportStatus(connection.redis, 'jobs', () => ({
    faults: ['sweep: no success lately'],
    tasks: { sweep: 33 },
    disks: [{ place: 'store', freeBytes: 4e9, totalBytes: 1e10 }],
  }))
  await until('both report', async () => (await readStatuses(connection.redis)).length === 2)
  expect(await cli.json('status')).toMatchObject({
    processes: [
      { process: expect.stringMatching(/^gateway /), state: 'ready', faults: ['search: no search node answers'] },
      { process: expect.stringMatching(/^jobs /), state: 'not ready', faults: ['sweep: no success lately'] },
    ],
    nodes: [{ node: 'n:1', up: true, versions: ['v'], passed_over: 3, p50_ms: 4, p99_ms: 80 }],
    knowledge_bases: [{ knowledge_base: 'rules', active: null, not_served: 'no version is active' }],
    near_limits: [{ client: 'Bank/Desk', knowledge_base: 'rules', day: '83 %', exposure: 'rate lowered' }],
    disks: [{ place: 'store', free_gb: 4, total_gb: 10 }],
  })
  const screen = (await cli.run('status')).stdout
  for (const title of [
    'Processes',
    'Search nodes',
    'Queues',
    'Maintenance',
    'Knowledge bases',
    'Near a limit',
    'Disks',
  ])
    expect(screen).toContain(`\n${title}\n`)
  await gateway.stop()
  await jobs.stop()
  expect(await cli.json('status')).toMatchObject({ processes: [], nodes: [], redis_fault: null })
})

test('status shows what Postgres knows while Redis is away', async () => {
  const away = commandLine({ ...environment, REDIS_URL: 'redis://127.0.0.1:1' })
  expect(await away.json('status')).toMatchObject({
    redis_fault: expect.stringContaining('Redis'),
    knowledge_bases: [{ knowledge_base: 'rules' }],
  })
})

test('refusals are counted by client and reason', async () => {
  const refusals = countRefusals(connection.redis)
  for (let n = 0; n < 3; n++) refusals.add(client.id, 429, 'rate')
  refusals.add('', 401, 'INVALID_API_KEY')
  await refusals.close()
  expect(await cli.json('requests refused --by client')).toEqual([
    { group: 'Bank/Desk', status: 429, reason: 'rate', count: 3 },
    { group: 'no client', status: 401, reason: 'INVALID_API_KEY', count: 1 },
  ])
  expect(await cli.json('requests refused --client Desk')).toEqual([
    { group: 'all', status: 429, reason: 'rate', count: 3 },
  ])
})

async function found(line = 'doctor', run = cli) {
  const { code, stdout, stderr } = await run.run(line, '--json')
  const findings = JSON.parse(stdout) as readonly { check: string; state: string; found: string; todo: string }[]
  expect(findings.filter(({ state, todo }) => (state === 'ok') !== (todo === ''))).toEqual([])
  return { code, stderr, of: (check: string) => findings.filter((one) => one.check === check) }
}

test('doctor names every fault with what to do, and ends with 1', async () => {
  mkdirSync(join(folder, 'snapshots', 'incoming'), { recursive: true })
  const well = await found()
  expect(well.of('grants')).toMatchObject([{ state: 'ok' }])
  expect(well.of('postgres')).toMatchObject([{ state: 'ok', found: expect.stringMatching(/^version 18/) }])
  expect(well.of('store')).toMatchObject([{ state: 'ok' }])
  expect(well.of('service secret')).toMatchObject([{ state: 'ok' }])
  expect(well.of('redis policy')).toMatchObject([{ state: 'ok' }])

  const { version, knowledgeBaseId } = await insertVersion(owner, { slug: 'rules', state: 'active', passages: 1 })
  const pointer = 'insert into active_versions (knowledge_base_id, version_id) values ($1, $2)'
  await withoutGuards(owner, pointer, [knowledgeBaseId, version])
  await owner.query('grant update (detail) on audit to evidence_operator; grant delete on audit to evidence_jobs')
  const ill = await found(
    'doctor',
    commandLine({ ...environment, SERVICE_SECRET: testSecrets().SERVICE_SECRET, REDIS_URL: 'redis://127.0.0.1:1' }),
  )
  expect(ill.code).toBe(1)
  expect(ill.stderr).toMatch(/checks found a fault\.\n$/)
  expect(ill.of('grants')).toMatchObject([{ state: 'fault', found: 'evidence_jobs may delete audit' }])
  expect(ill.of('service secret')).toMatchObject([{ state: 'fault', found: 'it does not open those of Bank' }])
  expect(ill.of('redis')).toMatchObject([{ state: 'fault' }])
  expect(ill.of('store digests')).toMatchObject([{ state: 'fault', todo: expect.stringContaining(version) }])
})

test('doctor says of Sentinels who answers, whom they name, how many agree, and what a cut-off primary may write', async () => {
  const primary = await startOwnRedis(PRIMARY_SETTINGS)
  onTestFinished(() => primary.stop())
  const sentinel = await startSentinel(primary)
  onTestFinished(() => sentinel.stop())
  const url = sentinel.urlOf(2).replace('/limits', ',127.0.0.1:1/limits')
  const lines = async () => {
    const { of } = await found('doctor', commandLine({ ...environment, REDIS_URL: url }))
    const checks = ['sentinels', 'sentinel primary', 'redis replicas'].flatMap(of)
    return checks.map(({ state, found: what }) => `${state}: ${what}`)
  }
  const named = `ok: 127.0.0.1:${primary.port}`
  const unset = 'warning: min-replicas-to-write is 0: a primary that is cut off takes writes that are lost'
  expect(await lines()).toEqual(['warning: 1 of 2 in REDIS_URL answer; the quorum is 1 of 1', named, unset])
  const replica = await startReplica(primary)
  onTestFinished(() => replica.stop())
  await withRedis(primary.url, (server) => server.config('SET', 'min-replicas-to-write', '1'))
  await withRedis(url.replace(/^redis-sentinel(.*),.*/, 'redis$1'), (server) =>
    server.call('SENTINEL', 'SET', 'limits', 'quorum', '2'),
  )
  const few = 'fault: 1 of 2 in REDIS_URL answer; the quorum is 2 of 1'
  expect(await lines()).toEqual([few, named, 'ok: 1 follow closely'])
})
