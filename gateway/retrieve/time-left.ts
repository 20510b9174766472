import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import type { RequestContext } from './request-context.ts'
import type { PinnedRequest } from './pin.ts'

/** What each stage that waits for others leaves to those after it, in milliseconds and in the order of the stages. */
const RESERVES_MS = { rewrite: 0, embed: 1_000, search: 1_500, read: 1_500, record: 1_000 } as const
type Waiting = keyof typeof RESERVES_MS

/**
 * Returns the time that a stage may wait, in whole milliseconds: what remains of the request after the reserves of the later
 * stages that its profile has. At least 1.
 */
export function timeLeft(
  stage: Waiting,
  { timings }: Pick<RequestContext, 'timings'>,
  { profile: { embedding, parameters } }: Pick<PinnedRequest, 'profile'>,
): number {
  const absent = { embed: embedding === null, read: parameters.reader === null }
  const stages = Object.entries(RESERVES_MS)
  const later = stages.slice(stages.findIndex(([name]) => name === stage) + 1)
  const reserved = later.filter(([name]) => !Object.entries(absent).some(([other, is]) => is && other === name))
  const left = PLATFORM_BOUNDS.requestDeadlineMs - timings.totalMs()
  return Math.max(1, Math.floor(left - reserved.reduce((sum, [, ms]) => sum + ms, 0)))
}
