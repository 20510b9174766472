import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import { runApart } from '#jobs/capture/run-apart.ts'
import { runProgram, type ProgramOptions } from '#jobs/version-build/run-program.ts'
import { captureEnvironment } from '#jobs/platform/config.ts'
import { folderOfFile, folderWith } from '#test/support/folder.ts'

const folder = folderOfFile()
const program = new URL('./hostile-program.ts', import.meta.url)
const lookedSchema = z.object({
  outcome: z.literal('looked'),
  own: z.array(z.string()),
  tried: z.array(z.string()),
  cpu: z.string().optional(),
})
const run = (what: string, options: ProgramOptions = {}) =>
  runProgram(program, [what, folder], (raw) => lookedSchema.safeParse(raw).data, {
    environment: { PATH: process.env['PATH'], MANIFEST_PRIVATE_KEY: 'secret', DATABASE_URL: 'secret' },
    ...options,
  })

test('a process has no secret in its environment, reads what its variables name, and opens nothing else but its folders', async () => {
  const certificates = { SEARCH_TLS_CA: '/etc/hosts', OPENSEARCH_CA: '/etc/hostname' }
  const url = 'postgres://db/x?sslrootcert=/etc/host.conf'
  const agent = folderWith({ 'agent.mjs': "import './beside.mjs'", 'beside.mjs': '' })
  const NODE_OPTIONS = `--import=${pathToFileURL(join(agent, 'agent.mjs')).href}?file=${agent}/clock`
  const environment = { PATH: process.env['PATH'], DATABASE_URL: url, NODE_OPTIONS, ...certificates }
  const folders = { read: [join(folder, 'below')], write: [folder] }
  const looked = await run('look', { environment, folders })
  const tried = [...Array.from({ length: 5 }, () => 'ERR_ACCESS_DENIED'), ...Array.from({ length: 5 }, () => 'done')]
  expect(looked).toMatchObject({ outcome: 'looked', tried })
  expect(looked).not.toMatchObject({ own: expect.arrayContaining(['DATABASE_URL']) })
  // A build hashes large files on threads.
  const built = await run('look', { environment, folders: { ...folders, builds: true } })
  expect(built).toMatchObject({ outcome: 'looked', tried: tried.with(4, 'done') })
})

test('a process that takes too much memory or time is killed, and what it took is said', async () => {
  const bounds = { residentMb: 256, timeoutMs: 600_000, cpuSeconds: 1_200 }
  const grown = await run('grow', { bounds })
  expect(grown).toMatchObject({ outcome: 'died', reason: 'it took more than 256 MB of memory' })
  const hung = await run('hang', { bounds: { ...bounds, timeoutMs: 600 } })
  expect(hung).toMatchObject({ outcome: 'died', reason: 'it took longer than 0.01 minutes' })
  // The kernel bounds its processor time, also where the parent is gone.
  const folders = { read: [folder, '/proc/self/limits'], write: [folder] }
  const cpuOf = (options: ProgramOptions): Promise<unknown> => run('cpu', { folders, ...options })
  expect(await cpuOf({ bounds })).toMatchObject({ outcome: 'looked', cpu: '1200' })
  expect(await cpuOf({})).toMatchObject({ outcome: 'looked', cpu: 'unlimited' })
})

const TRIES = `
import { readFileSync, writeFileSync } from 'node:fs'
import { spawnSync } from 'node:child_process'
const attempts = [() => readFileSync('/etc/passwd'), () => writeFileSync('left.txt', ''), () => spawnSync('git')]
for (const attempt of attempts) try { attempt() } catch (error) { process.exitCode = (process.exitCode ?? 0) + (error.code === 'ERR_ACCESS_DENIED') }
`

test.each([
  ['that ends', 'process.exitCode = Number(process.argv[2])', 3, /^$/],
  ['that opens or starts what no argument names', TRIES, 3, /^$/],
  [
    'that takes too much memory',
    'setInterval((k) => k.push(Buffer.alloc(16e6, 1)), 5, [])',
    1,
    /took .* 256 MB of memory/,
  ],
  [
    'that takes too much processor time',
    'for (;;) continue',
    1,
    /^Nothing was stored, because it took too much processor/,
  ],
])('a command apart %s gives its exit code, or one sentence', async (_, code, exit, said) => {
  const path = join(folder, 'apart.mjs')
  writeFileSync(path, code)
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  expect(await runApart(pathToFileURL(path), ['3'], { residentMb: 256, timeoutMs: 600_000, cpuSeconds: 1 })).toBe(exit)
  const lines = stderr.mock.calls.join('')
  stderr.mockRestore()
  expect(lines).toMatch(said)
})

test('the process of a capture gets no key that signs, and the URL of the database though it stands in a file', () => {
  const all = {
    DATABASE_URL: 'postgres://db/x',
    ARTIFACT_STORE: `file://${folder}`,
    MANIFEST_PRIVATE_KEY: 'secret',
    NODE_OPTIONS: '',
  }
  const { MANIFEST_PRIVATE_KEY: _, ...kept } = all
  expect(captureEnvironment(all)).toEqual(kept)
})
