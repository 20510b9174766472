import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { insertCapture, insertSource, lastGoodCapture } from '#core/db/sources.ts'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { JOBS_VARIABLES } from '#jobs/platform/config.ts'
import { captureSource } from '#jobs/capture/pipeline.ts'
import type { Captured } from '#jobs/capture/run-child.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import { addSource, sourceNamed } from '#operator/actions/sources.ts'
import { openTestPools } from '#test/support/postgres.ts'
import { storeIn } from '#test/support/artifact.ts'
import { folderOfFile } from '#test/support/folder.ts'

const SECRET = '<!doctype html><html lang="en"><body><h1>Bees</h1><p>The secret of the job worker.</p></body></html>'
const { jobs, operator: pool } = await openTestPools()
const folder = folderOfFile()
let store: ArtifactStore
let base: string
let knowledgeBaseId: string

/** The only root of the job worker. */
const root = join(folder, 'root')
for (const path of ['root/good', 'root/with-link', 'root/with-stated', 'root-secret'])
  await mkdir(join(folder, path), { recursive: true })
await writeFile(join(folder, 'root-secret/secret.html'), SECRET)
await writeFile(join(folder, 'root-secret/source.yaml'), 'authority: Secret\n')
await writeFile(join(root, 'good/good.html'), SECRET.replace('secret', 'rule'))
for (const [link, target] of [
  ['to-file.html', 'root-secret/secret.html'],
  ['to-folder', 'root-secret'],
  ['with-link/secret.html', 'root-secret/secret.html'],
  ['with-stated/source.yaml', 'root-secret/source.yaml'],
] as const)
  await symlink(join(folder, target), join(root, link))

beforeEach(async () => {
  base = `bees-${randomUUID().slice(0, 8)}`
  const operator = { database: pool, actor: 'tester' }
  ;({ id: knowledgeBaseId } = await createKnowledgeBase(operator, { slug: base, title: 'Bees' }))
  store = storeIn(await mkdtemp(join(folder, 'store-')))
})

/** Captures, as the job worker does, what a login of the operator wrote into Postgres past the command line. */
async function captured(name: string, location: string): Promise<Captured> {
  const source = { id: randomUUID(), knowledge_base_id: knowledgeBaseId, name, location, every_minutes: 60 }
  await insertSource(pool, { ...source, mapping: null, hosts: [], private: false })
  const placed = await sourceNamed(pool, name, knowledgeBaseId)
  return await captureSource({ database: jobs, store, actor: 'scheduled capture', roots: [root] }, placed)
}

test.each([
  ['the environment of a process', () => `/proc/${process.pid}/environ`, /is outside the folders .*SOURCE_ROOTS/],
  ['a path relative to the worker', () => 'package.json', /is outside the folders .*SOURCE_ROOTS/],
  ['a path that leads up', () => `${root}/../root-secret`, /is outside the folders/],
  ['a folder beside a root, of a similar name', () => `${root}-secret`, /is outside the folders/],
  ['a link to a file', () => join(root, 'to-file.html'), /is a link/],
  ['a link to a folder', () => join(root, 'to-folder'), /is a link/],
  ['a file behind a link', () => join(root, 'to-folder/secret.html'), /is a link/],
  ['a folder that holds a link', () => join(root, 'with-link'), /secret\.html is a link/],
  ['a folder whose source.yaml is a link', () => join(root, 'with-stated'), /source\.yaml is a link/],
])('a source that is %s is refused with a sentence, and no byte of it is kept', async (_what, place, sentence) => {
  const message = expect.stringMatching(sentence)
  expect(await captured('placed', place())).toMatchObject({ outcome: 'failed', message, import_id: null })
  expect(await readdir(dirname(dirname(store.snapshotFile('any')))).catch(() => [])).toEqual([])
})

test('what a capture names by no SHA-256 is no file of the store', async () => {
  await captured('good', join(root, 'good'))
  const { id } = await sourceNamed(pool, 'good', null)
  const file = { sourceName: 'good.html', mediaType: 'text/html', sha256: '../../../proc/self/environ', bytes: 1 }
  await insertCapture(pool, { source_id: id, outcome: 'changed', message: null, files: [file] })
  await expect(lastGoodCapture(jobs, id)).rejects.toThrow(/sha256/)
})

test('a snapshot that was exchanged in the store is not imported, before the first build either', async () => {
  await captured('one', join(root, 'good'))
  const good = await lastGoodCapture(jobs, (await sourceNamed(pool, 'one', null)).id)
  const snapshot = store.snapshotFile(good?.files?.[0]?.sha256 ?? '')
  await rm(snapshot)
  await symlink('/proc/self/environ', snapshot)
  await mkdir(join(root, 'other'))
  await writeFile(join(root, 'other/other.html'), SECRET.replaceAll('Bees', 'Wasps'))
  const { message } = await captured('other', join(root, 'other'))
  expect(message).toMatch(/snapshot of good\.html was changed after it was captured/)
})

test('SOURCE_ROOTS takes absolute folders, and none below which everything, a process or a device could be opened', () => {
  const { schema } = JOBS_VARIABLES.SOURCE_ROOTS
  expect(schema.parse(undefined)).toEqual([])
  expect(schema.parse('/srv/law/:/mnt/../srv/more')).toEqual(['/srv/law', '/srv/more'])
  for (const refused of ['law', '/', '/srv:/', '/srv:', '/proc/1', '/srv:/dev', '/srv/../sys'])
    expect(schema.safeParse(refused).success, refused).toBe(false)
})

test('a source is refused with a sentence where it cannot be captured or read as the others are', async () => {
  const refused = (further: object): Promise<unknown> =>
    addSource(
      { database: pool, actor: 'tester' },
      { name: 'bees', knowledgeBase: base, from: 'https://bees.example/a', ...further },
    )
  for (const [further, why] of [
    [{ from: 'http://bees.example/a' }, /is not HTTPS/],
    [{ from: join(folder, 'none') }, /cannot read/],
    [{ from: '/proc/self/environ' }, /is no regular file and no folder/],
    [{ from: folder, everyMinutes: 60, roots: [root] }, /is outside .* SOURCE_ROOTS names/],
    [{ from: 'https://user:secret@bees.example/a' }, /must not hold a password/],
    [{ allowHost: ['*.example'] }, /names of hosts, each whole/],
  ] as const)
    await expect(refused(further)).rejects.toThrow(why)
  const sourceYaml = join(folder, 'stated.yaml')
  await writeFile(sourceYaml, 'authority: Bee Office\njurisdiction: ZZ\n')
  await refused({ sourceYaml })
  await expect(refused({ name: 'other' })).rejects.toThrow(/is read with another mapping/)
  await expect(refused({ sourceYaml })).rejects.toThrow(/has a source "bees"/)
})
