import type { RequestRecord } from '../record.ts'
import { createClient } from './client.ts'
import { toGenerator } from './messages.ts'
import type { FromGenerator } from './messages.ts'
import { startSchedule } from './schedule.ts'
import type { Schedule } from './schedule.ts'

/**
 * The load generator, in a process of its own, so that checks and reports do not delay it. It takes offers over IPC and
 * sends back one record a request.
 */
const FLUSH_EVERY_MS = 200
const client = createClient()
const running = new Set<Schedule>()

function tell(message: FromGenerator): void {
  if (process.connected) process.send?.(message)
}

process.on('message', (message) => {
  const parsed = toGenerator.parse(message)
  if (parsed.kind === 'stop') {
    for (const schedule of running) schedule.stop()
    return
  }
  const { id } = parsed
  let waiting: RequestRecord[] = []
  const flush = (): void => {
    if (waiting.length > 0) tell({ kind: 'records', id, records: waiting })
    waiting = []
  }
  const timer = setInterval(flush, FLUSH_EVERY_MS)
  const schedule = startSchedule(parsed, client, (record) => void waiting.push(record))
  running.add(schedule)
  void schedule.done.then(() => {
    clearInterval(timer)
    running.delete(schedule)
    flush()
    tell({ kind: 'done', id })
  })
})
process.on('disconnect', () => process.exit(0))
// The parent decides when an interrupted run ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
tell({ kind: 'ready' })
