import { spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, test } from 'vitest'
import { CALL_TIMEOUT_MS, expectEventually } from '#test/support/until.ts'
import { folderOfTest } from '#test/support/folder.ts'

/** A checkout of two packages, with an `npm` that writes down how it was called and then installs or fails. */
let checkout: string

const LOCK = {
  packages: {
    '': {},
    'node_modules/node': { version: '24.21.0', integrity: 'sha512-a' },
    'node_modules/only-elsewhere': { version: '1.0.0', optional: true },
  },
}

beforeEach(() => {
  // The space in the name is deliberate.
  checkout = join(folderOfTest(), 'a checkout')
  mkdirSync(join(checkout, 'operator'), { recursive: true })
  mkdirSync(join(checkout, 'tools'))
  copyFileSync(
    fileURLToPath(new URL('../../operator/bootstrap.mjs', import.meta.url)),
    join(checkout, 'operator/bootstrap.mjs'),
  )
  writeFileSync(join(checkout, 'package-lock.json'), JSON.stringify(LOCK))
  writeFileSync(join(checkout, 'script.mjs'), 'console.log(JSON.stringify(process.argv.slice(2))); process.exit(7)')
  writeNpm('exit 1')
})

function writeNpm(body: string): void {
  writeFileSync(
    join(checkout, 'tools/npm'),
    `#!/bin/sh\necho "$@" >> "$(dirname "$0")/npm.log"\necho "$PATH" >> "$(dirname "$0")/path.log"\n${body}\n`,
  )
  chmodSync(join(checkout, 'tools/npm'), 0o755)
}

function npmCalls(): readonly string[] {
  const log = join(checkout, 'tools/npm.log')
  return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : []
}

function installPackages(nodeProgram: string, installed: object = LOCK): void {
  mkdirSync(join(checkout, 'node_modules/.bin'), { recursive: true })
  symlinkSync(nodeProgram, join(checkout, 'node_modules/.bin/node'))
  writeFileSync(join(checkout, 'node_modules/.package-lock.json'), JSON.stringify(installed))
}

function environment(): NodeJS.ProcessEnv {
  return {
    PATH: `${join(checkout, 'node_modules/.bin')}:${join(checkout, 'tools')}:/usr/bin:/bin`,
    NODE_ENV: 'production',
  }
}

function bootstrap(
  script: string,
  ...args: readonly string[]
): { readonly status: number | null; readonly stdout: string; readonly stderr: string } {
  return spawnSync(process.execPath, [join(checkout, 'operator/bootstrap.mjs'), script, ...args], {
    cwd: checkout,
    env: environment(),
    encoding: 'utf8',
    timeout: CALL_TIMEOUT_MS,
  })
}

test(
  'packages that match the lockfile are not installed again, and the script gets its arguments and ' +
    'gives its exit code',
  () => {
    installPackages(process.execPath)
    const { status, stdout, stderr } = bootstrap('script.mjs', '--once', 'two words')
    expect({ status, stdout: stdout.trim(), stderr, calls: npmCalls() }).toEqual({
      status: 7,
      stdout: '["--once","two words"]',
      stderr: '',
      calls: [],
    })
  },
)

test('what a script compiled is kept for its next start', () => {
  installPackages(process.execPath)
  writeFileSync(join(checkout, 'script.mjs'), 'import "./imported.mjs"')
  writeFileSync(join(checkout, 'imported.mjs'), `export const long = ${JSON.stringify('long'.repeat(1_000))}`)
  expect(bootstrap('script.mjs').status).toBe(0)
  const [version = ''] = readdirSync(join(checkout, 'node_modules/.cache/compile'))
  expect(readdirSync(join(checkout, 'node_modules/.cache/compile', version)).length).toBeGreaterThanOrEqual(2)
})

test(
  'missing packages are installed from the lockfile, development packages included, by an npm that ' +
    'does not run from among them',
  () => {
    writeNpm(
      `mkdir -p node_modules/.bin && ln -s '${process.execPath}' node_modules/.bin/node && cp ` +
        'package-lock.json node_modules/.package-lock.json',
    )
    const { status, stderr } = bootstrap('script.mjs')
    expect(status).toBe(7)
    expect(stderr).toMatch(/^Installing the packages .*\nPackages installed in \d+ s\.\n$/)
    expect(npmCalls()).toEqual([expect.stringMatching(/^ci --include=dev /)])
    expect(readFileSync(join(checkout, 'tools/path.log'), 'utf8')).not.toContain('node_modules')
  },
)

test.each([
  ['has another version', { packages: { 'node_modules/node': { version: '24.20.0', integrity: 'sha512-a' } } }],
  ['has other content', { packages: { 'node_modules/node': { version: '24.21.0', integrity: 'sha512-b' } } }],
  ['is missing', { packages: {} }],
  ['is not in the lockfile', { packages: { ...LOCK.packages, 'node_modules/extra': { version: '1.0.0' } } }],
])('packages are installed again when one %s', (_, installed) => {
  installPackages(process.execPath, installed)
  bootstrap('script.mjs')
  expect(npmCalls()).toHaveLength(1)
})

test('an install that fails ends in one sentence that says what to do', () => {
  const { status, stderr } = bootstrap('script.mjs')
  expect(status).toBe(1)
  expect(stderr.trim().split('\n').at(-1)).toMatch(/^npm could not install the packages: .* run the command again\.$/)
})

test('a package that carries too old a Node, or none, is refused in one sentence', () => {
  writeFileSync(join(checkout, 'tools/old-node'), '#!/bin/sh\necho v24.18.9\n')
  chmodSync(join(checkout, 'tools/old-node'), 0o755)
  installPackages(join(checkout, 'tools/old-node'))
  expect(bootstrap('script.mjs')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^The package "node" carries v24\.18\.9, but 24\.21 is needed: .*\.\n$/) as unknown,
  })
  rmSync(join(checkout, 'node_modules/.bin/node'))
  expect(bootstrap('script.mjs')).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^Node 24\.21 did not arrive with the package "node": .*\.\n$/) as unknown,
  })
})

/** Starts a script that waits. @returns once it has said that it is ready. */
async function waiting(script: string) {
  installPackages(process.execPath)
  writeFileSync(join(checkout, 'waits.mjs'), script)
  const child = spawn(process.execPath, [join(checkout, 'operator/bootstrap.mjs'), 'waits.mjs'], {
    cwd: checkout,
    env: environment(),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve))
  await new Promise((resolve) => child.stdout.once('data', resolve))
  return { child, code }
}

test('a signal that arrives twice at once reaches the script once', async () => {
  const { child, code } = await waiting(
    "let n = 0; process.on('SIGINT', () => { n++; setTimeout(() => process.exit(10 + n), 300) }); " +
      "console.log('ready'); setInterval(() => {}, 1000)",
  )
  child.kill('SIGINT')
  await sleep(50)
  child.kill('SIGINT')
  expect(await code).toBe(11)
})

test('the script learns that the bootstrap was killed', async () => {
  const { child } = await waiting(
    "import { writeFileSync } from 'node:fs'\nprocess.on('disconnect', () => { " +
      "writeFileSync('witness', ''); process.exit() }); console.log('ready')",
  )
  child.kill('SIGKILL')
  await expectEventually(() => existsSync(join(checkout, 'witness')), true)
})
