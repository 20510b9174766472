import { Redis, type RedisOptions } from 'ioredis'
import { REDIS_BOUNDS } from '#core/redis/bounds.ts'
import type { Log } from '#core/platform/log.ts'
import { setTimeoutAfterIo } from './timeout-after-io.ts'
import { createLinks, type Links } from './connector.ts'
import {
  CLUSTER_UNSUPPORTED,
  INFO_SECTIONS,
  NOT_PRIMARY,
  identityOf,
  parseInfo,
  serverFaultOf,
} from './server-check.ts'
import { openPrimaryDiscovery, type PrimaryDiscovery } from './primary-discovery.ts'
import { parseRedisUrl } from './url.ts'
import { createConnectionHealth, type ConnectionHealth } from './connection-health.ts'

/**
 * A connection to Redis that is usable only while its server is the primary and keeps every key. A server that is
 * demoted, silent or no longer named by the Sentinels is left, and the primary is looked for until it is found.
 */
export type PrimaryConnection = ReturnType<typeof openPrimary>

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
export function openPrimary(url: string, options: PrimaryOptions) {
  const target = parseRedisUrl(url)
  const health = createConnectionHealth(options.name, options.log)
  const discovery = openPrimaryDiscovery(target)
  const links = createLinks({ locate: () => discovery.primary(), tls: target.tls, onRefusal: health.refused })
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
      if (DEMOTED.test(error.message)) links.leave(health.refused(NOT_PRIMARY))
      return false
    },
  })
  redis.on('error', (error) => {
    if (error.message.includes(NO_SELECT_IN_CLUSTER)) health.refused(CLUSTER_UNSUPPORTED)
    else health.lost(error)
  })
  redis.on('end', () => health.ended())
  const stop = startChecks({ redis, links, discovery, health })
  return {
    ...health,
    /** Duplicates of this client follow the same rules. */
    redis,
    /** The queues and workers of the connection must be closed first. */
    close() {
      stop()
      health.closing()
      discovery.close()
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
  readonly discovery: PrimaryDiscovery
  readonly health: ConnectionHealth
}): () => void {
  const { redis, links, discovery, health } = deps
  let next: NodeJS.Timeout | undefined
  /** Changes with each connection, so that a late answer of an earlier one has no effect. */
  let connection = 0

  async function check(): Promise<void> {
    const asked = connection
    try {
      const [reply, primary] = await Promise.all([
        inTime(redis.info(...INFO_SECTIONS)),
        discovery.primary().catch(() => undefined),
      ])
      if (asked !== connection) return
      const info = parseInfo(reply)
      const serverFault = serverFaultOf(info)
      if (serverFault !== undefined) return void links.leave(health.refused(serverFault))
      const moved = primary !== undefined && links.leave(new Error('the Sentinels name another primary'), primary)
      if (!moved) health.accepted(identityOf(info))
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
    health.closed()
  })
  return stop
}

function inTime<T>(reply: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>()
  const cancel = setTimeoutAfterIo(REDIS_BOUNDS.redisCommandTimeoutMs, () =>
    reject(new Error('Redis did not answer in time')),
  )
  reply.then(resolve, reject).finally(cancel)
  return promise
}
