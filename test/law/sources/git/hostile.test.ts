import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { deflateSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { readClone } from '#law/sources/git/clone.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { FIRST, LATER, TWO, PATH, act, commit, git, message, repositoryOf, type Step } from './repository.ts'

const root = folderOfFile()
const repository = (...steps: readonly Step[]): string => repositoryOf(root, steps)

describe('a hostile or broken repository', () => {
  test('runs nothing of its own, whatever its configuration, hooks, filters and replacements say', async () => {
    const folder = repository(FIRST, [message('reform'), act(TWO, LATER)])
    const ran = join(root, 'ran')
    const program = join(root, 'program.sh')
    writeFileSync(program, `#!/bin/sh\ntouch ${ran}\n`)
    chmodSync(program, 0o755)
    const clean = await readClone({ path: folder })
    const [newest, oldest] = [git(folder, 'rev-parse', 'HEAD'), git(folder, 'rev-parse', 'HEAD~1')]
    writeFileSync(
      join(folder, '.git', 'config'),
      `[core]\n\tfsmonitor = ${program}\n\tsshCommand = ${program}\n\tpager = ${program}\n\talternateRefsCommand = ${program}\n` +
        `[filter "x"]\n\tsmudge = ${program}\n[remote "o"]\n\turl = ext::${program}\n\tpromisor = true\n`,
    )
    writeFileSync(join(folder, '.git', 'info', 'grafts'), `${newest}\n`)
    mkdirSync(join(folder, '.git', 'refs', 'replace'), { recursive: true })
    writeFileSync(join(folder, '.git', 'refs', 'replace', newest), `${oldest}\n`)
    expect(await readClone({ path: folder })).toEqual(clean)
    expect(existsSync(ran)).toBe(false)
  })

  test.each<[string, string, (folder: string, other: string) => void]>([
    [
      'alternates',
      'borrows objects',
      (folder, other) =>
        writeFileSync(join(folder, '.git', 'objects', 'info', 'alternates'), `${other}/.git/objects\n`),
    ],
    [
      'a .git file',
      'leads out',
      (folder, other) => {
        renameSync(join(folder, '.git'), join(folder, 'moved'))
        writeFileSync(join(folder, '.git'), `gitdir: ${other}/.git\n`)
      },
    ],
    [
      'a link to objects',
      'leads out',
      (folder, other) => {
        renameSync(join(folder, '.git', 'objects'), join(folder, 'moved'))
        symlinkSync(join(other, '.git', 'objects'), join(folder, '.git', 'objects'))
      },
    ],
    [
      'a link to a repository',
      'leads out',
      (folder, other) => {
        renameSync(join(folder, '.git'), join(folder, 'moved'))
        symlinkSync(join(other, '.git'), join(folder, '.git'))
      },
    ],
    [
      'HEAD without a commit',
      'no commit',
      (folder) => writeFileSync(join(folder, '.git', 'HEAD'), 'ref: refs/heads/none\n'),
    ],
    [
      'HEAD outside',
      'no commit',
      (folder) => writeFileSync(join(folder, '.git', 'HEAD'), 'ref: refs/heads/../../../secret\n'),
    ],
  ])('with %s is refused', async (_, words, spoil) => {
    const [folder, other] = [repository(FIRST), repository(FIRST)]
    spoil(folder, other)
    await expect(readClone({ path: folder })).rejects.toThrow(words)
  })

  test('with another object under the name of one, or without one, is refused with that name', async () => {
    const folder = repository(FIRST)
    const blob = git(folder, 'rev-parse', `HEAD:${PATH}`)
    const path = join(folder, '.git', 'objects', blob.slice(0, 2), blob.slice(2))
    const content = Buffer.from(act(TWO))
    chmodSync(path, 0o644)
    writeFileSync(path, deflateSync(Buffer.concat([Buffer.from(`blob ${content.length}\0`), content])))
    await expect(readClone({ path: folder })).rejects.toThrow(blob)
    renameSync(path, `${path}.gone`)
    await expect(readClone({ path: folder })).rejects.toThrow(`lacks the blob ${blob}`)
  })

  test('that is shallow says so', async () => {
    const folder = repository(FIRST, [message('reform'), act(TWO, LATER)])
    const shallow = join(root, 'shallow')
    git(root, 'clone', '-q', '--depth', '1', pathToFileURL(folder).href, shallow)
    await expect(readClone({ path: shallow })).rejects.toThrow('git fetch --unshallow')
  })

  test('gives no link, no submodule and no file above the bound', async () => {
    const folder = repository(FIRST)
    symlinkSync('/etc/passwd', join(folder, 'pe', 'LINK.md'))
    git(folder, 'update-index', '--add', '--cacheinfo', `160000,${git(folder, 'rev-parse', 'HEAD')},pe/SUB.md`)
    commit(folder, 'Link', {})
    expect((await readClone({ path: folder })).revisions.map(({ path }) => path)).toEqual([PATH])
    commit(folder, message('new'), { 'pe/LARGE.md': act(TWO, { identifier: 'L' }) })
    commit(folder, message('reform'), {
      'pe/LARGE.md': 'x'.repeat(9 * 1024 * 1024),
      'pe/Z.md': act(TWO, { identifier: 'Z' }),
    })
    const { revisions, held } = await readClone({ path: folder })
    expect(revisions.map(({ path }) => path)).toEqual([PATH, 'pe/Z.md'])
    expect(held.map(({ reason }) => /bytes, more than/.test(reason))).toEqual([true, true])
  })

  test('whose bytes are exchanged at random ends in a sentence, or reads the same', async () => {
    const folder = repository(FIRST, [message('reform'), act(TWO, LATER)])
    git(folder, 'gc', '-q')
    const clean = await readClone({ path: folder })
    const pack = join(folder, '.git', 'objects', 'pack')
    const file = join(pack, readdirSync(pack).find((name) => name.endsWith('.pack')) ?? '')
    const bytes = readFileSync(file)
    chmodSync(file, 0o644)
    const outcomes = new Set<unknown>()
    for (let at = 12; at < bytes.length; at += 37) {
      const spoilt = Buffer.from(bytes)
      spoilt.writeUInt8((spoilt[at] ?? 0) ^ 0x5a, at)
      writeFileSync(file, spoilt)
      const read = await readClone({ path: folder }).catch((error: unknown) => error)
      outcomes.add(read instanceof Error ? read.name : isDeepStrictEqual(read, clean))
    }
    expect([...outcomes].filter((outcome) => outcome !== true)).toEqual(['OperatorError'])
  })
})
