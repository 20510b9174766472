import { cpSync, existsSync, globSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readLastLink } from '#core/db/version-chain.ts'
import { readSignedManifest } from '#core/index/format/manifest.ts'
import { publishedHead } from '#jobs/platform/published-head.ts'
import { writeProofs } from '#jobs/trace/proofs.ts'
import { withoutGuards } from '#test/support/postgres.ts'
import { createTracedVersions } from './traced-versions.ts'

const PASSAGES = 40
const { root, owner, publicKeyDer, base, versions, activate, write } = await createTracedVersions(PASSAGES)

const filesOf = (folder: string): readonly string[] =>
  globSync('**/*.{html,json,jsonl,sig,mjs}', { cwd: folder }).toSorted()

test('what a version published stays after other activations, and after the trace is off', async () => {
  const traceDir = join(root, 'first')
  await activate(versions[0])
  await write(traceDir)
  const before = filesOf(traceDir)
  const kept = new Map(before.map((file) => [file, readFileSync(join(traceDir, file), 'utf8')]))
  await activate(versions[1])
  await write(traceDir)
  expect((await publishedHead(traceDir, base.slug))?.sequence).toBe(2)
  expect(filesOf(traceDir)).toEqual(expect.arrayContaining([...before]))
  const ofVersion = before.filter((file) => file.includes(`/versions/${versions[0].versionId}/`))
  expect(ofVersion).toHaveLength(16 + 3)
  for (const file of ofVersion) expect(readFileSync(join(traceDir, file), 'utf8')).toBe(kept.get(file))
  const snapshot = before.find((file) => /\/snapshots\/.*\.json$/.test(file)) ?? ''
  expect(JSON.parse(readFileSync(join(traceDir, snapshot), 'utf8'))).toMatchObject({
    versions: versions.map(({ versionId }) => versionId),
  })
  await owner.query('update knowledge_bases set traced = false where id = $1', [base.id])
  await activate(versions[0])
  await write(traceDir)
  await owner.query('update knowledge_bases set traced = true where id = $1', [base.id])
  expect((await publishedHead(traceDir, base.slug))?.sequence).toBe(2)
})

test('a published history that the database does not continue stays as it is', async () => {
  const traceDir = join(root, 'later')
  await write(traceDir)
  const head = join(traceDir, base.slug, 'head.json')
  const later = { ...(await publishedHead(traceDir, base.slug)), sequence: 99 }
  writeFileSync(head, JSON.stringify(later))
  await expect(write(traceDir)).rejects.toThrow('ends with entry 99, which the database lacks')
  expect(JSON.parse(readFileSync(head, 'utf8'))).toEqual(later)
})

test('no file of a trace holds a text, a label, an anchor or a chunk_id', async () => {
  const traceDir = join(root, 'texts')
  await write(traceDir)
  const all = filesOf(traceDir).map((file) => readFileSync(join(traceDir, file), 'utf8'))
  expect(all.length).toBeGreaterThan(40)
  for (const { record } of versions[1].rows)
    for (const secret of [record.text, record.citation.label, record.citation.source_anchor, record.chunk_id])
      expect(all.filter((text) => text.includes(`"${secret}"`) || text.includes(`>${secret}<`))).toEqual([])
})

test('proofs that do not fit in memory together give the same files', async () => {
  const folder = versions[1].folder
  const { manifest } = await readSignedManifest(folder, [publicKeyDer], 'unrecorded')
  const targets = [join(root, 'at-once'), join(root, 'in-parts')]
  await writeProofs({ artifactFolder: folder, manifest, target: targets[0] ?? '' })
  await writeProofs({ artifactFolder: folder, manifest, target: targets[1] ?? '', heldMax: 7 })
  const [whole = [], parts] = targets.map((target) =>
    filesOf(target).map((file) => [file, readFileSync(join(target, file), 'utf8')]),
  )
  expect(parts).toEqual(whole)
  expect(whole.join('').split('"name"')).toHaveLength(PASSAGES + 1)
})

test('an artifact that was edited in place is not published', async () => {
  const [first] = versions
  const { folder, versionId } = first
  const traceDir = join(root, 'edited')
  cpSync(folder, join(root, 'before'), { recursive: true })
  const path = join(folder, 'passages.jsonl')
  writeFileSync(path, readFileSync(path, 'utf8').replace('keeps a record', 'kept a record'))
  await expect(write(traceDir)).rejects.toThrow('not under the Merkle root of the manifest')
  writeFileSync(join(folder, 'manifest.json'), '{}')
  await expect(write(traceDir)).rejects.toThrow(`The artifact of version ${versionId} is not the one`)
  expect(existsSync(join(traceDir, base.slug, 'versions', versionId))).toBe(false)
  expect(await publishedHead(traceDir, base.slug)).toBeUndefined()
  rmSync(folder, { recursive: true })
  renameSync(join(root, 'before'), folder)
})

test('a version whose files were removed before is left out, and the others are published', async () => {
  const [first, second] = versions
  const traceDir = join(root, 'removed')
  renameSync(first.folder, join(root, 'gone'))
  await write(traceDir)
  renameSync(join(root, 'gone'), first.folder)
  const pages = filesOf(join(traceDir, base.slug, 'versions')).filter((file) => file.endsWith('.html'))
  expect(pages).toEqual([`${second.versionId}.html`])
  const page = readFileSync(join(traceDir, base.slug, 'index.html'), 'utf8')
  expect([page.includes(first.versionId), page.includes(`${first.versionId}.html`)]).toEqual([true, false])
})

test.each([
  ['record', "jsonb_set(record::jsonb, '{changes}', '1')::text", 'its record is not the one that was signed'],
  ['entry', "replace(entry, 'activate', 'rollback')", 'its signature holds under no key'],
  ['entry', '(select entry from version_chain where sequence = 2)', 'it does not follow the entry before'],
])('a %s of the chain that was altered in Postgres is not published: %s', async (column, altered, fault) => {
  const before = await readLastLink(owner, base.id)
  const signature = altered.startsWith('(')
    ? ', signature = (select signature from version_chain where sequence = 2)'
    : ''
  await withoutGuards(owner, `update version_chain set ${column} = ${altered}${signature} where sequence = 3`, [])
  await expect(write(join(root, 'altered'))).rejects.toThrow(`Entry 3 of the version chain of ${base.slug}: ${fault}`)
  await withoutGuards(owner, 'update version_chain set entry = $1, record = $2, signature = $3 where sequence = 3', [
    before?.entry,
    before?.record,
    before?.signature,
  ])
  expect(await publishedHead(join(root, 'altered'), base.slug)).toBeUndefined()
})
