import { promises as dns } from 'node:dns'
import { isIP } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { hostAndPort } from '#core/platform/config.ts'
import type { Log } from '#core/platform/log.ts'
import { RPC_BOUNDS } from './bounds.ts'
import { addressesOf } from './settings.ts'

/** All search nodes, one for each address that `SEARCH_NODES` stands for now. */
export interface SearchNodes<N> {
  /** Changes with names and file. */
  readonly nodes: readonly N[]
  close(): void
}

export interface SearchNodesOptions<N> {
  /** @param address host:port, or name/IP:port where a name was resolved. Throws where it may not be asked. */
  readonly open: (address: string) => N
  /** Calls of the node in flight go on. */
  readonly close: (node: N) => void
  readonly log: Log
  readonly resolver?: Pick<dns.Resolver, 'resolve4' | 'resolve6'>
}

interface Resolved {
  readonly addresses: readonly string[]
  readonly holdsMs: number
}

/**
 * Follows names and file: opens what appears and closes what disappears. What cannot be read or resolved stays as it was.
 * Balancing of gRPC itself resolves again only once a connection breaks, and chooses without the version that a node holds.
 * @param value of `SEARCH_NODES`. Resolves when all names were asked for once.
 */
export async function openSearchNodes<N>(value: string, options: SearchNodesOptions<N>): Promise<SearchNodes<N>> {
  const { open, close, log } = options
  const resolver = options.resolver ?? new dns.Resolver({ timeout: RPC_BOUNDS.nameTimeoutMs, tries: 2 })
  const closing = new AbortController()
  const nodes: N[] = []
  const opened = new Map<string, N>()
  const known = new Map<string, Resolved>()
  let named = addressesOf(value)

  async function resolve(address: string): Promise<Resolved> {
    try {
      known.set(address, await resolved(address, resolver))
    } catch (error) {
      log.warn('search node not resolved', { node: address }, error)
    }
    return known.get(address) ?? { addresses: [], holdsMs: RPC_BOUNDS.nodesReadEveryMs }
  }
  function take(wanted: ReadonlySet<string>): void {
    for (const [node, gone] of opened)
      if (!wanted.has(node)) {
        opened.delete(node)
        close(gone)
        log.info('search node gone', { node })
      }
    for (const node of wanted)
      try {
        if (opened.has(node)) continue
        opened.set(node, open(node))
        log.info('search node found', { node })
      } catch (error) {
        log.warn('search node refused', { node }, error)
      }
    nodes.splice(0, nodes.length, ...opened.values())
  }
  /** @returns the time until something may have changed. */
  async function refresh(): Promise<number> {
    try {
      named = addressesOf(value)
    } catch (error) {
      log.warn('search nodes not read', {}, error)
    }
    const all = await Promise.all(named.map(resolve))
    if (!closing.signal.aborted) take(new Set(all.flatMap(({ addresses }) => addresses)))
    const readAgainMs = value.startsWith('file:') ? RPC_BOUNDS.nodesReadEveryMs : Infinity
    return Math.min(readAgainMs, ...all.map(({ holdsMs }) => holdsMs))
  }
  async function follow(firstMs: number): Promise<void> {
    for (let ms = firstMs; ms < Infinity; ms = await refresh())
      await wait(ms, undefined, { signal: closing.signal, ref: false })
  }

  void follow(await refresh()).catch(() => undefined)
  return {
    nodes,
    close() {
      closing.abort()
      take(new Set())
    },
  }
}

/**
 * Asks the name servers, for the time to live, then what else the system knows, such as /etc/hosts. Addresses are of one
 * family, so that a node with two counts once.
 */
async function resolved(address: string, resolver: Pick<dns.Resolver, 'resolve4' | 'resolve6'>): Promise<Resolved> {
  const { host, port } = hostAndPort(address)
  if (isIP(host) !== 0) return { addresses: [address], holdsMs: Infinity }
  const none = (): [] => []
  let found: readonly { readonly address: string; readonly ttl?: number }[] = await resolver
    .resolve4(host, { ttl: true })
    .catch(none)
  if (found.length === 0) found = await resolver.resolve6(host, { ttl: true }).catch(none)
  if (found.length === 0) {
    const all = await dns.lookup(host, { all: true })
    found = all.filter(({ family }) => family === all[0]?.family)
  }
  const { nodesReadEveryMs: least, nodesReadMaxMs: most } = RPC_BOUNDS
  const holdsMs = Math.min(...found.map(({ ttl }) => (ttl === undefined ? most : ttl * 1_000)))
  return {
    addresses: found.map(({ address: ip }) => `${host}/${isIP(ip) === 6 ? `[${ip}]` : ip}:${port}`).toSorted(),
    holdsMs: Math.max(least, Math.min(most, holdsMs)),
  }
}
