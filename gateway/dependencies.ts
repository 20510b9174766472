import { status } from '@grpc/grpc-js'
import type { Log } from '#core/platform/log.ts'
import { isGrpcError } from '#core/rpc/search-client.ts'
import { GATEWAY_BOUNDS } from './bounds.ts'

/**
 * What a gateway cannot serve without. All gateways of an installation share the first three; `models`: this gateway has
 * an endpoint for every model that an active profile names.
 */
export const DEPENDENCIES = ['postgres', 'redis', 'search', 'models'] as const
export type Dependency = (typeof DEPENDENCIES)[number]

/** `reason` is short and holds no credentials, hosts or messages of errors. */
export type DependencyState = { readonly state: 'up' } | { readonly state: 'down'; readonly reason: string }

/**
 * Resolves with undefined if the dependency can be used, or with the reason if it answers but cannot be used. Rejects
 * if it does not answer. Has a deadline of its own.
 */
type Check = () => Promise<string | undefined>
export type Checks = Readonly<Record<Dependency, Check>>

/** Parts of a dependency whose last use by a request failed, a short while ago at most. @param nowMs monotonic. */
export function createFailures(nowMs: () => number = () => performance.now()) {
  const failed = new Map<string, { readonly reason: string; readonly atMs: number }>()
  return {
    /** @param reason undefined: it did what was asked. */
    note(part: string, reason: string | undefined): void {
      if (reason === undefined) failed.delete(part)
      else failed.set(part, { reason, atMs: nowMs() })
    },
    reason(): string | undefined {
      const recent = [...failed].filter(([, { atMs }]) => nowMs() - atMs < GATEWAY_BOUNDS.failureCountsMs)
      return recent.length === 0 ? undefined : recent.map(([part, { reason }]) => `${part} ${reason}`).join(', ')
    },
  }
}

/**
 * Checks every dependency again and again in the background, and answers from memory. Each one has at most one check
 * under way, and its checks wait for no other dependency.
 */
export function startDependencyMonitor(checks: Checks, log: Log) {
  const states: Record<Dependency, DependencyState> = {
    postgres: UNCHECKED,
    redis: UNCHECKED,
    search: UNCHECKED,
    models: UNCHECKED,
  }
  const reached = new Set<Dependency>()
  const timers = new Map<Dependency, NodeJS.Timeout>()
  let stopped = false

  function schedule(name: Dependency): void {
    if (stopped) return
    const everyMs = reached.has(name) ? GATEWAY_BOUNDS.dependencyCheckEveryMs : GATEWAY_BOUNDS.dependencyConnectEveryMs
    timers.set(
      name,
      setTimeout(() => void check(name).then(() => schedule(name)), everyMs),
    )
  }

  async function check(name: Dependency): Promise<void> {
    const late = setTimeout(() => observed(name, down('no answer in time')), GATEWAY_BOUNDS.dependencyCheckTimeoutMs)
    try {
      const reason = await checks[name]()
      observed(name, reason === undefined ? { state: 'up' } : down(reason))
    } catch (error) {
      observed(name, down(reasonOf(error)), error)
    } finally {
      clearTimeout(late)
    }
  }

  function observed(name: Dependency, state: DependencyState, cause?: unknown): void {
    if (stopped) return
    const before = states[name]
    states[name] = state
    if (state.state === 'up') reached.add(name)
    if (state.state === before.state && before !== UNCHECKED) return
    if (state.state === 'up') log.info('dependency available', { dependency: name })
    else log.warn('dependency unavailable', { dependency: name, reason: state.reason }, cause)
  }

  for (const name of DEPENDENCIES) schedule(name)
  return {
    states: (): Readonly<Record<Dependency, DependencyState>> => ({ ...states }),
    /** Dependencies that could not be used at any time since the start. */
    neverReached: () => DEPENDENCIES.filter((name) => !reached.has(name)),
    stop: () => {
      stopped = true
      for (const timer of timers.values()) clearTimeout(timer)
    },
  }
}

function down(reason: string): DependencyState {
  return { state: 'down', reason }
}
const UNCHECKED = down('not checked yet')

/** A code, because the message of an error may name hosts and users. */
export function reasonOf(error: unknown): string {
  if (isGrpcError(error)) return status[error.code]
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'unavailable'
}
