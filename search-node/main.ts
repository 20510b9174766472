import { BOUNDS } from '#core/platform/bounds.ts'
import { ConfigError } from '#core/platform/config.ts'
import { createLog } from '#core/platform/log.ts'
import { stopOnSignal } from '#core/platform/shutdown.ts'
import { searchNodeConfig } from './config.ts'
import { startSearchNode } from './node.ts'

async function main(): Promise<void> {
  const config = searchNodeConfig()
  const log = createLog('search-node', config.LOG_LEVEL)
  const node = await startSearchNode(config, log)
  stopOnSignal(log, config.DRAIN_MS + BOUNDS.hardDeadlineMs + BOUNDS.searchTimeoutMs, () => node.stop())
  log.info('listening', { address: config.SEARCH_LISTEN, port: node.port, threads: config.SEARCH_THREADS })
}

main().catch((error: unknown) => {
  process.stderr.write(
    `${error instanceof ConfigError ? error.message : `The search node cannot start: ${error instanceof Error ? error.message : String(error)}`}\n`,
  )
  process.exitCode = 1
})
