import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, expect, test } from 'vitest'
import { startService, type LocalService, type ServiceOptions } from '#operator/demo/local/processes.ts'
import { alive } from '#test/support/processes.ts'
import { expectEventually, until } from '#test/support/until.ts'
import { folderOfTest } from '#test/support/folder.ts'

let folder: string
let options: ServiceOptions

beforeEach(() => {
  folder = folderOfTest()
  const witness = join(folder, 'witness')
  options = {
    name: 'The service',
    script: join(folder, 'main.ts'),
    environment: { WITNESS: witness },
    logFile: join(folder, 'service.log'),
    ready: () => Promise.resolve(existsSync(witness)),
  }
})

function start(source: string, changes: Partial<ServiceOptions> = {}): Promise<LocalService> {
  writeFileSync(join(folder, 'main.ts'), `import { writeFileSync } from 'node:fs'\n${source}`)
  return startService({ ...options, ...changes })
}

// Renamed when whole: the test reads it as soon as it is there.
const REPORT = `const witness = process.env['WITNESS'] ?? ''
writeFileSync(witness + '.part', JSON.stringify(Object.keys(process.env)))
process.getBuiltinModule('node:fs').renameSync(witness + '.part', witness)
setInterval(() => {}, 1000)
`

test('a service sees only the environment it was given', async () => {
  process.env['ONLY_THE_PARENT_KNOWS'] = 'secret'
  const service = await start(REPORT)
  delete process.env['ONLY_THE_PARENT_KNOWS']
  const names = JSON.parse(readFileSync(join(folder, 'witness'), 'utf8')) as readonly string[]
  expect([...names].filter((name) => !name.startsWith('NODE_CHANNEL_')).sort()).toEqual(['PATH', 'WITNESS'])
  await service.stop()
})

test.each([
  ['runs', {}],
  ['is watched', { restartOn: ['core/platform'] }],
])('a service that %s has the options of Node that it is given', async (_, changes) => {
  const reports = REPORT.replace('Object.keys(process.env)', 'process.execArgv')
  const service = await start(reports, { ...changes, nodeOptions: ['--max-semi-space-size=4'] })
  expect(JSON.parse(readFileSync(join(folder, 'witness'), 'utf8'))).toContain('--max-semi-space-size=4')
  await service.stop()
})

test('stop asks first and gives the exit code', async () => {
  const service = await start(`process.on('SIGTERM', () => process.exit(5))\n${REPORT}`)
  expect(await service.stop()).toBe(5)
  expect(service.running()).toBe(false)
})

test('a service that ignores the request is killed when its time is up', async () => {
  const service = await start(`process.on('SIGTERM', () => {})\n${REPORT}`)
  expect(await service.stop(200)).toBe(null)
  expect(alive(service.pid)).toBe(false)
})

test('a service that ends early is reported with the last lines of its log', async () => {
  await expect(start("console.log('the port is taken')\nprocess.exit(1)\n")).rejects.toThrow(
    /^The service ended unexpectedly \(code 1\)\. Its last lines:\n {2}the port is taken$/,
  )
})

test('a service that is never ready is stopped and reported when its time is up', async () => {
  // Its time is up long before it has said anything, but each attempt is waited for.
  const ready = async (): Promise<boolean> => {
    await until('it runs', () => readFileSync(options.logFile, 'utf8').includes('waiting'))
    return false
  }
  await expect(
    start("console.log('waiting')\nsetInterval(() => {}, 1000)\n", { startTimeoutMs: 1, ready }),
  ).rejects.toThrow(/was not ready after 0\.001 s\. Its last lines:\n {2}waiting/)
})

test('a running service that dies is noticed', async () => {
  const service = await start(REPORT)
  service.signal('SIGKILL')
  await expect(service.ended).rejects.toThrow(/ended unexpectedly \(SIGKILL\)/)
})

test('a service with restartOn restarts when a file there changes, and no process of it survives stop', async () => {
  const code = join(folder, 'code')
  mkdirSync(code)
  const pidFile = join(folder, 'witness')
  const pidNow = (): number => Number(readFileSync(pidFile, 'utf8'))
  const service = await start(
    `writeFileSync(process.env['WITNESS'] ?? '', String(process.pid))\nsetInterval(() => {}, 1000)\n`,
    { restartOn: [code] },
  )
  await until('the service has started', () => pidNow() > 0)
  const first = pidNow()
  writeFileSync(join(code, 'stage.ts'), 'export {}')
  await expectEventually(() => pidNow() !== first && alive(pidNow()), true)
  expect(alive(first)).toBe(false)
  await service.stop()
  expect([service.pid, pidNow()].filter(alive)).toEqual([])
})

/** Starts everything in a parent of its own and kills that parent. */
async function pidsAfterParentWasKilled(parentSource: string): Promise<readonly number[]> {
  writeFileSync(join(folder, 'parent.ts'), parentSource)
  const parent = spawn(process.execPath, [join(folder, 'parent.ts')], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = new Promise((resolve) => parent.once('exit', resolve))
  const line = await new Promise<string>((resolve) =>
    parent.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString())),
  )
  const pids = JSON.parse(line) as readonly number[]
  expect(pids.every(alive)).toBe(true)
  parent.kill('SIGKILL')
  await exited
  return pids
}

test('no service, Postgres or Redis outlives a parent that was killed', async () => {
  const source = (path: string): string => fileURLToPath(new URL(`../../../../${path}`, import.meta.url))
  writeFileSync(
    join(folder, 'main.ts'),
    `import { writeFileSync } from 'node:fs'\nimport { stopOnSignal } from ` +
      `'${source('core/platform/shutdown.ts')}'\nimport { createLog } from ` +
      `'${source('core/platform/log.ts')}'\nstopOnSignal(createLog('service', 'info'), 1000, () => ` +
      `Promise.resolve())\n${REPORT}`,
  )
  mkdirSync(join(folder, 'code'))
  const pids = await pidsAfterParentWasKilled(`
    import { existsSync, readFileSync } from 'node:fs'
    import { startPostgres } from '${source('operator/demo/local/postgres.ts')}'
    import { startRedis } from '${source('operator/demo/local/redis.ts')}'
    import { startService } from '${source('operator/demo/local/processes.ts')}'
    const folder = ${JSON.stringify(folder)}
    await startPostgres({ folder: folder + '/postgres' })
    await startRedis({ folder: folder + '/redis' })
    const start = (witness, more) =>
      startService({
        name: 'service',
        script: folder + '/main.ts',
        environment: { WITNESS: witness },
        logFile: folder + '/log',
        ready: async () => existsSync(witness),
        ...more,
      })
    const service = await start(folder + '/witness')
    const watched = await start(folder + '/watched', { restartOn: [folder + '/code'] })
    const postmaster = Number.parseInt(readFileSync(folder + '/postgres/cluster/postmaster.pid', 'utf8'), 10)
    console.log(JSON.stringify([service.pid, watched.pid, postmaster]))
  `)
  await expectEventually(() => pids.filter(alive), [])
})
