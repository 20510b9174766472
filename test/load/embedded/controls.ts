import { Redis } from 'ioredis'
import type { Steps } from '#operator/demo/steps.ts'
import { CLOCK_KEY } from '#test/support/limits.ts'
import type { EmbeddedControls } from '../scenarios/scenario.ts'
import { startGateways } from './gateways.ts'
import type { Gateways } from './gateways.ts'
import type { Installation } from './installation.ts'

/** The services of a run, as scenarios use them. */
export interface Embedded {
  readonly installation: Installation
  /** Gateways by the clock that their limits go by; those with a moved clock start when first asked for. */
  gateways(clock: 'real' | 'moved'): Promise<Gateways>
  /** @param onKill called just before the process ends. */
  controls(clock: 'real' | 'moved', onKill: (gateway: number) => void): EmbeddedControls
  /** What the moved clock is ahead; 0 for the real one. */
  clockOffsetMs(clock: 'real' | 'moved'): number
}

export interface GatewayOptions {
  readonly count: number
  /** Modules that each gateway loads before its `main.ts`; tests break it with them. */
  readonly preload: readonly URL[]
}

const MOVED_CLOCK = new URL('./moved-clock.ts', import.meta.url)

export async function openEmbedded(
  installation: Installation,
  { count, preload }: GatewayOptions,
  steps: Steps,
): Promise<Embedded> {
  const real = await steps.run(`${count} gateway(s)`, () =>
    startGateways(installation, { count, name: 'gateway', preload }, steps),
  )
  let moved: Promise<Gateways> | undefined
  let offsetMs = 0
  const gateways: Embedded['gateways'] = (clock) => {
    if (clock === 'real') return Promise.resolve(real)
    const options = { count, name: 'gateway-moved-clock', preload: [MOVED_CLOCK] }
    return (moved ??= steps.run('gateways with a moved clock', () => startGateways(installation, options, steps)))
  }
  return {
    installation,
    gateways,
    clockOffsetMs: (clock) => (clock === 'moved' ? offsetMs : 0),
    controls: (clock, onKill) => ({
      provider: async (behaviour) => {
        const { baseUrl } = installation.provider
        const reply = await fetch(`${baseUrl}/behaviour`, { method: 'PUT', body: JSON.stringify(behaviour) })
        if (!reply.ok) throw new Error(`the provider answered ${reply.status}`)
      },
      kill: async (gateway) => {
        onKill(gateway)
        await (await gateways(clock)).kill(gateway)
      },
      restart: async (gateway) => (await gateways(clock)).restart(gateway),
      moveClock: async (aheadMs) => {
        if (aheadMs < offsetMs) throw new Error('the clock of Redis moves forward only')
        const redis = new Redis(installation.settings.redisUrl)
        try {
          await redis.set(CLOCK_KEY, Math.round(aheadMs))
          offsetMs = Math.round(aheadMs)
        } finally {
          redis.disconnect()
        }
      },
    }),
  }
}
