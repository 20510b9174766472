import { Redis } from 'ioredis'
import type { RedisOptions } from 'ioredis'
import type { Log } from '#core/platform/log.ts'
import { REDIS_BOUNDS } from './bounds.ts'
import { afterPoll } from './after-poll.ts'
import { createLinks } from './connector.ts'
import type { Links } from './connector.ts'
import { CLUSTER_REFUSAL, INFO_SECTIONS, REPLICA_REFUSAL, identityOf, parseInfo, refusalOf } from './refusal.ts'
import { openLocator } from './locator.ts'
import type { Locator } from './locator.ts'
import { parseRedisUrl } from './url.ts'
import { createUsability } from './usability.ts'
import type { Usability, UsabilityEvents } from './usability.ts'

/**
 * A connection to Redis that is usable only while its server is the primary and keeps every key. A server that is
 * demoted, silent or no longer named by the Sentinels is left, and the primary is looked for until it is found.
 */
export interface PrimaryConnection extends Usability {
  /** Duplicates of this client follow the same rules. */
  readonly redis: Redis
  /** The queues and workers of the connection must be closed first. */
  close(): void
}

export interface PrimaryOptions {
  /** Names the connection in the log. */
  readonly name: string
  readonly log: Log
  /**
   * What a command does while the connection is not usable. fail: it fails at once, and after a time-out. wait: it
   * waits. end: it fails, and there is no second attempt to connect.
   */
  readonly whileAway: 'fail' | 'wait' | 'end'
  readonly scripts?: NonNullable<RedisOptions['scripts']>
}

const COMMANDS = {
  fail: { maxRetriesPerRequest: 0, enableOfflineQueue: false, commandTimeout: REDIS_BOUNDS.redisCommandTimeoutMs },
  wait: { maxRetriesPerRequest: null },
  end: { maxRetriesPerRequest: 0 },
} as const

/** Replies of a server that is no longer the primary. */
const DEMOTED = /^(?:READONLY|MASTERDOWN|LOADING)\b/
/** A server of a Redis Cluster refuses every database but 0 before it can be asked what it is. */
const NO_SELECT_IN_CLUSTER = 'SELECT is not allowed in cluster mode'

/** @param url a valid REDIS_URL. */
export function openPrimary(url: string, options: PrimaryOptions): PrimaryConnection {
  const target = parseRedisUrl(url)
  const usability = createUsability(options.name, options.log)
  const locator = openLocator(target)
  const links = createLinks({ locate: () => locator.primary(), tls: target.tls, onRefusal: usability.refused })
  const redis = new Redis({
    ...COMMANDS[options.whileAway],
    ...(target.username === undefined ? {} : { username: target.username }),
    ...(target.password === undefined ? {} : { password: target.password }),
    ...(target.tls ? { tls: {} } : {}),
    ...(options.scripts === undefined ? {} : { scripts: options.scripts }),
    db: target.database,
    Connector: links.Connector,
    // The connector bounds the time until the server is accepted.
    connectTimeout: 0,
    enableAutoPipelining: false,
    retryStrategy: (attempt) =>
      options.whileAway === 'end'
        ? null
        : Math.min(REDIS_BOUNDS.redisReconnectMaxMs, attempt * REDIS_BOUNDS.redisReconnectFirstMs),
    reconnectOnError: (error) => {
      if (DEMOTED.test(error.message)) links.leave(usability.refused(REPLICA_REFUSAL))
      return false
    },
  })
  redis.on('error', (error) => {
    if (error.message.includes(NO_SELECT_IN_CLUSTER)) usability.refused(CLUSTER_REFUSAL)
    else usability.lost(error)
  })
  redis.on('end', () => usability.ended())
  const stop = startChecks({ redis, links, locator, usability })
  return {
    ...usability,
    redis,
    close() {
      stop()
      usability.closing()
      locator.close()
      redis.disconnect()
    },
  }
}

/**
 * Asks the server for its role as soon as it is connected and then regularly. It is left when the answer is refused or
 * late, or when the Sentinels name another primary.
 * @returns a function that stops it.
 */
function startChecks(deps: {
  readonly redis: Redis
  readonly links: Links
  readonly locator: Locator
  readonly usability: UsabilityEvents
}): () => void {
  const { redis, links, locator, usability } = deps
  let next: NodeJS.Timeout | undefined
  /** Changes with each connection, so that a late answer of an earlier one has no effect. */
  let connection = 0

  async function check(): Promise<void> {
    const asked = connection
    try {
      const [reply, primary] = await Promise.all([
        inTime(redis.info(...INFO_SECTIONS)),
        locator.primary().catch(() => undefined),
      ])
      if (asked !== connection) return
      const info = parseInfo(reply)
      const refusal = refusalOf(info)
      if (refusal !== undefined) return void links.leave(usability.refused(refusal))
      const moved = primary !== undefined && links.leave(new Error('the Sentinels name another primary'), primary)
      if (!moved) usability.accepted(identityOf(info))
      next = setTimeout(() => void check(), REDIS_BOUNDS.redisCheckEveryMs)
    } catch (error) {
      if (asked === connection) links.leave(error instanceof Error ? error : new Error('unknown fault'))
    }
  }

  function stop(): void {
    connection += 1
    clearTimeout(next)
  }

  redis.on('ready', () => {
    stop()
    void check()
  })
  redis.on('close', () => {
    stop()
    usability.closed()
  })
  return stop
}

function inTime<T>(reply: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const cancel = afterPoll(REDIS_BOUNDS.redisCommandTimeoutMs, () => reject(new Error('Redis did not answer in time')))
  reply.then(resolve, reject).finally(cancel)
  return promise
}
