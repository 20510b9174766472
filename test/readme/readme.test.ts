import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { configurationList } from './configuration-list.ts'
import { until } from '#test/support/until.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8')
const callers = readFileSync(join(ROOT, 'CALLERS.md'), 'utf8')
const blocks = [...`${readme}\n${callers}`.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = '']) => block.trim())
/**
 * Each is run elsewhere: the demo below, the tests by this run, benchmark and load test (small) and the encoder, which
 * needs a model, by their own tests.
 */
const LONG = [
  'npm run demo',
  'npm test',
  'npm run bench',
  'npm run test:load',
  'npm run start:encoder -- --model ./models/multilingual-e5-small --port 8766',
]

const packageSchema = z.object({ scripts: z.record(z.string(), z.string()) })

describe('the README', () => {
  test('documents every variable of every process, as the schemas have them', () => {
    expect(readme).toContain(`<!-- configuration -->\n\n${configurationList()}\n\n<!-- /configuration -->`)
  })

  test('names the long commands of package.json, each in a block of its own', () => {
    const { scripts } = packageSchema.parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')))
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(['demo', 'test', 'bench', 'operator']))
    for (const command of LONG) expect(blocks).toContain(command)
  })

  test('holds no command that fails, nor does the page for callers: all run in one shell, against the demo', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'evidence readme '))
    const checkout = join(folder, 'checkout')
    copyCheckout(checkout)
    const environment = {
      PATH: process.env['PATH'] ?? '',
      HOME: process.env['HOME'] ?? '',
      // The checkout's packages are those of this one, where nothing of another folder is to stay.
      NODE_COMPILE_CACHE: join(folder, 'compiled'),
    }
    const demo = spawn('npm', ['run', 'demo'], {
      cwd: checkout,
      env: environment,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const ended = new Promise<number | null>((resolve) => demo.once('exit', resolve))
    let output = ''
    for (const stream of [demo.stdout, demo.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
    try {
      await until('the demo is ready or has ended', (seen) => {
        seen(output)
        return existsSync(join(checkout, '.data/demo/ready.json')) || demo.exitCode !== null
      })
      expect(demo.exitCode, output).toBeNull()
      const script = blocks.filter((block) => !LONG.includes(block)).join('\n')
      const told = execFileSync('bash', ['-euo', 'pipefail', '-c', script], {
        cwd: checkout,
        env: environment,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      expect(told).toContain('"label":"COB-M 2.1"')
      expect(told).toContain('"decision":"answer"')
      expect(told).toMatch(/erk_live_[0-9A-Za-z]{33}/)
    } finally {
      // Ctrl-C reaches the whole foreground group of a terminal.
      if (demo.pid !== undefined && demo.exitCode === null) process.kill(-demo.pid, 'SIGINT')
      await ended
      await until('Postgres has ended', () => !existsSync(join(checkout, '.data/demo/postgres/cluster/postmaster.pid')))
      expect(output).toContain('Stopping')
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

/** The files as they are now, tracked or new, with this checkout's packages. */
function copyCheckout(to: string): void {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '-z'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
  for (const file of files.split('\0'))
    if (file !== '' && existsSync(join(ROOT, file))) cpSync(join(ROOT, file), join(to, file))
  symlinkSync(join(ROOT, 'node_modules'), join(to, 'node_modules'))
}
