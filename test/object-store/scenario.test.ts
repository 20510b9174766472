import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { startJobs, startSearchNode } from '#operator/demo/local/stack.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { commandLine } from '#test/support/operator-cli.ts'
import { WITH_FEW_QUERIES } from '#test/support/processes.ts'
import { loadedOn } from '#test/support/search-node.ts'
import { ANSWERED_QUERY, KNOWLEDGE_BASE, startTestService, type TestService } from '#test/support/service.ts'
import { expectEventually } from '#test/support/until.ts'
import { startObjectHarness } from './harness.ts'

const harness = await startObjectHarness()
const cache = folderOfFile()
let service: TestService
beforeAll(async () => {
  harness.use(harness.server.environment)
  const environment = {
    ...harness.server.environment,
    NODE_OPTIONS: WITH_FEW_QUERIES,
    ARTIFACT_STORE: harness.newUrl(),
    ARTIFACT_CACHE: cache,
    TRACE_DIR: folderOfFile(),
  }
  service = await startTestService({ servers: inject('servers'), environment })
})
afterAll(async () => await service?.stop())

const artifactOf = (node: string) => join(cache, node, 'artifacts', service.versionId)

test('a version is imported, built, approved and activated over a bucket, and a node serves its own copy', async () => {
  const caller = await service.createCaller()
  const { version, results } = (await caller.ask({ query: ANSWERED_QUERY })).retrieved()
  expect([version, results[0]?.citation.label]).toEqual([service.versionId, expect.stringContaining('COB-M 2.1')])
  expect(existsSync(join(service.settings.folder, 'store'))).toBe(false)
})

test('a node that starts with nothing, and may only read, loads what was active, and mends a copy', async () => {
  const environment = { ...service.settings.environment, ...harness.server.reader }
  const settings = { ...service.settings, environment }
  const name = 'node-of-its-own'
  const first = await startSearchNode(settings, name)
  await expectEventually(() => loadedOn(first.address), [service.versionId])
  await first.stop()
  const damaged = join(artifactOf(name), 'passages.jsonl')
  const whole = readFileSync(damaged)
  writeFileSync(damaged, Buffer.from(whole).fill(0, 0, 9))
  const again = await startSearchNode(settings, name)
  await expectEventually(() => loadedOn(again.address), [service.versionId])
  expect(readFileSync(damaged)).toEqual(whole)
  await again.stop()
})

test('an operator on another machine reads reports, documents and what may go; a backup refuses by name', async () => {
  const elsewhere = folderOfFile()
  const cli = commandLine({
    ...service.settings.environment,
    DATABASE_URL: service.operatorUrl,
    REDIS_URL: service.settings.redisUrl,
    MANIFEST_PUBLIC_KEY: service.settings.secrets.MANIFEST_PUBLIC_KEY,
    KEY_PEPPERS: service.settings.secrets.KEY_PEPPERS,
    SERVICE_SECRET: service.settings.secrets.SERVICE_SECRET,
    BACKUP_DATABASE_URL: service.ownerUrl,
    ARTIFACT_CACHE: elsewhere,
  })
  const out = join(elsewhere, 'report.html')
  await cli.json('review', 'report', service.versionId, '--out', out)
  expect(readFileSync(out, 'utf8')).toContain('<html')
  expect(await cli.json('documents', 'list', '--knowledge-base', KNOWLEDGE_BASE)).not.toEqual([])
  rmSync(join(elsewhere, 'artifacts'), { recursive: true })
  expect(await cli.json('gc', '--dry-run')).toMatchObject({ versions: [], bytes: 0 })
  const backup = await cli.run('backup', join(elsewhere, 'backup'), '--recipient', `age1${'q'.repeat(58)}`)
  expect([backup.code, backup.stderr]).toEqual([1, expect.stringMatching(/Backups and restores know no object store/)])
})

test('a job worker that may not write, or lacks a variable of the store, does not start and says why', async () => {
  const { settings } = service
  const refused = async (environment: Readonly<Record<string, string>>) =>
    await startJobs({ ...settings, environment: { ...settings.environment, ...environment } }, ['127.0.0.1:1'], 'no')
  await expect(refused(harness.server.reader)).rejects.toThrow(/The object store refuses access to probe\//)
  await expect(refused({ TRACE_DIR: '' })).rejects.toThrow(/TRACE_DIR is missing: an object store does not hold/)
  await expect(refused({ ARTIFACT_CACHE: '' })).rejects.toThrow(/ARTIFACT_CACHE is missing: an object store needs/)
})
