import { existsSync, readFileSync } from 'node:fs'
import { watch } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { startSupervised } from '#operator/demo/local/supervised-process.ts'
import { alive, startProgram } from '#test/support/processes.ts'
import { expectEventually, until } from '#test/support/until.ts'
import { folderOfTest } from '#test/support/folder.ts'

/** Far longer than a program needs that hears the second request. */
const KILLED_AFTER_MS = 120_000
let folder: string
beforeEach(() => {
  folder = folderOfTest()
})

/** The pid that the cluster's file states; negative while the cluster is initialised, 0 while there is none. */
function statedPid(cluster: string): number {
  try {
    return Number.parseInt(readFileSync(join(cluster, 'postmaster.pid'), 'utf8'), 10)
  } catch {
    return 0
  }
}

/**
 * Holds the server as soon as it has a pid, so that it is still starting when a signal comes. A poll would come too
 * late: it is ready within a tenth of a second.
 */
async function heldPostmaster(dataDir: string): Promise<number> {
  const cluster = join(dataDir, 'postgres/cluster')
  await until('the cluster is created', () => existsSync(cluster))
  for await (const _ of watch(cluster)) {
    const pid = statedPid(cluster)
    if (!(pid > 0)) continue
    process.kill(pid, 'SIGSTOP')
    return pid
  }
  throw new Error('the folder of the cluster is no longer watched')
}

test('a Ctrl-C while Postgres starts for the first time ends the demo only after Postgres', async () => {
  const dataDir = join(folder, 'data')
  const args = ['operator/demo/main.ts', '--once', '--data-dir', dataDir]
  const { child, said, ended } = startProgram(args, process.env)
  const postmaster = await heldPostmaster(dataDir)
  try {
    child.kill('SIGINT')
    expect(await Promise.race([ended, sleep(1_500, 'still stopping')])).toBe('still stopping')
  } finally {
    process.kill(postmaster, 'SIGCONT')
  }
  expect(await ended).toBe(130)
  expect(alive(postmaster)).toBe(false)
  expect(said.stdout).not.toMatch(/Postgres … ready/)
  expect(said.stdout.trimEnd().split('\n').at(-1)).toBe('Stopping …')
})

test('a program that does not hear the first request to stop is asked again', async () => {
  const command = [
    '/bin/sh',
    '-c',
    'echo started; sleep 2; exec "$0" -e "setInterval(() => {}, 1000)"',
    process.execPath,
  ] as const
  const logFile = join(folder, 'log')
  const program = startSupervised({
    name: 'The program',
    command: [...command],
    environment: {},
    folder,
    logFile,
    stopSignal: 'INT',
  })
  await expectEventually(() => readFileSync(logFile, 'utf8'), 'started\n')
  const began = performance.now()
  await program.stop(KILLED_AFTER_MS)
  expect(performance.now() - began).toBeLessThan(KILLED_AFTER_MS)
  expect(program.running()).toBe(false)
})
