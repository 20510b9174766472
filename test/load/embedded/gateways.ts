import { startGateway } from '#operator/demo/local/stack.ts'
import type { LocalGateway } from '#operator/demo/local/stack.ts'
import type { Steps } from '#operator/demo/steps.ts'
import type { Installation } from './installation.ts'

/** Gateway processes behind ports of their own; the generator takes turns between them. */
export interface Gateways {
  readonly baseUrls: readonly string[]
  readonly pids: readonly number[]
  /** Ends the process at once, as in a crash: its leases stay. */
  kill(index: number): Promise<void>
  /** Starts one on the port of a gateway that was killed. */
  restart(index: number): Promise<void>
}

/** @param preload modules that each process loads before its `main.ts`. */
export async function startGateways(
  { settings, searchNodes }: Pick<Installation, 'settings' | 'searchNodes'>,
  { count, name, preload }: { readonly count: number; readonly name: string; readonly preload: readonly URL[] },
  steps: Steps,
): Promise<Gateways> {
  const options = preload.map((module) => `--import=${module.href}`).join(' ')
  const environment = { ...settings.environment, ...(options === '' ? {} : { NODE_OPTIONS: options }) }
  const expected = new Set<LocalGateway>()
  const running: LocalGateway[] = []
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
    get pids() {
      return running.map(({ pid }) => pid)
    },
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
  }
}
