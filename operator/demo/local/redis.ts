import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Redis } from 'ioredis'
import { installDebianPackage } from './debian-package.ts'
import { freePort, LocalProcessError, outputOf, SERVER_ENVIRONMENT, startServer } from './supervised-process.ts'
import type { ServerOptions, SupervisedProcess } from './supervised-process.ts'

const STOP_TIMEOUT_MS = 10_000
const INSTALL_TIMEOUT_MS = 600_000
const FALLBACK_PACKAGE = 'redis-memory-server@0.17.1'

export type LocalRedis = Awaited<ReturnType<typeof startRedis>>

/**
 * Starts Redis or Valkey on a free port of 127.0.0.1 with its append-only file in `folder`, and installs it where it is
 * missing. The settings match production: no eviction, and a crash loses at most one second of writes.
 * @throws LocalProcessError naming what to install.
 */
export async function startRedis(options: ServerOptions) {
  const folder = resolve(options.folder)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const installed = (): string | undefined =>
    installDebianPackage('redis-server', options.onLog) ? findRedis() : undefined
  const program = findRedis() ?? installed() ?? installFallback(folder, options.onLog)
  const port = await freePort()
  const logFile = join(folder, 'redis.log')
  const launch = (): Promise<SupervisedProcess> => launchRedis(program, folder, port, logFile, options)
  let server = await launch()
  return {
    program,
    /** URL of database 0; `urlOf` returns the URL of any of the 64 databases. */
    url: urlOf(port, 0),
    port,
    logFile,
    urlOf: (database: number) => urlOf(port, database),
    stop: () => server.stop(STOP_TIMEOUT_MS),
    /** Stops cleanly and starts again on the same port with the same files. */
    restart: async () => {
      await server.stop(STOP_TIMEOUT_MS)
      server = await launch()
    },
    /** Sends SIGKILL; unwritten data is lost, as in a crash. `restart` starts the server again. */
    kill: () => server.kill(),
  }
}

function urlOf(port: number, database: number): string {
  return `redis://127.0.0.1:${port}/${database}`
}

async function launchRedis(program: string, folder: string, port: number, logFile: string, options: ServerOptions) {
  const settings = {
    bind: '127.0.0.1',
    port: String(port),
    databases: '64',
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
    ...options.settings,
  }
  const flags = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, ...value.split(' ')])
  // The folder is one argument, with the spaces that it may hold.
  flags.push('--dir', folder)
  const command = [program, ...flags]
  const run = { name: 'Redis', command, environment: SERVER_ENVIRONMENT, folder, logFile, stopSignal: 'TERM' } as const
  return await startServer({ ...run, stopTimeoutMs: STOP_TIMEOUT_MS }, options.onSpawn, () => pings(urlOf(port, 0)))
}

async function pings(url: string): Promise<boolean> {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: 1_000,
    commandTimeout: 1_000,
  })
  client.on('error', () => undefined)
  using ending = new DisposableStack()
  ending.defer(() => client.disconnect())
  await client.connect()
  return (await client.ping()) === 'PONG'
}

function findRedis(): string | undefined {
  return ['redis-server', 'valkey-server']
    .map((name) => outputOf('/bin/sh', ['-c', 'command -v "$1"', 'find', name]))
    .find((path) => path !== undefined && path !== '')
}

/** Compiles Redis from source below the data folder, which needs the internet, a C compiler and make. */
function installFallback(folder: string, say?: (line: string) => void): string {
  const home = join(folder, 'server')
  say?.(`Redis is missing: building it with ${FALLBACK_PACKAGE} (several minutes).`)
  mkdirSync(home, { recursive: true })
  const quietly = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const install = ['install', '--prefix', home, ...quietly, FALLBACK_PACKAGE]
  spawnSync('npm', install, { stdio: 'ignore', timeout: INSTALL_TIMEOUT_MS })
  const script =
    "const { RedisBinary } = require('redis-memory-server'); RedisBinary.getPath({ downloadDir: " +
    'process.argv[1] }).then((path) => console.log(path), () => process.exit(1))'
  const { status, stdout } = spawnSync(process.execPath, ['-e', script, join(home, 'binaries')], {
    cwd: home,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    timeout: INSTALL_TIMEOUT_MS,
  })
  const program = stdout?.trim().split('\n').at(-1) ?? ''
  if (status !== 0 || !existsSync(program))
    throw new LocalProcessError(
      'Redis is missing and could not be installed: install redis-server or valkey-server (version 7 ' +
        'or newer) so that it is in the PATH, and run the command again.',
    )
  return program
}
