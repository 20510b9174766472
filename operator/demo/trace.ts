import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '#core/platform/errors.ts'

const WRITTEN_WITHIN_MS = 120_000
const ASKED_EVERY_MS = 100
const TIMEOUT_MS = 5_000

/**
 * Waits until the trace shows that a version is active.
 * @throws OperatorError when the job worker has not written it in time.
 */
export async function untilTraced(traceUrl: string, slug: string, versionId: string): Promise<void> {
  const deadline = performance.now() + WRITTEN_WITHIN_MS
  while (performance.now() < deadline) {
    const head = await fetch(`${traceUrl}/${slug}/head.json`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    if ((await head.text()).includes(versionId)) return
    await sleep(ASKED_EVERY_MS)
  }
  throw new OperatorError('The trace was not written in two minutes: read the log of the job worker.')
}
