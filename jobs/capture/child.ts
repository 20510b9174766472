import { z } from 'zod'
import { listSources } from '#core/db/sources.ts'
import { openArtifactStore } from '#core/index/format/store.ts'
import { describeCause } from '#core/platform/log.ts'
import { captureConfig, type CaptureConfig } from '#jobs/platform/config.ts'
import { asProgram } from '#jobs/version-build/program.ts'
import { CAPTURE_BOUNDS } from './bounds.ts'
import { captureSource } from './pipeline.ts'
import { SCHEDULED, type CaptureRun } from './run-child.ts'

/** Captures a source in its own process, as its schedule asks: `child.ts <source id>`. */
const [sourceId] = z.tuple([z.uuid()]).parse(process.argv.slice(2))

await asProgram<CaptureRun, CaptureConfig>(captureConfig, async ({ config, database, log }) => {
  try {
    const sources = await listSources(database, null, CAPTURE_BOUNDS.sourcesMax)
    const source = sources.find(({ id }) => id === sourceId)
    if (source === undefined) return { outcome: 'removed' }
    const store = openArtifactStore(config)
    const deps = { database, store, actor: SCHEDULED, roots: config.SOURCE_ROOTS, preparesBuilds: true }
    const captured = await captureSource(deps, source)
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage()
    const cost = { cpuSeconds: (userCPUTime + systemCPUTime) / 1e6, peakBytes: maxRSS * 1_024 }
    return { outcome: 'ended', captured, cost }
  } catch (error) {
    log.warn('capture failed', { source_id: sourceId }, error)
    return { outcome: 'failed', reason: describeCause(error) }
  }
})
