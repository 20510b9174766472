import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import type { RequestContext } from './request-context.ts'
import type { PinnedRequest } from './pin.ts'

/** The stages that wait for others, in their order. */
const WAITING = ['rewrite', 'embed', 'search', 'read', 'record'] as const
type Waiting = (typeof WAITING)[number]
/** What the stages before leave to each of them, in milliseconds. */
const RESERVES_MS: Readonly<Record<Waiting, number>> = {
  rewrite: 0,
  embed: 1_000,
  search: 1_500,
  read: 1_500,
  record: 1_000,
}

/**
 * Returns the time that a stage may wait, in whole milliseconds: what remains of the request after the reserves of the
 * later stages that its profile has. At least 1.
 */
export function timeLeft(
  stage: Waiting,
  { timings }: Pick<RequestContext, 'timings'>,
  { profile: { embedding, parameters } }: Pick<PinnedRequest, 'profile'>,
): number {
  const has: Readonly<Record<Waiting, boolean>> = {
    rewrite: true,
    embed: embedding !== null,
    search: true,
    read: parameters.reader !== null,
    record: true,
  }
  const later = WAITING.slice(WAITING.indexOf(stage) + 1).filter((name) => has[name])
  const reserved = later.reduce((sum, name) => sum + RESERVES_MS[name], 0)
  return Math.max(1, Math.floor(PLATFORM_BOUNDS.requestDeadlineMs - timings.totalMs() - reserved))
}
