import type { Redis } from 'ioredis'
import type { AdmittedRequest, DayCount, LastServed } from '#core/db/reservation-counts.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { LIMIT_BOUNDS } from './bounds.ts'
import { basesKey, deadlinesKey, entitlementKeys, epochKey, epochsKey, exposureKey } from './counter-keys.ts'

/** Writes the counters of an epoch before it is in force. */
export interface Installer {
  /** Notes the epoch, so that what is written under it is freed even if it never comes into force. */
  begin(organizationId: string, epoch: string): Promise<void>
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

export function createInstaller(redis: Redis): Installer {
  return {
    begin: async (organizationId, epoch) => {
      await redis.sadd(epochsKey(organizationId), epoch)
    },
    requests: async (organizationId, epoch, counts, admitted) => {
      await runAll(redis, requestCommands(organizationId, epoch, counts, admitted))
    },
    passages: async (organizationId, epoch, windowMs, passages) => {
      const byBase = [...Map.groupBy(passages, ({ knowledgeBaseId }) => knowledgeBaseId)]
      const bases = basesKey(organizationId, epoch)
      await runAll(redis, [
        ['sadd', bases, ...byBase.map(([id]) => id)],
        ['pexpire', bases, windowMs],
        ...byBase.flatMap(([id, served]) => exposureCommands(exposureKey(organizationId, epoch, id), windowMs, served)),
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
 * between them. What is known of a whole document is written with each batch that has a part of it.
 */
function exposureCommands(root: string, windowMs: number, passages: readonly LastServed[]): readonly Command[] {
  const byDocument = [...Map.groupBy(passages, ({ document }) => document)]
  const ofDocuments = (value: (passage: LastServed) => number): (string | number)[] =>
    byDocument.flatMap(([document, [passage]]) => (passage === undefined ? [] : [value(passage), document]))
  return [
    ['zadd', root, 'gt', ...passages.flatMap(({ atMs, chunk }) => [atMs, chunk])],
    ...byDocument.flatMap(([document, served]): readonly Command[] => {
      const key = `${root}:document:${document}`
      const members = served.flatMap(({ atMs, revision, ordinal }) => [atMs, `${revision}:${ordinal}`])
      return [
        ['zadd', key, 'gt', ...members],
        ['pexpire', key, windowMs],
      ]
    }),
    ['hset', `${root}:totals`, ...byDocument.flatMap(([document, served]) => [document, served[0]?.total ?? 0])],
    ['zadd', `${root}:documents`, ...ofDocuments(({ documentServed }) => documentServed)],
    ['zadd', `${root}:runs`, ...ofDocuments(({ documentRun }) => documentRun)],
    ...['', ':totals', ':documents', ':runs'].map((suffix): Command => ['pexpire', root + suffix, windowMs]),
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
