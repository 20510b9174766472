import { Redis } from 'ioredis'
import { startGateway } from '#operator/demo/local/stack.ts'
import type { LocalGateway } from '#operator/demo/local/stack.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { CLOCK_KEY } from '#test/support/limits.ts'
import type { Installation } from './installation.ts'

/** Gateway processes behind ports of their own, which requests take turns between. */
export interface Gateways {
  readonly baseUrls: readonly string[]
  /** Ends the process at once, as in a crash: its leases stay. */
  kill(index: number): Promise<void>
  /** Starts one on the port of a gateway that was killed. */
  restart(index: number): Promise<void>
  /** What the clock of Redis is ahead for these gateways. */
  clockOffsetMs(): number
  /** Moves it forward; only gateways with a moved clock go by it. */
  moveClock(aheadMs: number): Promise<void>
}

export interface GatewayOptions {
  readonly count: number
  /** Beginning of their names. */
  readonly name: string
  /** A module that each process loads before its `main.ts`; tests break the gateway with it. */
  readonly preload?: URL | undefined
}

export const MOVED_CLOCK = new URL('./moved-clock.ts', import.meta.url)

export async function startGateways(
  { settings, searchNodes }: Pick<Installation, 'settings' | 'searchNodes'>,
  { count, name, preload }: GatewayOptions,
  steps: Steps,
): Promise<Gateways> {
  const options = preload === undefined ? {} : { NODE_OPTIONS: `--import=${preload.href}` }
  const environment = { ...settings.environment, ...options }
  const expected = new Set<LocalGateway>()
  const running: LocalGateway[] = []
  let offsetMs = 0
  const start = async (index: number, port?: number): Promise<LocalGateway> => {
    const gateway = await startGateway({ ...settings, environment }, searchNodes, `${name}-${index}`, port)
    steps.onStop(() => {
      expected.add(gateway)
      return gateway.stop()
    })
    gateway.ended.catch((error: unknown) => {
      if (expected.has(gateway)) return
      steps.print(error instanceof Error ? error.message : gateway.name)
      void steps.stop(1)
    })
    return gateway
  }
  const started = await Promise.all(Array.from({ length: count }, (_, index) => start(index)))
  running.push(...started)
  return {
    baseUrls: started.map(({ baseUrl }) => baseUrl),
    async kill(index) {
      const gateway = running[index]
      if (gateway === undefined) throw new Error(`there is no gateway ${index}`)
      expected.add(gateway)
      gateway.signal('SIGKILL')
      await gateway.ended.catch(() => undefined)
    },
    async restart(index) {
      running[index] = await start(index, Number(new URL(started[index]?.baseUrl ?? '').port))
    },
    clockOffsetMs: () => offsetMs,
    async moveClock(aheadMs) {
      if (aheadMs < offsetMs) throw new Error('the clock of Redis moves forward only')
      const redis = new Redis(settings.redisUrl)
      try {
        await redis.set(CLOCK_KEY, Math.round(aheadMs))
        offsetMs = Math.round(aheadMs)
      } finally {
        redis.disconnect()
      }
    },
  }
}
