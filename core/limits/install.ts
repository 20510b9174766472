import type { Redis } from 'ioredis'
import type { AdmittedRequest, DayCount, LastServed } from '#core/db/reservation-counts.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { deadlinesKey, entitlementKeys, epochKey, exposureKey } from './counter-keys.ts'

/** Writes the counters of an epoch before it is in force. */
export interface Installer {
  requests(
    organizationId: string,
    epoch: string,
    counts: readonly DayCount[],
    admitted: readonly AdmittedRequest[],
  ): Promise<void>
  /** @param windowMs the longest exposure window; passages are kept for as long. */
  passages(organizationId: string, epoch: string, windowMs: number, passages: readonly LastServed[]): Promise<void>
  /** Puts the epoch in force. */
  enforce(organizationId: string, epoch: string, windowMs: number): Promise<void>
}

type Command = readonly (string | number)[]

/** @param install runs `install.lua` with these arguments. */
export function createInstaller(redis: Redis, install: (args: Command) => Promise<unknown>): Installer {
  return {
    requests: async (organizationId, epoch, counts, admitted) => {
      await runAll(redis, requestCommands(organizationId, epoch, counts, admitted))
    },
    passages: async (organizationId, epoch, windowMs, passages) => {
      await install([
        windowMs,
        ...passages.flatMap((passage) => [
          exposureKey(organizationId, epoch, passage.knowledgeBaseId),
          passage.atMs,
          passage.chunk,
          passage.document,
          passage.revision,
          passage.ordinal,
          passage.total,
        ]),
      ])
    },
    enforce: async (organizationId, epoch, windowMs) => {
      await redis.hset(epochKey(organizationId), { epoch, window: windowMs })
    },
  }
}

function requestCommands(
  organizationId: string,
  epoch: string,
  counts: readonly DayCount[],
  admitted: readonly AdmittedRequest[],
): readonly Command[] {
  const deadlines = deadlinesKey(organizationId, epoch)
  const keysOf = (entitlementId: string): ReturnType<typeof entitlementKeys> =>
    entitlementKeys(organizationId, epoch, entitlementId)
  const counted = counts.flatMap(({ entitlementId, day, month, requests }): readonly Command[] => {
    const key = keysOf(entitlementId).counts
    return [
      ['hincrby', key, `d${day}`, requests],
      ['hincrby', key, `m${month}`, requests],
      ['pexpire', key, BOUNDS.countsKeptDays * DAY_MS],
    ]
  })
  const charged = admitted.flatMap(({ entitlementId, id, admittedAtMs, deadlineAtMs, open }): readonly Command[] => {
    const { minute, leases } = keysOf(entitlementId)
    return [
      ['zadd', minute, admittedAtMs, id],
      ['pexpire', minute, BOUNDS.minuteWindowKeptMs],
      ...(open
        ? [
            ['zadd', leases, deadlineAtMs, id],
            ['pexpire', leases, BOUNDS.countsKeptDays * DAY_MS],
            ['zadd', deadlines, deadlineAtMs, id],
            ['pexpire', deadlines, BOUNDS.countsKeptDays * DAY_MS],
          ]
        : []),
    ]
  })
  return [...counted, ...charged]
}

async function runAll(redis: Redis, commands: readonly Command[]): Promise<void> {
  for (let start = 0; start < commands.length; start += BOUNDS.rebuildBatchCommands) {
    const results = await redis
      .pipeline(commands.slice(start, start + BOUNDS.rebuildBatchCommands).map((command) => [...command]))
      .exec()
    const failed = results?.find(([error]) => error !== null)?.[0]
    if (results === null || failed) throw failed ?? new Error('the limit store accepted no counters')
  }
}
