import { expect, test, vi } from 'vitest'
import { createSteps } from '#operator/demo/steps.ts'
import type { LocalService } from '#operator/demo/local/processes.ts'
import { until } from '#test/support/until.ts'

function service(name: string) {
  const { promise: ended, reject } = Promise.withResolvers<never>()
  ended.catch(() => undefined)
  const stop = vi.fn<() => Promise<null>>().mockResolvedValue(null)
  const running = { name, pid: 1, logFile: '', ended, running: () => true, stop, signal: () => undefined }
  return { service: running satisfies LocalService, stop, end: () => reject(new Error(`${name} ended (SIGBUS)`)) }
}

test('a service that ends by itself is started again, and everything stops where it ends at once again', async () => {
  const exit = vi.spyOn(process, 'exit').mockImplementation(() => undefined as never)
  vi.spyOn(performance, 'now').mockReturnValueOnce(0).mockReturnValue(60_000)
  const lines: string[] = []
  const steps = createSteps({ write: (text) => lines.push(text) })
  const [first, second] = [service('search-node'), service('search-node')]
  const again = vi.fn<() => Promise<LocalService>>().mockResolvedValue(second.service)
  steps.watch(first.service, again)
  first.end()
  await until('it runs again', () => lines.join('').includes('search-node runs again.'))
  second.end()
  await until('all stops', () => exit.mock.calls.length > 0)
  expect([again.mock.calls.length, second.stop.mock.calls.length, first.stop.mock.calls.length]).toEqual([1, 1, 0])
  vi.restoreAllMocks()
})
