import type { Redis } from 'ioredis'
import type { AdmittedRequest, CountedPassage, DayCount } from '#core/db/reservation-counts.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { LIMIT_BOUNDS } from './bounds.ts'
import {
  basesKey,
  deadlinesKey,
  entitlementKeys,
  epochKey,
  epochsKey,
  exposedBase,
  exposureKey,
} from './counter-keys.ts'

type Command = readonly (string | number)[]

/** Writes the counters of an epoch before it is in force. */
export function createInstaller(redis: Redis) {
  return {
    /** Notes the epoch, so that what is written under it is freed even if it never comes into force. */
    async begin(organizationId: string, epoch: string) {
      await redis.sadd(epochsKey(organizationId), epoch)
    },
    requests: (...counted: Parameters<typeof requestCommands>) => runAll(redis, requestCommands(...counted)),
    /** @param windowMs the longest exposure window; passages are kept for as long. */
    async passages(organizationId: string, epoch: string, windowMs: number, passages: readonly CountedPassage[]) {
      const byBase = [...Map.groupBy(passages, exposedBase).entries()]
      const bases = basesKey(organizationId, epoch)
      await runAll(redis, [
        ['sadd', bases, ...byBase.map(([base]) => base)],
        ['pexpire', bases, windowMs + DAY_MS],
        ...byBase.flatMap(([, served]) =>
          served[0] === undefined
            ? []
            : exposureCommands(exposureKey(organizationId, epoch, served[0]), windowMs, served),
        ),
      ])
    },
    async enforce(organizationId: string, epoch: string, windowMs: number) {
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
      ['pexpire', key, LIMIT_BOUNDS.countsKeptDays * DAY_MS],
    ]
  })
  const charged = admitted.flatMap(({ entitlementId, id, admittedAtMs, deadlineAtMs, open }): readonly Command[] => {
    const { minute, leases } = keysOf(entitlementId)
    return [
      ['zadd', minute, admittedAtMs, id],
      ['pexpire', minute, LIMIT_BOUNDS.minuteWindowKeptMs],
      ...(open
        ? [
            ['zadd', leases, deadlineAtMs, id],
            ['pexpire', leases, LIMIT_BOUNDS.countsKeptDays * DAY_MS],
            ['zadd', deadlines, deadlineAtMs, id],
            ['pexpire', deadlines, LIMIT_BOUNDS.countsKeptDays * DAY_MS],
          ]
        : []),
    ]
  })
  return [...counted, ...charged]
}

/**
 * Passages of one knowledge base, under the keys of `exposure.lua`. Each command is short, so that Redis serves others
 * between them. Counts add up over the batches of an epoch, each of which is written once.
 */
function exposureCommands(root: string, windowMs: number, passages: readonly CountedPassage[]): readonly Command[] {
  const keptMs = windowMs + DAY_MS
  const ofDays = (key: string, counted: readonly CountedPassage[]): readonly Command[] =>
    [
      ...Map.groupBy(
        counted.flatMap(({ newOn }) => newOn),
        (day) => day,
      ),
    ].map(([day, each]) => ['hincrby', key, day, each.length])
  return [
    ['zadd', root, 'gt', ...passages.flatMap(({ atMs, chunk }) => [atMs, chunk])],
    ...ofDays(`${root}:days`, passages),
    ...[...Map.groupBy(passages, ({ document }) => document)].flatMap(([document, served]): readonly Command[] => {
      const key = `${root}:document:${document}`
      const count = served.reduce((sum, { newOn }) => sum + newOn.length, 0)
      if (count === 0) return []
      return [
        ...ofDays(key, served),
        ['hset', key, 'total', served.at(-1)?.total ?? 0],
        ['pexpire', key, keptMs],
        ['zincrby', `${root}:documents`, count, document],
      ]
    }),
    ...['', ':days', ':documents'].map((suffix): Command => ['pexpire', root + suffix, keptMs]),
  ]
}

async function runAll(redis: Redis, commands: readonly Command[]): Promise<void> {
  for (let start = 0; start < commands.length; start += LIMIT_BOUNDS.rebuildBatchCommands) {
    const results = await redis
      .pipeline(commands.slice(start, start + LIMIT_BOUNDS.rebuildBatchCommands).map((command) => [...command]))
      .exec()
    const failed = results?.find(([error]) => error !== null)?.[0]
    if (results === null || failed) throw failed ?? new Error('the limit store accepted no counters')
  }
}
