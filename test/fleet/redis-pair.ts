import { Redis } from 'ioredis'
import { z } from 'zod'
import type { LocalRedis } from '#operator/demo/local/redis.ts'
import { startFaultProxy, type FaultProxy } from '#test/support/proxy.ts'
import {
  PRIMARY_SETTINGS,
  replicaKnown,
  startOwnRedis,
  startReplica,
  startSentinel,
  withRedis,
} from '#test/support/redis.ts'
import { until } from '#test/support/until.ts'

/** Longer than a Redis of a busy machine is silent. */
const DOWN_AFTER_MS = 3_000
const COMMAND_TIMEOUT_MS = 2_000

interface Server {
  readonly redis: LocalRedis
  /** The Sentinel, the replica and the service know the server by the address of its proxy. */
  readonly proxy: FaultProxy
}

/** A primary and a replica under a Sentinel. @param host whose address others reach them at. */
export async function startRedisPair(host: string) {
  const start = async (server: (settings: Record<string, string>) => Promise<LocalRedis>): Promise<Server> => {
    const proxy = await startFaultProxy('redis://127.0.0.1:1', host)
    const announced = { 'replica-announce-ip': host, 'replica-announce-port': new URL(proxy.url).port }
    const redis = await server({ ...PRIMARY_SETTINGS, ...announced })
    proxy.retarget(redis.url)
    return { redis, proxy }
  }
  const portOf = ({ proxy }: Server): number => Number(new URL(proxy.url).port)
  const first = await start((settings) => startOwnRedis(settings))
  const second = await start((settings) =>
    startReplica(first.redis, { ...settings, replicaof: `${host} ${portOf(first)}` }),
  )
  const servers = [first, second]
  const sentinel = await startSentinel({ ...first.redis, port: portOf(first) }, undefined, {
    downAfterMs: DOWN_AFTER_MS,
    host,
  })
  await replicaKnown(sentinel)

  /** The server that the Sentinel names. */
  const primary = (): Promise<Server> =>
    withRedis(sentinel.url, async (client) => {
      const named = await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'limits')
      const [, port] = z.tuple([z.string(), z.string()]).parse(named)
      const found = servers.find((server) => String(portOf(server)) === port)
      if (found === undefined) throw new Error(`the Sentinel names port ${port}, which no proxy has`)
      return found
    })
  const info = async ({ redis }: Server, section: string): Promise<string> => {
    const client = new Redis(redis.url, { retryStrategy: () => null, commandTimeout: COMMAND_TIMEOUT_MS })
    client.on('error', () => undefined)
    try {
      return await client.info(section)
    } finally {
      client.disconnect()
    }
  }
  return {
    url: sentinel.urlOf(2),
    primary,
    /** URL of the server that is the primary, without its proxy. */
    primaryUrl: async () => (await primary()).redis.urlOf(2),
    pidOf: async (server: Server) => Number(/process_id:(\d+)/.exec(await info(server, 'server'))?.[1]),
    /** From now on the Sentinel replaces a server only after a minute of silence. */
    waitLonger: () =>
      withRedis(sentinel.url, (client) => client.call('SENTINEL', 'SET', 'limits', 'down-after-milliseconds', '60000')),
    failover: () => withRedis(sentinel.url, (client) => client.call('SENTINEL', 'FAILOVER', 'limits')),
    /** Resolves once the Sentinel's primary is one, and the other server follows it. */
    settled: () =>
      until('the replica of Redis follows the primary', async (seen) => {
        const named = await primary()
        const others = servers.filter((server) => server !== named)
        const roles = await Promise.all([named, ...others].map((server) => info(server, 'replication').catch(() => '')))
        seen(roles)
        const [own = '', ...replicas] = roles
        return (
          own.includes('role:master') &&
          replicas.every((text) => text.includes(`master_port:${portOf(named)}`) && text.includes('link_status:up'))
        )
      }),
    async stop() {
      await sentinel.stop()
      for (const { redis, proxy } of servers.toReversed()) {
        await redis.stop()
        await proxy.stop()
      }
    },
  }
}
