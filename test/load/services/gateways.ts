import { Redis } from 'ioredis'
import { startGateway, type LocalGateway } from '#operator/demo/local/stack.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { CLOCK_KEY } from '#test/support/limits.ts'
import type { Installation } from './installation.ts'

export type Gateways = Awaited<ReturnType<typeof startGateways>>

interface GatewayOptions {
  readonly count: number
  /** Beginning of their names. */
  readonly name: string
  /** A module that each process loads before its `main.ts`; tests break the gateway with it. */
  readonly preload?: URL | undefined
}

export const MOVED_CLOCK = new URL('./moved-clock.ts', import.meta.url)

/** Gateway processes behind ports of their own, which requests take turns between. */
export async function startGateways(
  { settings, searchNodes }: Pick<Installation, 'settings' | 'searchNodes'>,
  { count, name, preload }: GatewayOptions,
  steps: Steps,
) {
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
    /** Ends the process at once, as in a crash: its leases stay. */
    async kill(index: number) {
      const gateway = running[index]
      if (gateway === undefined) throw new Error(`there is no gateway ${index}`)
      expected.add(gateway)
      gateway.signal('SIGKILL')
      await gateway.ended.catch(() => undefined)
    },
    /** Starts one on the port of a gateway that was killed. */
    async restart(index: number) {
      running[index] = await start(index, Number(new URL(started[index]?.baseUrl ?? '').port))
    },
    /** What the clock of Redis is ahead for these gateways. */
    clockOffsetMs: () => offsetMs,
    /** Moves it forward; only gateways with a moved clock go by it. */
    async moveClock(aheadMs: number) {
      if (aheadMs < offsetMs) throw new Error('the clock of Redis moves forward only')
      using ending = new DisposableStack()
      const redis = ending.adopt(new Redis(settings.redisUrl), (it) => it.disconnect())
      await redis.set(CLOCK_KEY, Math.round(aheadMs))
      offsetMs = Math.round(aheadMs)
    },
  }
}
