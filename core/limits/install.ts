import type { Redis } from 'ioredis'
import type { ServedPassage } from '#core/domain/exposure.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { DAY_MS } from '#core/platform/time.ts'
import { limitKeys, readyKey } from './counter-keys.ts'
import type { LimitScope } from './counter-keys.ts'

/**
 * Counters of one organization, counted from the reservations. They are written under a new epoch before it is in
 * force.
 */
export interface RebuiltCounters {
  readonly entitlements: readonly {
    readonly scope: LimitScope
    readonly dayUsed: number
    readonly monthUsed: number
    readonly minute: readonly { readonly requestId: string; readonly atMs: number }[]
    readonly open: readonly {
      readonly requestId: string
      readonly admittedAtMs: number
      readonly deadlineMs: number
      readonly idempotencyDigest: Buffer | undefined
    }[]
  }[]
  readonly exposure: readonly {
    readonly scope: LimitScope
    readonly windowMs: number
    readonly served: readonly { readonly atMs: number; readonly passage: ServedPassage }[]
  }[]
}

/** Writes the rebuilt counters of an organization and then puts their epoch in force. */
export async function install(
  redis: Redis,
  organizationId: string,
  epoch: number,
  counters: RebuiltCounters,
): Promise<void> {
  const commands: (readonly (string | number)[])[] = []
  for (const entitlement of counters.entitlements) {
    const keys = limitKeys(entitlement.scope)
    const now = new Date()
    const day = Math.floor(now.getTime() / DAY_MS)
    const month = now.getUTCFullYear() * 12 + now.getUTCMonth() + 1
    commands.push(
      ['hset', keys.counts, `d${day}`, entitlement.dayUsed, `m${month}`, entitlement.monthUsed],
      ['pexpire', keys.counts, BOUNDS.countsKeptDays * DAY_MS],
    )
    for (const entry of entitlement.minute) commands.push(['zadd', keys.minute, entry.atMs, entry.requestId])
    commands.push(['pexpire', keys.minute, BOUNDS.minuteWindowKeptMs])
    for (const open of entitlement.open) {
      const admitted = new Date(open.admittedAtMs)
      commands.push(['zadd', keys.leases, open.deadlineMs, open.requestId])
      commands.push([
        'set',
        keys.charge(open.requestId),
        `d${Math.floor(open.admittedAtMs / DAY_MS)} m${admitted.getUTCFullYear() * 12 + admitted.getUTCMonth() + 1}`,
        'PX',
        BOUNDS.chargeKeptMs,
      ])
      if (open.idempotencyDigest !== undefined)
        commands.push(['set', keys.idempotency(open.idempotencyDigest), open.requestId, 'PX', BOUNDS.chargeKeptMs])
    }
    commands.push(['pexpire', keys.leases, BOUNDS.hardDeadlineMs + BOUNDS.leasesKeptBeyondDeadlineMs])
  }
  for (const { scope, windowMs, served } of counters.exposure) {
    const keys = limitKeys(scope)
    // Every document is flagged. The next admission checks each once and removes the flag of those below their mark.
    for (const { atMs, passage } of served) {
      commands.push(
        ['zadd', keys.exposure, atMs, passage.chunk],
        ['zadd', keys.documentPrefix + passage.document, atMs, `${passage.revision}:${passage.ordinal}`],
        ['hset', keys.flags, passage.document, passage.total],
      )
      commands.push(['pexpire', keys.documentPrefix + passage.document, windowMs])
    }
    commands.push(['pexpire', keys.exposure, windowMs], ['pexpire', keys.flags, windowMs])
  }
  for (let start = 0; start < commands.length; start += BOUNDS.rebuildBatchCommands) {
    const results = await redis
      .pipeline(commands.slice(start, start + BOUNDS.rebuildBatchCommands).map((command) => [...command]))
      .exec()
    const failed = results?.find(([error]) => error !== null)?.[0]
    if (results === null || failed) throw failed ?? new Error('the limit store accepted no counters')
  }
  await redis.set(readyKey(organizationId), epoch)
}
