import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { mkdir, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createArtifactStore } from '#core/index/format/store.ts'
import { SOURCE_BOUNDS } from '#law/sources/bounds.ts'
import { captureSources, snapshotsOf } from '#law/sources/capture.ts'
import { listSource, type SourceFile } from '#law/sources/list.ts'
import { folderOfTest, folderWith } from '#test/support/folder.ts'

/** A program of the system. */
const MAKE_PIPE = 'mkfifo'
const emptyStore = (): ReturnType<typeof createArtifactStore> => createArtifactStore(pathToFileURL(folderOfTest()).href)
const markdownOf = async (path: string): Promise<readonly SourceFile[]> => (await listSource(path, 'markdown')).files
const hex = (content: string): string => createHash('sha256').update(content).digest('hex')

describe('capturing sources', () => {
  test('holds the exact bytes under their SHA-256, and nothing else is left behind', async () => {
    const store = emptyStore()
    const content = 'Bienenstöcke\r\n'.repeat(100_000)
    const path = folderWith({ 'a.md': content, 'b.md': 'small', 'c.md': 'small' })
    const captured = await captureSources(store, await markdownOf(path))
    expect(captured).toEqual([
      { sourceName: 'a.md', mediaType: 'text/markdown', sha256: hex(content), bytes: Buffer.byteLength(content) },
      { sourceName: 'b.md', mediaType: 'text/markdown', sha256: hex('small'), bytes: 5 },
      { sourceName: 'c.md', mediaType: 'text/markdown', sha256: hex('small'), bytes: 5 },
    ])
    expect(await readFile(store.snapshotFile(hex(content)), 'utf8')).toBe(content)
    for (const kept of [content, 'small']) expect((await stat(store.snapshotFile(hex(kept)))).mode & 0o777).toBe(0o640)
    const names = await readdir(join(store.snapshotFile('00'), '..', '..'), { recursive: true, withFileTypes: true })
    expect(
      names
        .filter((entry) => entry.isFile())
        .map((entry) => entry.name)
        .sort(),
    ).toEqual([hex(content), hex('small')].sort())
  })

  test.each([
    ['small', 'The firm must act.'],
    ['large', 'The firm must act. '.repeat(SOURCE_BOUNDS.readBlockBytes / 10)],
  ])('keeps a whole snapshot that is already there, and replaces a damaged one: %s', async (_size, content) => {
    const store = emptyStore()
    const files = await markdownOf(folderWith({ 'a.md': content }))
    await captureSources(store, files)
    const path = store.snapshotFile(hex(content))
    const held = await stat(path)
    await captureSources(store, files)
    expect((await stat(path)).ino).toBe(held.ino)
    for (const damaged of [content.slice(0, 3), content.replace('must', 'may!')]) {
      await writeFile(path, damaged)
      await captureSources(store, files)
      expect(hex(await readFile(path, 'utf8'))).toBe(hex(content))
    }
  })

  test('follows a link within the folder and refuses one that leads out of it', async () => {
    const store = emptyStore()
    const path = folderWith({ 'a.md': 'inside' })
    await symlink('a.md', join(path, 'within.md'))
    expect(await captureSources(store, await markdownOf(path))).toHaveLength(2)
    await symlink(join(folderWith({ 'secret.md': 'outside' }), 'secret.md'), join(path, 'out.md'))
    await expect(captureSources(store, await markdownOf(path))).rejects.toThrow(/leads out of/)
    await expect(stat(store.snapshotFile(hex('outside')))).rejects.toThrow(/ENOENT/)
  })

  test.each([
    ['small', 'The firm must act.'],
    ['large', 'The firm must act. '.repeat(SOURCE_BOUNDS.readBlockBytes / 10)],
  ])('keeps no byte of what changes while it is read: %s', async (_size, content) => {
    const store = emptyStore()
    const path = folderWith({ 'a.md': content })
    let isWritten = false
    const onBytes = (): void => {
      if (!isWritten) appendFileSync(join(path, 'a.md'), 'More.')
      isWritten = true
    }
    await expect(captureSources(store, await markdownOf(path), { onBytes })).rejects.toThrow(
      /changed while it was read/,
    )
    const left = await readdir(join(store.snapshotFile('00'), '../../..'), { recursive: true, withFileTypes: true })
    expect(left.filter((entry) => entry.isFile())).toEqual([])
  })

  test.each([
    ['a file by a link', 'a.md', 'file'],
    ['its folder by a link', 'sub', 'dir'],
    ['a file by a pipe', 'a.md', 'pipe'],
  ])('below roots, opens nothing else than what was listed: someone exchanges %s', async (_what, name, kind) => {
    const store = emptyStore()
    const [path, outside] = [folderWith({ 'sub/a.md': 'inside' }), folderWith({ 'a.md': 'outside' })]
    const { files } = await listSource(path, 'markdown', [path])
    const exchanged = name === 'sub' ? join(path, 'sub') : join(path, 'sub', name)
    await rm(exchanged, { recursive: true })
    if (kind === 'pipe') execFileSync(MAKE_PIPE, [exchanged])
    else await symlink(kind === 'dir' ? outside : join(outside, 'a.md'), exchanged)
    await expect(captureSources(store, files)).rejects.toThrow(kind === 'pipe' ? /is not a regular file/ : /is a link/)
    await expect(stat(store.snapshotFile(hex('outside')))).rejects.toThrow(/ENOENT/)
  })

  test('below a root that is a link itself, reads a tree of folders', async () => {
    const path = folderWith({ 'a.md': 'one', 'sub/deeper/b.md': 'two' })
    const link = `${path}-link`
    await symlink(path, link)
    const { files } = await listSource(path, 'markdown', ['/nowhere', link])
    expect((await captureSources(emptyStore(), files)).map(({ sourceName }) => sourceName)).toEqual([
      'a.md',
      'sub/deeper/b.md',
    ])
    await expect(listSource(path, 'markdown', [])).rejects.toThrow(/SOURCE_ROOTS names \(none\)/)
  })

  test('refuses what is no regular file, too large, or gone', async () => {
    const store = emptyStore()
    const path = folderWith({ 'big.md': '' })
    await truncate(join(path, 'big.md'), SOURCE_BOUNDS.sourceFileBytesMax + 1)
    await expect(captureSources(store, await markdownOf(path))).rejects.toThrow(/larger than/)
    const source = { root: path, mediaType: 'text/markdown' }
    await expect(
      captureSources(store, [{ ...source, path: join(path, 'gone.md'), sourceName: 'gone.md' }]),
    ).rejects.toThrow(/does not exist/)
    await mkdir(join(path, 'folder.md'))
    await expect(
      captureSources(store, [{ ...source, path: join(path, 'folder.md'), sourceName: 'folder.md' }]),
    ).rejects.toThrow(/not a regular file/)
  })

  test('names a snapshot after its knowledge base, source and bytes', () => {
    const idOf = (base: string, sourceName: string, content: string) =>
      snapshotsOf(base, [{ sourceName, mediaType: 'text/markdown', sha256: hex(content), bytes: 1 }])[0]?.id
    const id = idOf('k', 'a.md', 'x')
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(idOf('k', 'a.md', 'x')).toBe(id)
    expect(new Set([id, idOf('l', 'a.md', 'x'), idOf('k', 'b.md', 'x'), idOf('k', 'a.md', 'y')]).size).toBe(4)
  })
})
