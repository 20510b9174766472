import { mulberry32, randomOrder } from '#core/platform/seeded-random.ts'
import type { Mode } from '#test/support/proxy.ts'

/** How many processes of each kind a fleet has. */
export interface Sizes {
  readonly gateways: number
  readonly nodes: number
  readonly workers: number
  /** 0: the artifacts are in a folder. */
  readonly objectStores: 0 | 1
}

export const NETWORK = ['stall', 'cut', 'half-close', 'throttle', 'truncate', 'mute'] as const satisfies readonly Mode[]
const PROCESS = ['kill', 'stop', 'term', 'link down'] as const
const CLOCKS = ['clock-ahead', 'clock-back'] as const

/** What is done to one party: `gateway-0 kill`, `redis stall`. */
export interface Fault {
  readonly party: string
  readonly kind: string
}

export const OPERATIONS = ['publish', 'withdraw', 'rotate key', 'capture'] as const
export type Operation = (typeof OPERATIONS)[number]

/** A fault of one party, faults of two, or one of all of a kind, and perhaps something that an operator does meanwhile. */
export interface Round {
  /** From the start of the load. */
  readonly atMs: number
  readonly lastsMs: number
  readonly faults: readonly Fault[]
  readonly operation: Operation | undefined
}

/** Quiet time, before the first round, between rounds and after the last one. */
export const QUIET_MS = 14_000
/** What a fault takes besides its duration, as a process that starts again or a replica that is copied. */
const RECOVERY_MS = 6_000

/** Shares of the rounds; the others have two faults. */
const ALL_OF_A_KIND = 0.25
const ONE_ALONE = 0.25

const nameOf = ({ party }: Fault): string => party.split('-')[0] ?? party

/** Every fault of a fleet. */
export function catalogueOf({ gateways, nodes, workers, objectStores }: Sizes): readonly Fault[] {
  const parties = (name: string, count: number, kinds: readonly string[]): readonly Fault[] =>
    Array.from({ length: count }, (_, n) => kinds.map((kind) => ({ party: `${name}-${n}`, kind }))).flat()
  const through = (link: string): readonly string[] => NETWORK.map((mode) => `${link} ${mode}`)
  return [
    ...parties('gateway', gateways, [...PROCESS, ...CLOCKS, ...through('callers'), ...through('postgres')]),
    ...parties('node', nodes, [...PROCESS, ...through('network')]),
    ...parties('worker', workers, [...PROCESS, ...CLOCKS, ...through('postgres')]),
    ...['kill', 'stop', 'failover', ...through('network')].map((kind) => ({ party: 'redis', kind })),
    ...['crash', 'failover'].map((kind) => ({ party: 'postgres', kind })),
    ...['refuse', 'slow', ...through('network')].map((kind) => ({ party: 'provider', kind })),
    ...(objectStores === 0 ? [] : through('network')).map((kind) => ({ party: 's3', kind })),
  ]
}

/**
 * The rounds of a run. The same seed gives the same ones. Kinds of parties take turns, so that a short run meets each
 * of them, however many processes there are of a kind.
 */
export function drawSchedule(seed: number, runMs: number, sizes: Sizes): readonly Round[] {
  const random = mulberry32(seed)
  const byKind = [...Map.groupBy(catalogueOf(sizes), nameOf).values()]
  const rounds: Round[] = []
  let turns: number[] = []
  const draw = (): Fault => {
    if (turns.length === 0) turns = [...randomOrder(byKind.length, random)]
    const faults = byKind[turns.pop() ?? 0] ?? []
    const fault = faults[Math.floor(random() * faults.length)]
    if (fault === undefined) throw new Error('every kind of party has a fault')
    return fault
  }
  for (let atMs = QUIET_MS; ;) {
    const lastsMs = Math.round(3_000 + random() * 5_000)
    const endsMs = atMs + lastsMs + RECOVERY_MS + QUIET_MS
    if (endsMs > runMs) return rounds
    const first = draw()
    const second = draw()
    const kind = random()
    const same = catalogueOf(sizes).filter((fault) => fault.kind === first.kind && nameOf(fault) === nameOf(first))
    const pair = second.party === first.party ? [first] : [first, second]
    const faults = kind < ALL_OF_A_KIND ? same : kind < ALL_OF_A_KIND + ONE_ALONE ? [first] : pair
    const operation = random() < 0.6 ? OPERATIONS[Math.floor(random() * OPERATIONS.length)] : undefined
    rounds.push({ atMs, lastsMs, faults, operation })
    atMs = endsMs
  }
}

/** What callers may see of a fault. */
export type Failure = 'no reply' | 'late' | 'INTERNAL_UNAVAILABLE' | 'RETRIEVAL_UNAVAILABLE'

export interface Excuse {
  /** Index of the gateway whose callers may see it; undefined: those of all gateways. */
  readonly gateway?: number
  readonly failures: readonly Failure[]
}

/**
 * What a fault excuses, as `docs/operate/faults.md` states it. @param others faults of the same time: a search is away
 * once every node has a fault.
 */
export function excuseOf({ party, kind }: Fault, others: readonly Fault[], { nodes }: Sizes): Excuse {
  const [name, index] = party.split('-')
  const gateway = Number(index)
  switch (name) {
    case 'gateway':
      if (kind.startsWith('clock') || kind.startsWith('postgres'))
        return { gateway, failures: ['INTERNAL_UNAVAILABLE'] }
      return { gateway, failures: ['no reply', 'late', 'INTERNAL_UNAVAILABLE', 'RETRIEVAL_UNAVAILABLE'] }
    case 'redis':
    case 'postgres':
      return { failures: ['INTERNAL_UNAVAILABLE'] }
    // Whatever has a deadline may miss it where each core has too many tasks.
    case 'machine':
      return { failures: ['late', 'INTERNAL_UNAVAILABLE', 'RETRIEVAL_UNAVAILABLE'] }
    case 'provider':
      return { failures: ['RETRIEVAL_UNAVAILABLE'] }
    case 'node': {
      const faulty = new Set([party, ...others.map((other) => other.party)].filter((one) => one.startsWith('node-')))
      return { failures: faulty.size === nodes ? ['RETRIEVAL_UNAVAILABLE'] : [] }
    }
    default:
      return { failures: [] }
  }
}
