import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { withTimeout } from '#core/platform/with-timeout.ts'
import { ownEnvironment, userCacheFolder } from '#jobs/platform/config.ts'
import { freePort, LocalProcessError, lastLines, PATH, type OnSpawn } from '#operator/demo/local/supervised-process.ts'

const VERSION = '2.19.1.0'
const PLUGIN = `org.opensearch.plugin:opensearch-knn:${VERSION}:zip`
const START_TIMEOUT_MS = 300_000
const COMMAND_TIMEOUT_MS = 120_000
const INSTALL_TIMEOUT_MS = 600_000
const POM = fileURLToPath(new URL('./pom.xml', import.meta.url))
const PROGRAM = fileURLToPath(new URL('./Cluster.java', import.meta.url))

export interface ClusterOptions {
  readonly folder: string
  readonly nodes: number
  readonly heapMb?: number
  readonly onLog?: (line: string) => void
  readonly onSpawn?: OnSpawn
}

/** Returns what this machine lacks for a cluster, as one sentence; undefined: nothing. */
export function clusterLacks(): string | undefined {
  const missing = ['javac', 'java', 'mvn'].filter(
    (program) => spawnSync(program, ['-version'], { env: { PATH }, stdio: 'ignore' }).error !== undefined,
  )
  return missing.length === 0
    ? undefined
    : `OpenSearch needs a JDK of version 17 or later and Maven, and ${missing.join(', ')} is not in ${PATH}: install ` +
        'both, for example with "apt-get install openjdk-17-jdk-headless maven".'
}

/**
 * Starts a cluster, whose libraries Maven fetches once into the user's cache.
 * @throws LocalProcessError saying what is missing, or with the last lines of its log.
 */
export async function startCluster(options: ClusterOptions) {
  const lacks = clusterLacks()
  if (lacks !== undefined) throw new LocalProcessError(lacks)
  const folder = resolve(options.folder)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const libraries = installed(options.onLog)
  const firstPort = await freePorts(options.nodes)
  const launch = (): Promise<Running> => launched(libraries, folder, firstPort, options)
  let running = await launch()
  return {
    urls: Array.from({ length: options.nodes }, (_, node) => `http://127.0.0.1:${firstPort + node}`),
    pid: () => running.child.pid ?? 0,
    stopNode: (node: number) => running.command(`stop ${node}`),
    startNode: (node: number) => running.command(`start ${node}`),
    /** Ends the process as a crash does; `start` starts it again with the same files and URLs. */
    async kill() {
      running.child.kill('SIGKILL')
      await running.exited
    },
    async start() {
      running = await launch()
    },
    /** Stops and continues the process: nothing answers in between. */
    signal: (name: 'SIGSTOP' | 'SIGCONT') => void running.child.kill(name),
    stop: () => running.stop(),
  }
}

interface Running {
  readonly child: ChildProcessWithoutNullStreams
  readonly exited: Promise<void>
  command(line: string): Promise<void>
  stop(): Promise<void>
}

async function launched(
  libraries: string,
  folder: string,
  firstPort: number,
  { nodes, heapMb = 512, onSpawn }: ClusterOptions,
): Promise<Running> {
  const logFile = join(folder, 'cluster.log')
  const classpath = `${join(libraries, 'lib')}/*:${join(libraries, 'knn')}/*`
  const name = `evidence-${firstPort}`
  const program = ['-cp', classpath, PROGRAM, join(folder, 'nodes'), String(nodes), String(firstPort), name]
  const args = [`-Xms${heapMb}m`, `-Xmx${heapMb}m`, ...program]
  const child = spawn('java', args, { env: { PATH }, detached: true })
  child.stderr.pipe(createWriteStream(logFile, { flags: 'a', mode: 0o600 }))
  child.on('error', () => undefined)
  child.stdin.on('error', () => undefined)
  const exited = new Promise<void>((done) => child.once('close', () => done()))
  const lines = createInterface({ input: child.stdout })
  async function stop(): Promise<void> {
    child.stdin.end()
    await withTimeout(COMMAND_TIMEOUT_MS, 'OpenSearch did not stop', exited).catch(() => child.kill('SIGKILL'))
    await exited
  }
  onSpawn?.(stop)
  try {
    await untilLine(lines, 'ready', exited, START_TIMEOUT_MS)
  } catch {
    await stop()
    throw new LocalProcessError(`OpenSearch did not start. Its last lines:\n${lastLines(logFile, 0)}`)
  }
  return {
    child,
    exited,
    stop,
    async command(line) {
      const done = untilLine(lines, 'done', exited, COMMAND_TIMEOUT_MS)
      child.stdin.write(`${line}\n`)
      await done
    },
  }
}

function untilLine(lines: Interface, wanted: string, exited: Promise<void>, timeoutMs: number): Promise<void> {
  const said = new Promise<void>((resolved, rejected) => {
    lines.on('line', function heard(line: string) {
      if (line.trim() !== wanted) return
      lines.off('line', heard)
      resolved()
    })
    void exited.then(() => rejected(new LocalProcessError('OpenSearch has ended.')))
  })
  return withTimeout(timeoutMs, new LocalProcessError(`OpenSearch did not say "${wanted}" in time.`), said)
}

/** @returns the folder of the libraries. */
function installed(onLog: ClusterOptions['onLog']): string {
  const folder = join(userCacheFolder(), `opensearch-${VERSION}`)
  if (existsSync(folder)) return folder
  onLog?.(`Maven fetches OpenSearch ${VERSION} (150 MB) into ${folder}`)
  const unfinished = `${folder}.${process.pid}.tmp`
  mkdirSync(join(unfinished, 'knn'), { recursive: true })
  try {
    maven(['-f', POM, 'dependency:copy-dependencies', `-DoutputDirectory=${join(unfinished, 'lib')}`])
    maven(['dependency:get', `-Dartifact=${PLUGIN}`, '-Dtransitive=false'])
    maven(['dependency:copy', `-Dartifact=${PLUGIN}`, `-DoutputDirectory=${unfinished}`])
    ran('jar', ['--extract', '--file', join(unfinished, `opensearch-knn-${VERSION}.zip`)], join(unfinished, 'knn'))
    if (!existsSync(folder)) renameSync(unfinished, folder)
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
  return folder
}

function maven(args: readonly string[]): void {
  ran('mvn', ['-q', '-B', ...args])
}

function ran(program: string, args: readonly string[], cwd?: string): void {
  const ended = spawnSync(program, [...args], {
    env: ownEnvironment(),
    encoding: 'utf8',
    timeout: INSTALL_TIMEOUT_MS,
    ...(cwd === undefined ? {} : { cwd }),
  })
  if (ended.status !== 0)
    throw new LocalProcessError(
      `OpenSearch could not be fetched; see whether Maven reaches its repository:\n${ended.stdout}\n${ended.stderr}`,
    )
}

/** @returns the first of so many adjacent ports that are free. */
async function freePorts(count: number): Promise<number> {
  for (;;) {
    const ports = [await freePort()]
    while (ports.length < count) ports.push(await freePort())
    const [first = 0] = ports
    if (ports.every((port, at) => port === first + at)) return first
  }
}
