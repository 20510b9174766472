import type { Log } from './log.ts'
import { stopTracing } from './tracing.ts'

/**
 * Runs `stop` once on SIGTERM or SIGINT, then exits. A second signal, or a stop that takes longer than `timeoutMs`,
 * exits at once. The end of the parent (its IPC channel closes) counts as a signal, so no child outlives it.
 */
export function stopOnSignal(log: Log, timeoutMs: number, stop: () => Promise<void>): void {
  let stopping = false
  function begin(signal: string): void {
    if (stopping) process.exit(1)
    stopping = true
    log.info('stopping', { signal })
    const timer = setTimeout(() => {
      log.error('stop took too long', { timeout_ms: timeoutMs })
      process.exit(1)
    }, timeoutMs)
    const stopped = stop().then(stopTracing)
    stopped.then(
      () => {
        clearTimeout(timer)
        process.exit(0)
      },
      (error: unknown) => {
        log.error('stop failed', {}, error)
        process.exit(1)
      },
    )
  }
  process.on('SIGTERM', () => begin('SIGTERM'))
  process.on('SIGINT', () => begin('SIGINT'))
  if (process.send !== undefined) process.on('disconnect', () => begin('disconnect'))
  // A parent may end while this process starts.
  if (process.send !== undefined && !process.connected) begin('disconnect')
}
