import { availableParallelism, loadavg } from 'node:os'
import type { Window } from './checks.ts'
import type { Fleet } from './fleet.ts'

const SAMPLE_EVERY_MS = 250
/** Tasks for each core; beyond, what has a deadline may miss it. */
const SLOWNESS_MAX = 4

/** Notes when the provider is asked for a question. */
export function watchProvider({ provider: { requests } }: Fleet, questions: readonly string[]) {
  const calls: number[] = []
  let seen = requests.length
  const note = (): void => {
    for (const { input } of requests.slice(seen))
      if (input.length === 1 && questions.some((question) => input[0]?.includes(question) === true))
        calls.push(Date.now())
    seen = requests.length
  }
  const timer = setInterval(note, SAMPLE_EVERY_MS)
  return {
    stop(): readonly number[] {
      clearInterval(timer)
      note()
      return calls
    },
  }
}

/** How many tasks want each core, of the kernel's average over one minute: at the worst, and when beyond a bound. */
export function watchSlowness() {
  let most = 1
  const busy: Window[] = []
  const note = (): void => {
    const slowness = (loadavg()[0] ?? 0) / availableParallelism()
    most = Math.max(most, slowness)
    const toMs = Date.now()
    if (slowness > SLOWNESS_MAX) busy.push({ party: 'machine', kind: 'busy', fromMs: toMs - SAMPLE_EVERY_MS, toMs })
  }
  const timer = setInterval(note, SAMPLE_EVERY_MS)
  return {
    stop() {
      clearInterval(timer)
      return { most: Math.min(most, SLOWNESS_MAX), busy, seconds: (busy.length * SAMPLE_EVERY_MS) / 1_000 }
    },
  }
}
