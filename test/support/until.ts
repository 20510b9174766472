import { setTimeout as sleep } from 'node:timers/promises'

const EVERY_MS = 25

/**
 * Polls until the answer is neither undefined nor false, and returns it.
 * @throws Error naming what was waited for.
 */
export async function until<T>(
  what: string,
  timeoutMs: number,
  probe: () => Promise<T | undefined | false>,
): Promise<T> {
  const endsAtMs = performance.now() + timeoutMs
  for (;;) {
    const found = await probe()
    if (found !== undefined && found !== false) return found
    if (performance.now() > endsAtMs) throw new Error(`not within ${timeoutMs} ms: ${what}`)
    await sleep(EVERY_MS)
  }
}
