import { expect, test } from 'vitest'
import { startPeriodic, type PeriodicTask } from '#jobs/worker/maintenance/periodic.ts'
import { createLog } from '#core/platform/log.ts'
import { openTestPools } from '#test/support/postgres.ts'
import { until } from '#test/support/until.ts'

const { jobs: database } = await openTestPools()

function start(tasks: readonly Partial<PeriodicTask>[], held: () => string | undefined = () => undefined) {
  const lines: string[] = []
  const done: string[] = []
  const log = createLog('test', 'warn', (line) => lines.push(line))
  const whole = tasks.map((task) => ({ name: 'task', everyMs: 10, locked: false, run: async () => undefined, ...task }))
  return { lines, done, ...startPeriodic({ database, held, onSuccess: (task) => done.push(task), log }, whole) }
}

test('a task that hangs keeps no other waiting, and its age says so', async () => {
  const hanging = Promise.withResolvers<void>()
  const running = start([{ name: 'hangs', run: () => hanging.promise }, { name: 'goes on' }])
  await until('the other has gone on', () => running.done.length > 20)
  const { hangs = 0, 'goes on': other = 0 } = running.agesMs()
  expect(hangs).toBeGreaterThan(other)
  expect(running.done).not.toContain('hangs')
  hanging.resolve()
  await running.stop()
})

test('two workers never run a locked task at once, and one that is stopped leaves it to the other', async () => {
  let active = 0
  let overlaps = 0
  const task = { locked: true, run: async () => void ((overlaps += active++), await Promise.resolve(), active--) }
  const [one, two] = [start([task]), start([task])]
  await until('both had a turn', () => one.done.length > 3 && two.done.length > 3)
  await one.stop()
  const before = two.done.length
  await until('the other goes on', () => two.done.length > before + 3)
  await two.stop()
  expect(overlaps).toBe(0)
})

test('a task that fails pauses longer each time, and does not count as done', async () => {
  const atMs: number[] = []
  const run = (): Promise<never> => {
    atMs.push(performance.now())
    return Promise.reject(new Error('no memory'))
  }
  const running = start([{ run }])
  await until('it failed six times', () => atMs.length === 6)
  await running.stop()
  expect((atMs[5] ?? 0) - (atMs[4] ?? 0)).toBeGreaterThan(200)
  expect(running.lines[0]).toContain('no memory')
  expect(running.done).toEqual([])
})

test('nothing begins while it is held, and a run that did not reach its aim is no success', async () => {
  let held: string | undefined = 'clock'
  let runs = 0
  const running = start([{ run: async () => ++runs > 3 }, { name: 'other' }], () => held)
  await until('some periods passed', () => (running.agesMs()['other'] ?? 0) > 50)
  expect(runs).toBe(0)
  held = undefined
  await until('it is done', () => running.done.includes('task'))
  expect(runs).toBeGreaterThan(3)
  await running.stop()
})
