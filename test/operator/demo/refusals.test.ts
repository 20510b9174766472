import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startProgram } from '#test/support/processes.ts'
import { expectEventually } from '#test/support/until.ts'
import { folderOfFile } from '#test/support/folder.ts'

const folder = folderOfFile()

function write(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const REFUSED: readonly (readonly [string, () => readonly string[], RegExp])[] = [
  [
    'an endpoint without vectors to make',
    () => ['--embedding', 'none', '--embeddings', 'http://127.0.0.1:9', '--embedding-model', 'e5'],
    /^--embedding none uses no endpoint: leave out /,
  ],
  [
    'a plan with faults',
    () => ['--plan', write('plan.json', '{"requests_per_minute": 0}')],
    /plan\.json does not fit: .*requests_per_minute/,
  ],
  ['a plan that is no JSON', () => ['--plan', write('plan.json', '{')], /plan\.json cannot be read as JSON: give /],
  [
    'a corpus that is not there',
    () => ['--corpus', join(folder, 'nowhere')],
    /There is no corpus at .*: name a folder/,
  ],
  [
    'a mapping that is no JSON',
    () => {
      write('corpus.jsonl', '{}')
      write('mapping.json', '{')
      return ['--corpus', folder]
    },
    /mapping\.json cannot be read: make it /,
  ],
]

test('a port that is taken is refused in one sentence before anything is started', async () => {
  using ending = new DisposableStack()
  const other = ending.adopt(createServer().listen(0, '127.0.0.1'), (it) => it.close())
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  const dataDir = join(folder, 'data')
  const args = ['operator/demo/main.ts', '--once', '--data-dir', dataDir, '--port', String(port)]
  const { said, ended } = startProgram(args, process.env)
  expect([await ended, said.stdout.trim()]).toEqual([
    1,
    `Port ${port} is taken, or this account may not use it: choose another with --port.`,
  ])
  expect(existsSync(dataDir)).toBe(false)
})

test('a Ctrl-C before the exchanges were shown stops quietly with 130', async () => {
  const dataDir = join(folder, 'interrupted')
  const args = ['operator/demo/main.ts', '--once', '--data-dir', dataDir]
  const { child, said, ended } = startProgram(args, process.env)
  child.stdout.on('data', () => {
    if (/gateway … ready/.test(said.stdout) && !said.stdout.includes('Stopping')) child.kill('SIGINT')
  })
  expect([await ended, said.stdout.trimEnd().split('\n').at(-1)]).toEqual([130, 'Stopping …'])
})

test.each(REFUSED)('%s is refused in one sentence before anything is started', (_name, flags, sentence) => {
  const dataDir = join(folder, 'data')
  const { status, stdout } = spawnSync(
    process.execPath,
    ['operator/demo/main.ts', '--once', '--data-dir', dataDir, ...flags()],
    { encoding: 'utf8' },
  )
  expect(status).toBe(1)
  expect(stdout.trim()).toMatch(sentence)
  expect(stdout.trim()).not.toContain('\n')
  expect(existsSync(dataDir)).toBe(false)
})

test('a second demo on a data folder that is in use leaves what the first one said there', async () => {
  const dataDir = join(folder, "it's shared")
  const corpus = join(folder, 'small')
  mkdirSync(corpus)
  copyFileSync('operator/demo/corpus/rulebook/hsfa-conduct-harbour.2023-09-01.md', join(corpus, 'rulebook.md'))
  const args = ['operator/demo/main.ts', '--data-dir', dataDir, '--corpus', corpus]
  const first = spawn(process.execPath, args, { stdio: 'ignore' })
  await using ending = new AsyncDisposableStack()
  ending.defer(async () => void (await once(first, 'exit')))
  ending.defer(async () => void first.kill('SIGINT'))
  await expectEventually(() => [existsSync(join(dataDir, 'ready.json')), first.exitCode], [true, null])
  const second = spawnSync(process.execPath, [...args, '--once'], { encoding: 'utf8' })
  expect(second.status).toBe(1)
  expect(second.stdout).toContain('name another with --data-dir')
  expect(existsSync(join(dataDir, 'ready.json'))).toBe(true)
  const store = spawnSync(
    '/bin/sh',
    ['-c', '. "$1"; printf %s "$ARTIFACT_STORE"', 'read', join(dataDir, 'operator.env')],
    { encoding: 'utf8' },
  )
  expect(fileURLToPath(store.stdout)).toBe(join(dataDir, 'store'))
})
