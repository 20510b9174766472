import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { insertBuild, readBuild } from '#core/db/builds.ts'
import { readImport } from '#core/db/imports.ts'
import { disposableSnapshots } from '#core/db/retention.ts'
import { builtMeanwhile, insertCapture, lastCaptures, lastGoodCapture, newestImport } from '#core/db/sources.ts'
import { sortPassages } from '#jobs/version-build/sort.ts'
import { createLog } from '#core/platform/log.ts'
import { captureSource } from '#jobs/capture/pipeline.ts'
import type { Captured } from '#jobs/capture/run-child.ts'
import { forgetOld } from '#jobs/worker/workers.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { addSource, removeSourceNamed, sourceNamed } from '#operator/actions/sources.ts'
import { QUIET_BUILD } from '#test/jobs/version-build/quiet-build.ts'
import { startJsonServer } from '#test/support/json-server.ts'
import { openTestPools } from '#test/support/postgres.ts'
import { insertVersion } from '#test/support/version-rows.ts'
import { storeIn } from '#test/support/artifact.ts'
import { folderOfFile } from '#test/support/folder.ts'

const STATED = `authority: Bee Office
jurisdiction: ZZ
canonical_url: https://bees.example/
published_at: 2020-01-01
effective_at: 2020-01-01
`
const { jobs, operator: pool, owner } = await openTestPools()
const operator = { database: pool, actor: 'tester' }
const folder = folderOfFile()
let page: string
/** The server is asked for a change by it. */
let tag: string
let base: string
let baseId: string

function law(rule: string): string {
  return `<!doctype html><html lang="en"><body><h1>Bees</h1><h2>Hives</h2><p>${rule}</p><h2>Honey</h2><p>Store it.</p></body></html>`
}

await writeFile(join(folder, 'stated.yaml'), STATED)
const server = await startJsonServer(({ headers }, response) => {
  if (headers['if-none-match'] === tag) response.writeHead(304).end()
  else response.writeHead(200, { etag: tag }).end(page)
})
afterAll(() => server.stop())
function change(to: string): void {
  page = to
  tag = `"${randomUUID()}"`
}

beforeEach(async () => {
  base = `bees-${randomUUID().slice(0, 8)}`
  change(law(`Keep ${base}.`))
  ;({ id: baseId } = await createKnowledgeBase(operator, { slug: base, title: 'Bees' }))
})

async function added(name: string, from = `${server.baseUrl}/bees.html`): Promise<void> {
  const sourceYaml = join(folder, 'stated.yaml')
  await addSource(operator, { name, knowledgeBase: base, from, sourceYaml, allowPrivate: true })
}

/** Captures as the job worker does, with its rights. */
async function captured(name: string, storeFolder = 'store', database = jobs, roots = [folder]): Promise<Captured> {
  const store = storeIn(join(folder, storeFolder))
  const deps = { database, store, actor: 'scheduled capture', roots, preparesBuilds: true }
  return await captureSource(deps, await sourceIn(name))
}

/** The files of a folder by their names; none where there is no folder. */
async function filesIn(path: string): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(path).catch(() => [])
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(path, name), 'utf8')] as const)),
  )
}

/** Captures the source `bees`, of which a build then has the parameters, and changes what its address answers. */
async function builtThenChanged(): Promise<Omit<Parameters<typeof insertBuild>[1], 'id'>> {
  await added('bees')
  const { import_id: importId } = await captured('bees')
  const { knowledge_base_id: knowledgeBaseId } = await sourceIn('bees')
  const build = { knowledgeBaseId, importId: importId ?? '', parameters: { embedding: 'none' }, startedBy: 'tester' }
  await insertBuild(pool, { ...build, id: randomUUID() })
  change(law('Count bees.'))
  return build
}

async function sourceIn(name: string): ReturnType<typeof sourceNamed> {
  return await sourceNamed(pool, name, baseId)
}

describe('a capture of an address', () => {
  test('imports what it holds, and once a build has set the parameters each change is a build', async () => {
    await added('bees')
    const first = await captured('bees')
    expect(first).toMatchObject({ outcome: 'changed', files: 1, build_id: null })
    expect(first.message).toContain(`operator build start --import ${first.import_id}`)
    const parameters = { embedding: 'none', target_risk: 0.1 }
    const source = await sourceIn('bees')
    const importId = first.import_id ?? ''
    const knowledgeBaseId = source.knowledge_base_id
    await insertBuild(pool, { id: randomUUID(), knowledgeBaseId, importId, parameters, startedBy: 'tester' })

    expect(await captured('bees')).toMatchObject({ outcome: 'unchanged', import_id: null, build_id: null })
    change(law('Count bees.'))
    const second = await captured('bees')
    expect(second).toMatchObject({ outcome: 'changed', message: null })
    const build = await readBuild(pool, second.build_id ?? '')
    expect(build).toMatchObject({ import_id: second.import_id, state: 'queued', parameters })
  })

  test('of which an earlier release built a version builds the next in the same embedding space', async () => {
    await builtThenChanged()
    await insertVersion(owner, { slug: base, state: 'candidate', passages: 1 })
    await owner.query(`update builds set parameters = '{"embedding":"openai"}' where parameters::text = '{}'`)
    const build = await readBuild(pool, (await captured('bees')).build_id ?? '')
    const endpoint = { model: 'test', query_prefix: '', passage_prefix: '' }
    expect(build?.parameters).toMatchObject({ embedding: 'openai', endpoint })
  })

  test('asks for a change by the tag of the last one, unless the store has lost its bytes', async () => {
    await added('bees')
    const first = await captured('bees')
    const { files } = (await lastGoodCapture(jobs, (await sourceIn('bees')).id)) ?? {}
    page = 'not sent'
    expect(await captured('bees')).toMatchObject({ outcome: 'unchanged', message: null })
    page = law(`Keep ${base}.`)
    const snapshot = storeIn(join(folder, 'store')).snapshotFile(files?.[0]?.sha256 ?? '')
    await rm(snapshot)
    expect(await captured('bees')).toMatchObject({ outcome: 'unchanged', files: first.files })
    expect(await readFile(snapshot, 'utf8')).toBe(page)
  })

  test('sorts for its build what that build would sort, and leaves nothing of a refused one', async () => {
    const store = storeIn(join(folder, 'store'))
    const { knowledgeBaseId } = await builtThenChanged()
    const { import_id: importId, build_id: buildId } = await captured('bees')
    const workFolder = store.workFolder(randomUUID())
    await sortPassages({
      fence: { attempt: 1 },
      knowledgeBaseId,
      source: await readImport(pool, importId ?? ''),
      parameters: { withdrawals: { drop: [], restore: [] } },
      store,
      workFolder,
      progress: QUIET_BUILD.progress,
      signal: new AbortController().signal,
    })
    const sorted = await filesIn(workFolder)
    expect(Object.keys(sorted).sort()).toEqual(['corpus.json', 'documents.jsonl', 'passages.jsonl', 'revisions.jsonl'])
    expect(await filesIn(store.workFolder(buildId ?? ''))).toEqual(sorted)

    const folders = await readdir(dirname(workFolder))
    change(law('Count bees.').replace('lang="en"', ''))
    const { message, import_id: refused } = await captured('bees')
    expect([message, refused]).toEqual([expect.stringContaining('Nothing in the source'), null])
    expect(await readdir(dirname(workFolder))).toEqual(folders)
  })

  test('records no import without its build, so that a capture that was cut off between them is made up for', async () => {
    await builtThenChanged()
    await owner.query('revoke insert (parameters) on builds from evidence_jobs')
    try {
      await expect(captured('bees')).rejects.toThrow(/permission denied/)
    } finally {
      await owner.query('grant insert (parameters) on builds to evidence_jobs')
    }
    expect(await captured('bees')).toMatchObject({ outcome: 'unchanged', build_id: expect.any(String) })
  })

  test('that is imported and built by an operator meanwhile is built once', async () => {
    const { importId: before, ...started } = await builtThenChanged()
    const { knowledgeBaseId } = started
    const { import_id: own } = await captured('bees')
    await pool.query(
      'insert into imports (id, knowledge_base_id, mapping, snapshot_ids, report) select gen_random_uuid(), ' +
        'knowledge_base_id, mapping, snapshot_ids, report from imports where id = $1',
      [own],
    )
    const other = await newestImport(pool, knowledgeBaseId)
    expect(await builtMeanwhile(jobs, own ?? '', before)).toBe(false)
    await insertBuild(pool, { ...started, id: randomUUID(), importId: other?.id ?? '' })
    expect(await builtMeanwhile(jobs, own ?? '', before)).toBe(true)
    expect(await builtMeanwhile(jobs, own ?? '', other?.id)).toBe(false)
  })

  test.each([
    ['an error page without law', 'Service unavailable', /bees\.html(?::1)?: /],
    ['a page of another format', '---\ntitle: Bees\n---\n# Bees\n\nKeep bees.\n', /it is markdown now, and was html/],
  ])('that gives %s says so and leaves the last good one in force', async (_name, bad, sentence) => {
    await added('bees')
    await captured('bees')
    const good = await lastGoodCapture(jobs, (await sourceIn('bees')).id)
    change(bad)
    const failed = await captured('bees')
    expect(failed).toMatchObject({ outcome: 'failed', import_id: null, build_id: null })
    expect(failed.message).toMatch(sentence)
    const { id } = await sourceIn('bees')
    expect((await lastCaptures(jobs, id, 5)).map(({ outcome }) => outcome)).toEqual(['failed', 'changed'])
    expect(await lastGoodCapture(jobs, id)).toEqual(good)
    const rules = { versionDays: 0, snapshotDays: 0, ledgerDays: 0, goneVersions: [], limit: 100 }
    const [kept] = await lastCaptures(jobs, id, 1)
    expect(await disposableSnapshots(pool, rules)).toContain(kept?.files?.[0]?.sha256)
    expect(await disposableSnapshots(pool, rules)).not.toContain(good?.files?.[0]?.sha256)
    await removeSourceNamed(operator, await sourceIn('bees'))
    expect(await disposableSnapshots(pool, rules)).toContain(good?.files?.[0]?.sha256)
  })
})

test('a source that is captured while another one is imported is in the import that follows', async () => {
  await writeFile(join(folder, 'wasps.html'), law('Keep wasps.').replaceAll('Bees', 'Wasps'))
  await added('bees')
  await added('wasps', join(folder, 'wasps.html'))
  await captured('bees')
  await captured('wasps')
  change(law('Count bees.'))
  await writeFile(join(folder, 'wasps.html'), law('Count wasps.').replaceAll('Bees', 'Wasps'))
  let other: Promise<Captured> | undefined
  const database = new Proxy(jobs, {
    get(target, name): unknown {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      // The transaction of the import is the first thing that takes a connection.
      if (name !== 'connect' || other !== undefined)
        return (...args: unknown[]): unknown => Reflect.apply(value, target, args)
      return async () => {
        other = captured('wasps')
        await other
        return await target.connect()
      }
    },
  })
  await captured('bees', 'store', database)
  const newest = await newestImport(jobs, baseId)
  const inForce = [
    await lastGoodCapture(jobs, (await sourceIn('bees')).id),
    await lastGoodCapture(jobs, (await sourceIn('wasps')).id),
  ]
  expect(newest?.files.map(([, sha256]) => sha256).sort()).toEqual(
    inForce.flatMap((each) => each?.files?.map(({ sha256 }) => sha256) ?? []).sort(),
  )
})

test('captures that found nothing new are forgotten, but no change, the one in force or the last one', async () => {
  await added('bees')
  const { id } = await sourceIn('bees')
  const outcomes = ['changed', 'unchanged', 'failed', 'unchanged', 'failed', 'failed'] as const
  for (const outcome of outcomes)
    await insertCapture(jobs, { source_id: id, outcome, message: null, files: outcome === 'failed' ? null : [] })
  await owner.query("update captures set captured_at = now() - interval '31 days' where source_id = $1", [id])
  expect(await forgetOld({ database: jobs, log: createLog('test', 'silent') })).toEqual({ captures: 3 })
  expect((await lastCaptures(jobs, id, 9)).map(({ outcome }) => outcome)).toEqual(['failed', 'unchanged', 'changed'])
})

test('a source that is no file, and a store that takes no file, are failed captures that say so', async () => {
  const path = join(folder, 'socket')
  await writeFile(path, '')
  await added('socket', path)
  await rm(path)
  const socket = createServer().listen(path)
  await once(socket, 'listening')
  await expect(added('other', path)).rejects.toThrow(/is no regular file and no folder/)
  const message = expect.stringContaining('is no regular file and no folder')
  expect(await captured('socket')).toMatchObject({ outcome: 'failed', message })
  socket.close()
  await writeFile(join(folder, 'snapshots'), '')
  await added('bees')
  const full = await captured('bees', '.')
  expect(full).toMatchObject({ outcome: 'failed', message: expect.stringMatching(/^a file is not read or kept: E/) })
})

test('all sources of a knowledge base are imported together, and only once each has a good capture', async () => {
  await writeFile(join(folder, 'wasps.html'), law('Keep wasps.').replaceAll('Bees', 'Wasps'))
  await added('bees')
  await added('wasps', join(folder, 'wasps.html'))
  expect(await captured('bees')).toMatchObject({ import_id: null, message: expect.stringContaining('source wasps') })
  const { import_id: id } = await captured('wasps')
  const { snapshots } = await readImport(pool, id ?? '')
  expect(snapshots.map(({ sourceName }) => sourceName)).toEqual(['bees.html', 'wasps.html'])
  await removeSourceNamed(operator, await sourceIn('wasps'))
  const without = await captured('bees')
  expect(await readImport(pool, without.import_id ?? '')).toMatchObject({ snapshots: [{ sourceName: 'bees.html' }] })
})

test('a correction of the source.yaml of a folder is read by its next capture, and missed by no other source', async () => {
  const own = await mkdtemp(join(folder, 'own-'))
  await writeFile(join(own, 'rules.html'), law('Keep wasps.').replaceAll('Bees', 'Wasps'))
  await addSource(operator, { name: 'own', knowledgeBase: base, from: own })
  expect((await captured('own')).message).toMatch(/Nothing in the source became a passage/)
  await writeFile(join(own, 'source.yaml'), STATED)
  expect(await captured('own')).toMatchObject({ outcome: 'unchanged', import_id: expect.any(String) })
  await added('bees')
  // Where the worker must not open it, it was read when an operator captured it.
  expect((await captured('bees', 'store', jobs, [join(folder, 'store')])).import_id).not.toBeNull()
  await rm(own, { recursive: true })
  change(law('Count bees.'))
  expect(await captured('bees')).toMatchObject({ outcome: 'changed', import_id: expect.any(String) })
})
