/**
 * Runs a TypeScript entry point on any machine with npm and Node 20 or newer. Installs the packages of
 * package-lock.json where they are missing or differ, then runs the script under the Node 24 of one of those packages.
 *
 *   node operator/bootstrap.mjs <script.ts> [arguments…]
 *
 * Plain JavaScript without a dependency, because it runs before any is installed.
 */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const NODE_MIN = [24, 21]
/** npm forwards the Ctrl-C that the terminal already delivered; two signals within this time count as one. */
const ECHO_MS = 1_000
const PARENT_CHECK_MS = 250

const root = fileURLToPath(new URL('../', import.meta.url))
const modules = join(root, 'node_modules')

class BootstrapError extends Error {}

/** Compares npm's record of installed packages with the lockfile; only optional packages may be absent. */
function packagesMatch(lock, installed) {
  const wanted = Object.entries(lock.packages).filter(([path]) => path !== '')
  const found = installed.packages
  return (
    wanted.every(([path, entry]) =>
      found[path] === undefined
        ? entry.optional === true || entry.devOptional === true
        : found[path].version === entry.version && found[path].integrity === entry.integrity,
    ) && Object.keys(found).every((path) => lock.packages[path] !== undefined)
  )
}

function readJson(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}

function packagesAreCurrent() {
  const lock = readJson(join(root, 'package-lock.json'))
  if (lock === undefined)
    throw new BootstrapError('package-lock.json is missing or damaged: check out the repository again.')
  const installed = readJson(join(modules, '.package-lock.json'))
  return installed !== undefined && packagesMatch(lock, installed)
}

/**
 * Removes node_modules from the PATH. The folder is about to be replaced, so neither npm nor its children may run from
 * it.
 */
function pathWithoutPackages() {
  const path = process.env.PATH ?? ''
  return path
    .split(delimiter)
    .filter((folder) => !resolve(folder).startsWith(modules))
    .join(delimiter)
}

function installPackages() {
  const began = Date.now()
  process.stderr.write('Installing the packages of package-lock.json (about a minute the first time) …\n')
  // Development packages are always installed, regardless of NODE_ENV.
  const npm = spawnSync('npm', ['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund'], {
    cwd: root,
    env: { ...process.env, PATH: pathWithoutPackages() },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (npm.error !== undefined)
    throw new BootstrapError(
      `npm could not be started (${npm.error.code}): install Node 20 or newer together with npm.`,
    )
  if (npm.status !== 0)
    throw new BootstrapError(
      'npm could not install the packages: read its message above, check the connection to the package ' +
        'registry, and run the command again.',
    )
  process.stderr.write(`Packages installed in ${((Date.now() - began) / 1000).toFixed(0)} s.\n`)
}

function carriedNode() {
  const node = join(modules, '.bin', 'node')
  const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' })
  const [major, minor] = (/^v(\d+)\.(\d+)\./.exec(stdout ?? '') ?? []).slice(1).map(Number)
  if (major === undefined)
    throw new BootstrapError(
      `Node ${NODE_MIN.join('.')} did not arrive with the package "node": allow npm to run its install script, ` +
        'delete node_modules and run the command again.',
    )
  if (major < NODE_MIN[0] || (major === NODE_MIN[0] && minor < NODE_MIN[1]))
    throw new BootstrapError(
      `The package "node" carries ${stdout.trim()}, but ${NODE_MIN.join('.')} is needed: ` +
        'delete node_modules and run the command again.',
    )
  return node
}

/**
 * Runs the script in its own process group, so that a Ctrl-C of the terminal reaches it once, forwarded by this
 * process. If this process is killed, the closed IPC channel tells the script. Node keeps compiled modules below
 * node_modules, because compiling them takes half of a start; it uses them only where the source is the same.
 */
function run(node, script, args) {
  const child = spawn(node, [script, ...args], {
    env: { NODE_COMPILE_CACHE: join(modules, '.cache/compile'), ...process.env },
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
    detached: true,
  })
  let forwardedAt = -Infinity
  const forward = (signal) => {
    if (performance.now() - forwardedAt < ECHO_MS) return
    forwardedAt = performance.now()
    child.kill(signal)
  }
  process.on('SIGINT', () => forward('SIGINT'))
  process.on('SIGTERM', () => forward('SIGTERM'))
  if (process.env.npm_lifecycle_event !== undefined) whenParentIsGone(() => forward('SIGTERM'))
  child.on('error', (error) => fail(`The script could not be started (${error.code}).`))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + (constants.signals[signal] ?? 0)
  })
}

/**
 * Calls `act` when the parent process has ended. npm forwards a signal only to its shell, which ends without forwarding
 * it.
 */
function whenParentIsGone(act) {
  const parent = process.ppid
  const timer = setInterval(() => {
    if (process.ppid === parent) return
    clearInterval(timer)
    act()
  }, PARENT_CHECK_MS)
  timer.unref()
}

function fail(message) {
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}

function main() {
  const [script, ...args] = process.argv.slice(2)
  if (script === undefined) return fail('Name the script to run: node operator/bootstrap.mjs <script.ts> [arguments…]')
  try {
    if (!packagesAreCurrent()) installPackages()
    run(carriedNode(), resolve(root, script), args)
  } catch (error) {
    if (!(error instanceof BootstrapError)) throw error
    fail(error.message)
  }
}

main()
