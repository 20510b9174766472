import { Redis } from 'ioredis'
import { z } from 'zod'
import { REDIS_BOUNDS } from './bounds.ts'
import type { RedisAddress, RedisTarget } from './url.ts'

export interface PrimaryDiscovery {
  /** @throws when no Sentinel knows the primary within `sentinelTimeoutMs`. */
  primary(): Promise<RedisAddress>
  /** What each Sentinel says, or why it does not; nothing where the target has none. */
  asked(): Promise<readonly PromiseSettledResult<Awaited<ReturnType<typeof ask>>>[]>
  close(): void
}

/** Opens one connection to each Sentinel, where the target has Sentinels. */
export function openPrimaryDiscovery({ servers, tls }: RedisTarget): PrimaryDiscovery {
  return servers.kind === 'sentinel'
    ? openSentinels(servers, tls)
    : { primary: async () => servers.address, asked: async () => [], close: () => undefined }
}

function openSentinels(
  { sentinels, primaryName, login }: Extract<RedisTarget['servers'], { kind: 'sentinel' }>,
  tls: boolean,
): PrimaryDiscovery {
  const clients = sentinels.map((address) => {
    const client = new Redis({
      ...address,
      ...(login.username === undefined ? {} : { username: login.username }),
      ...(login.password === undefined ? {} : { password: login.password }),
      ...(tls ? { tls: {} } : {}),
      enableReadyCheck: false,
      maxRetriesPerRequest: 0,
      commandTimeout: REDIS_BOUNDS.sentinelTimeoutMs,
      connectTimeout: REDIS_BOUNDS.redisCommandTimeoutMs,
      socketTimeout: REDIS_BOUNDS.redisCommandTimeoutMs,
      retryStrategy: () => REDIS_BOUNDS.redisReconnectMaxMs,
    })
    // The question that fails has the error too.
    client.on('error', () => undefined)
    return client
  })
  const askAll = () => Promise.allSettled(clients.map((client) => ask(client, primaryName)))
  return {
    asked: askAll,
    async primary() {
      const asked = await askAll()
      const answers = asked.filter((one) => one.status === 'fulfilled').map(({ value }) => value)
      // A Sentinel that is cut off from the others still has an old configuration.
      const newest = answers.toSorted((a, b) => b.configEpoch - a.configEpoch)[0]
      if (newest !== undefined) return newest.address
      throw new Error(`no Sentinel knows the primary "${primaryName}"`, {
        cause: asked.find((one) => one.status === 'rejected')?.reason,
      })
    },
    close() {
      for (const client of clients) client.disconnect()
    },
  }
}

const addressReply = z.tuple([z.string(), z.coerce.number()])
const stateReply = z.array(z.string())

/** @returns `configEpoch`, which grows with each failover. */
async function ask(client: Redis, primaryName: string) {
  // The first command has the new address as soon as the new primary is promoted, the second one only later.
  const [address, state] = await Promise.all([
    client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', primaryName),
    client.call('SENTINEL', 'MASTER', primaryName),
  ])
  const [host, port] = addressReply.parse(address)
  const fields = stateReply.parse(state)
  const number = (name: string): number => z.coerce.number().parse(fields[fields.indexOf(name) + 1])
  const [configEpoch, quorum, others] = [number('config-epoch'), number('quorum'), number('num-other-sentinels')]
  return { address: { host, port }, configEpoch, quorum, sentinels: others + 1 }
}
