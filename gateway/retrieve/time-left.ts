import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import type { RequestContext } from './request-context.ts'
import type { PinnedRequest } from './pin.ts'

/** The stages that wait for others, in their order, with what the stages before leave to each, in milliseconds. */
const RESERVES_MS = { rewrite: 0, embed: 1_000, search: 1_500, read: 1_500, record: 1_000 } as const
const WAITING = Object.entries(RESERVES_MS)

/**
 * Returns the time that a stage may wait, in whole milliseconds: what remains of the request after the reserves of the
 * later stages that its profile has. At least 1.
 */
export function timeLeft(
  stage: keyof typeof RESERVES_MS,
  { timings }: Pick<RequestContext, 'timings'>,
  { profile: { embedding, parameters } }: Pick<PinnedRequest, 'profile'>,
): number {
  const lacks = [embedding === null ? 'embed' : '', parameters.reader === null ? 'read' : '']
  const later = WAITING.slice(WAITING.findIndex(([name]) => name === stage) + 1)
  const reserved = later.reduce((sum, [name, ms]) => (lacks.includes(name) ? sum : sum + ms), 0)
  return Math.max(1, Math.floor(PLATFORM_BOUNDS.requestDeadlineMs - timings.totalMs() - reserved))
}
