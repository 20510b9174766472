import { hostAndPort } from '#core/platform/config.ts'
import { createLog } from '#core/platform/log.ts'
import { stopOnSignal } from '#core/platform/shutdown.ts'
import { startOrExplain } from '#core/platform/start.ts'
import { createTraceApp } from './app.ts'
import { TRACE_BOUNDS } from './bounds.ts'
import { traceConfig } from './config.ts'

await startOrExplain('The trace cannot start', async () => {
  const config = traceConfig()
  const log = createLog('trace', config.LOG_LEVEL)
  const app = createTraceApp(config.TRACE_DIR)
  await app.listen(hostAndPort(config.TRACE_LISTEN))
  log.info('listening', { address: config.TRACE_LISTEN, folder: config.TRACE_DIR })
  stopOnSignal(log, TRACE_BOUNDS.traceStopTimeoutMs, () => app.close())
})
