import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import { serveInternal } from '#core/platform/internal-server.ts'
import { createLog } from '#core/platform/log.ts'
import { stopOnSignal } from '#core/platform/shutdown.ts'
import { startOrExplain } from '#core/platform/start.ts'
import { startTracing } from '#core/platform/tracing.ts'
import { searchNodeConfig } from './config.ts'
import { startSearchNode } from './node.ts'

await startOrExplain('The search node cannot start', async () => {
  const config = searchNodeConfig()
  const log = createLog('search-node', config.LOG_LEVEL)
  await startTracing('search-node', config, log)
  const node = await startSearchNode(config, log)
  const internal = await serveInternal(config.SEARCH_INTERNAL_LISTEN, node.internal, log)
  stopOnSignal(log, config.DRAIN_MS + PLATFORM_BOUNDS.hardDeadlineMs + PLATFORM_BOUNDS.searchTimeoutMs, async () => {
    await node.stop()
    await internal.close()
  })
  log.info('listening', {
    address: config.SEARCH_LISTEN,
    port: node.port,
    threads: config.SEARCH_THREADS,
    metrics: internal.port,
  })
})
