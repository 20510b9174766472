import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { changesOf, commitsOf } from '#law/sources/git/history.ts'
import { openObjects } from '#law/sources/git/objects.ts'
import { folderOfTest } from '#test/support/folder.ts'
import { createRepository, git } from './repository.ts'

/** Names that begin alike, stand beside folders of the same name, or change places with them. */
const NAMES = [
  'a',
  'a.md',
  'a/b',
  'a/c.md',
  'ab',
  'b',
  'b/a',
  'b/a.md',
  'b/ab.md',
  'b-c',
  'c/d/e',
  'c/d/f',
  'c/dd',
  'z',
]
const step = fc.record({ name: fc.constantFrom(...NAMES), text: fc.option(fc.constantFrom('1', '2', '3')) })

/** 15 repositories of up to 30 commits: 1.5 s. */
test('the changes of a history are those that git itself lists', async () => {
  const root = folderOfTest()
  const commits = fc.array(fc.array(step, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 30 })
  let made = 0
  const listed = fc.asyncProperty(commits, async (history) => {
    const folder = `${root}/${(made += 1)}`
    createRepository(folder)
    const input = history.map((steps) => `${COMMIT}${steps.map(({ name, text }) => lineOf(name, text)).join('')}`)
    execFileSync('git', ['fast-import', '--quiet'], { cwd: folder, input: input.join('') })
    await using objects = await openObjects(folder)
    const found: string[] = []
    for await (const { path, commit, blob } of changesOf(objects, await commitsOf(objects, () => {}), () => {}))
      found.push(`${commit.id} ${path} ${blob ?? '-'}`)
    expect(found.toSorted()).toEqual(gitsOwn(folder).toSorted())
  })
  await fc.assert(listed, { numRuns: 15 })
})

const COMMIT = 'commit refs/heads/main\ncommitter Publisher <publisher@law.example> 1500000000 +0000\ndata 1\nx\n'

function lineOf(name: string, text: string | null): string {
  return text === null ? `D ${name}\n` : `M 100644 inline ${name}\ndata 1\n${text}\n`
}

/** Lines of commit, path and blob, as `git log` has them. */
function gitsOwn(folder: string): string[] {
  let commit = ''
  return git(folder, 'log', '--format=commit %H', '--raw', '--no-renames', '--abbrev=40', '--root', '-t', '-r')
    .split('\n')
    .flatMap((line) => {
      commit = /^commit (.+)$/.exec(line)?.[1] ?? commit
      const [, old, now, oldId, id = '', path] = /^:(\d+) (\d+) (\w+) (\w+) \w\t(.+)$/.exec(line) ?? []
      if (path === undefined) return []
      const [was, is] = [old?.startsWith('100') ? oldId : undefined, now?.startsWith('100') ? id : undefined]
      return was === is ? [] : [`${commit} ${path} ${is ?? '-'}`]
    })
}
