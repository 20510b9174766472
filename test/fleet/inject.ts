import { until } from '#test/support/until.ts'
import type { FaultProxy } from '#test/support/proxy.ts'
import type { Fleet, Link } from './fleet.ts'
import { NETWORK, type Fault } from './schedule.ts'

const HOUR_MS = 3_600_000
/** Time that the provider takes for a query: long enough for a signal to meet requests in flight. */
export const USUAL_DELAY_MS = 150
/** Longer than the gateway waits for a provider. */
const SLOW_DELAY_MS = 12_000

type Undo = () => Promise<void>

/** Begins a fault. @returns what ends it, and resolves once everything runs again. */
export async function inject(fleet: Fleet, { party, kind }: Fault): Promise<Undo> {
  const [name = '', index] = party.split('-')
  if (name === 'redis') return await injectRedis(fleet, kind)
  if (name === 'postgres') return await injectPostgres(fleet, kind)
  if (name === 'provider') return injectProvider(fleet, kind)
  if (name === 's3') return through(fleet.objects?.proxy, kind)
  const links: Readonly<Record<string, readonly Link[]>> = {
    gateway: fleet.gateways,
    node: fleet.nodes,
    worker: fleet.workers,
  }
  const link = links[name]?.[Number(index)]
  if (link === undefined) throw new Error(`the fleet has no ${party}`)
  return await injectProcess(fleet, link, { party, kind })
}

function through(proxy: FaultProxy | undefined, kind: string): Undo {
  const mode = NETWORK.find((one) => kind.endsWith(` ${one}`))
  if (proxy === undefined || mode === undefined) throw new Error(`there is no fault "${kind}"`)
  proxy.set(mode)
  return async () => proxy.set('pass')
}

async function injectProcess(fleet: Fleet, { member, host, proxies }: Link, { party, kind }: Fault): Promise<Undo> {
  switch (kind) {
    case 'stop':
      member.signal('SIGSTOP')
      return async () => member.signal('SIGCONT')
    case 'kill':
    case 'term':
      await member.end(kind === 'kill' ? 'SIGKILL' : 'SIGTERM')
      return () => member.restart()
    case 'link down': {
      // Without namespaces, every connection that others can cut stalls.
      const set = (isDown: boolean): void => {
        if (host !== undefined) return host.link(isDown ? 'down' : 'up')
        for (const proxy of Object.values(proxies)) proxy.set(isDown ? 'stall' : 'pass')
      }
      set(true)
      return async () => set(false)
    }
    case 'clock-ahead':
    case 'clock-back':
      fleet.moveClock(party, kind === 'clock-ahead' ? HOUR_MS : -HOUR_MS)
      return async () => fleet.moveClock(party, 0)
    default:
      return through(proxies[kind.split(' ')[0] ?? ''], kind)
  }
}

async function injectRedis({ redis }: Fleet, kind: string): Promise<Undo> {
  const primary = await redis.primary()
  if (kind === 'kill') {
    await primary.redis.kill()
    return async () => {
      await primary.redis.restart()
      await redis.settled()
    }
  }
  if (kind === 'stop') {
    const pid = await redis.pidOf(primary)
    process.kill(pid, 'SIGSTOP')
    return async () => {
      process.kill(pid, 'SIGCONT')
      await redis.settled()
    }
  }
  if (kind === 'failover') {
    await redis.failover()
    return async () => {
      await until('the Sentinel names the other server', async () => (await redis.primary()) !== primary)
      await redis.settled()
    }
  }
  const undo = through(primary.proxy, kind)
  return async () => {
    await undo()
    await redis.settled()
  }
}

async function injectPostgres({ postgres }: Fleet, kind: string): Promise<Undo> {
  await postgres.kill()
  if (kind === 'crash') return () => postgres.restart()
  await postgres.promote()
  return () => postgres.renew()
}

function injectProvider({ provider, providerProxy }: Fleet, kind: string): Undo {
  if (kind.startsWith('network')) return through(providerProxy, kind)
  Object.assign(provider.behaviour, kind === 'slow' ? { delayMs: SLOW_DELAY_MS } : { failing: true })
  return async () => void Object.assign(provider.behaviour, { delayMs: USUAL_DELAY_MS, failing: false })
}
