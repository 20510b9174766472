import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { createArtifactStore } from '#core/index/format/store.ts'
import { captureClone, cloneAt, cloneLocation, readClone } from '#law/sources/git/clone.ts'
import { inspectClone } from '#law/sources/git/inspect.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { FIRST, LATER, ONE, TWO, PATH, act, commit, git, message, repositoryOf, type Step } from './repository.ts'

const root = folderOfFile()
const repository = (...steps: readonly Step[]): string => repositoryOf(root, steps)

/** By guarantee: commits, each of its kind, its `Source-Date`, the text and fields of the act; days of revisions; reasons. */
const TABLE = readFileSync(new URL('versions.tsv', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => {
    const [name = '', commits = '', days = '', reasons = ''] = line.split('\t')
    const steps = commits.split(' | ').map((words): Step => {
      const [kind = '', day = '-', text, ...fields] = words.split(' ')
      const stated = new Map(fields.map((each) => [each.split('=')[0] ?? '', each.split('=')[1] ?? '']))
      return [
        message(kind, day === '-' ? undefined : day),
        text === undefined ? null : act(text, Object.fromEntries(stated)),
      ]
    })
    return [name, steps, days.split(', ').filter(Boolean), reasons.split('; ').filter(Boolean)] as const
  })

describe('the versions of a file', () => {
  test.each(TABLE)('%s', async (_, steps, days, reasons) => {
    const { revisions, held } = await readClone({ path: repository(...steps) })
    expect(revisions.map(({ from, until = '-' }) => `${from} ${until}`)).toEqual(days)
    expect(held.length).toBe(reasons.length)
    for (const [index, reason] of reasons.entries()) expect(held[index]?.reason).toContain(reason)
  })

  test('are found in every folder, added, changed or moved in any commit, and beside them nothing is', async () => {
    const folder = repository(FIRST)
    const other = (text: string, id: string): string => act(text, { identifier: id, ...LATER })
    for (let index = 0; index < 40; index += 1)
      commit(folder, message('new'), { [`pe/A-${index}.md`]: other(ONE, `A-${index}`) })
    commit(folder, message('reform'), {
      'pe/A-7.md': act(TWO, { identifier: 'A-7', last_updated: '2015-01-01' }),
      'README.md': 'x',
    })
    commit(folder, message('reform'), {
      'pe/A-8.md': null,
      'pe/A-9.md': act(TWO, { identifier: 'A-9', last_updated: '2015-01-01' }),
    })
    const { revisions, commits } = await readClone({ path: folder })
    expect(commits.size).toBe(43)
    expect(revisions.length).toBe(42)
    const named = await readClone({ path: folder, only: 'pe/A-7*', since: '2012-01-01' })
    expect(named.revisions.map(({ from }) => from)).toEqual(['2010-05-01', '2015-01-01'])
    const late = await readClone({ path: folder, only: 'pe/A-7*', since: '2016-01-01' })
    expect(late.revisions.map(({ from }) => from)).toEqual(['2015-01-01'])
  })
})

describe('a manifest', () => {
  const layout = (path: string, directories = '["*"]', version = '0.4'): string =>
    `spec_version: "${version}"\ncountry: "pe"\nlayout:\n  - directories: ${directories}\n    path: "${path}"\n`
  test.each([
    ['a newer version', layout('{directory}/{identifier}.md', '["*"]', '0.5'), 'spec_version 0.5'],
    ['a newer version and another layout', 'spec_version: "1.0"\nlayout: []\n', 'spec_version 1.0'],
    ['an unknown placeholder', layout('{directory}/{shelf}/{identifier}.md'), '{shelf}'],
    [
      'a directory without an entry',
      layout('{directory}/{identifier}.md', '["es"]'),
      'no entry for the directory "pe"',
    ],
    ['what is no list', 'spec_version: "0.4"\nlayout: yes\n', 'layout'],
  ])('with %s refuses the clone by name', async (_, manifest, words) => {
    const folder = repository(FIRST)
    commit(folder, 'Manifest', { '.legalize.yml': manifest })
    await expect(readClone({ path: folder })).rejects.toThrow(words)
  })

  test('says where files lie: another place, and two files of one identifier, are not read', async () => {
    const folder = repository(FIRST)
    commit(folder, 'Manifest', { '.legalize.yml': layout('{directory}/{rank}/{identifier}.md') })
    const { revisions, held } = await readClone({ path: folder })
    expect([revisions.length, held[0]?.reason]).toEqual([0, 'the layout of the repository puts it at pe/ley/LEY-12.md'])
    commit(folder, 'Sharded', {
      'pe/12/LEY-12.md': act(TWO),
      '.legalize.yml': layout('{directory}/{id_sha1_2}/{identifier}.md'),
    })
    await expect(readClone({ path: folder })).resolves.toMatchObject({ revisions: [] })
    const twice = repository(FIRST)
    commit(twice, message('new'), { 'es/LEY-12.md': act(ONE, { country: 'es' }) })
    commit(twice, message('new'), { 'es/A.md': act(ONE, { country: 'es', identifier: 'A' }) })
    const doubled = await readClone({ path: twice })
    expect(doubled.revisions.map(({ path }) => path)).toEqual(['es/A.md'])
    expect(doubled.held.at(-1)?.reason).toContain('have one identifier, LEY-12')
  })
})

describe('the capture of a clone', () => {
  const store = createArtifactStore(pathToFileURL(join(root, 'store')).href)
  test('keeps the bytes of each revision, named so that git alone shows them', async () => {
    const folder = repository(FIRST, [message('reform', '2010-04-01'), act(TWO, LATER)])
    const captured = await captureClone(store, { path: folder })
    expect(captured.length).toBe(2)
    for (const { sourceName, sha256 } of captured) {
      const [, path = '', id = '', blob] = /^[^/]+\/(.*)\?commit=(\w+)&blob=(\w+)/.exec(sourceName) ?? []
      expect(git(folder, 'rev-parse', `${id}:${path}`)).toBe(blob)
      const shown = execFileSync('git', ['show', `${id}:${path}`], { cwd: folder })
      expect(readFileSync(store.snapshotFile(sha256))).toEqual(shown)
    }
    expect(captured[1]?.sourceName).toMatch(/&published=2010-04-01&from=2010-05-01$/)
    const known = captured.map(({ sourceName }) => sourceName)
    await expect(captureClone(store, { path: folder }, { known })).resolves.toEqual(captured)
    git(folder, 'commit', '-q', '--amend', '-m', 'Rewritten')
    const gone = { [git(folder, 'rev-parse', 'HEAD@{1}')]: '2026-01-01' }
    const [first] = await captureClone(store, { path: folder }, { known, gone })
    expect(first?.gone).toEqual(gone)
  })

  test('reads a bare repository with digests of SHA-256', async () => {
    const folder = join(root, 'sha256.git')
    const work = join(root, 'sha256')
    mkdirSync(work)
    git(work, 'init', '-q', '-b', 'main', '--object-format=sha256')
    commit(work, FIRST[0], { [PATH]: FIRST[1] })
    git(root, 'clone', '-q', '--bare', work, folder)
    const [captured] = await captureClone(store, { path: folder })
    expect(captured?.sourceName).toMatch(/^sha256\/pe\/LEY-12\.md\?commit=[0-9a-f]{64}&blob=[0-9a-f]{64}&/)
  })

  test('has a location that gives back what was named', () => {
    const source = { path: '/srv/law of é', since: '2020-01-01', only: 'pe/*&x=?.md' }
    expect(cloneAt(cloneLocation(source))).toEqual(source)
    expect(cloneAt('/srv/law')).toBeUndefined()
  })
})

test('inspecting a clone counts by rank what would be served today, and why the rest is not', async () => {
  const folder = repository(FIRST, [message('reform'), act(TWO, LATER)])
  commit(folder, message('new'), {
    'pe/B.md': act(ONE, { identifier: 'B', text_state: 'as_enacted' }),
    'pe/C.md': act(ONE, { identifier: 'C', rank: 'decreto', last_updated: '2999-01-01' }),
    'pe/D.md': act(ONE, { identifier: 'D', rank: 'decreto', status: 'Repealed' }),
  })
  const { groups } = await inspectClone({ path: folder }, () => undefined, '2020-01-01')
  expect(groups).toEqual([
    {
      country: 'pe',
      rank: 'ley',
      acts: 2,
      revisions: 3,
      in_force: 1,
      later: 0,
      not_served: { ended: 1, 'text_state: as_enacted, unless that loss is accepted': 1 },
    },
    {
      country: 'pe',
      rank: 'decreto',
      acts: 2,
      revisions: 2,
      in_force: 0,
      later: 1,
      not_served: { 'status: Repealed, unless that loss is accepted': 1 },
    },
  ])
})
