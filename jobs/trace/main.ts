import { hostAndPort } from '#core/platform/config.ts'
import { serveInternal } from '#core/platform/internal-server.ts'
import { createLog } from '#core/platform/log.ts'
import { stopOnSignal } from '#core/platform/shutdown.ts'
import { startOrExplain } from '#core/platform/start.ts'
import { createTraceApp, createTraceMetrics } from './app.ts'
import { TRACE_BOUNDS } from './bounds.ts'
import { traceConfig } from './config.ts'

await startOrExplain('The trace cannot start', async () => {
  const config = traceConfig()
  const log = createLog('trace', config.LOG_LEVEL)
  const app = createTraceApp(config.TRACE_DIR)
  const { registry, answered } = createTraceMetrics(config.TRACE_DIR)
  app.addHook('onResponse', async (_request, reply) => answered(reply.statusCode))
  await app.listen(hostAndPort(config.TRACE_LISTEN))
  const internal = await serveInternal(config.TRACE_INTERNAL_LISTEN, { registry, ready: () => ({ faults: [] }) }, log)
  log.info('listening', { address: config.TRACE_LISTEN, folder: config.TRACE_DIR })
  stopOnSignal(log, TRACE_BOUNDS.traceStopTimeoutMs, async () => {
    await app.close()
    await internal.close()
  })
})
