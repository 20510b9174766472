import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * pass: bytes are forwarded. stall: connections stay open, but nothing is forwarded. cut: every connection is reset,
 * including new ones. half-close: replies end, and requests still pass. throttle: replies are slow. truncate: a
 * connection is reset in the middle of its next replies. mute: the server executes what it gets, and replies are lost.
 */
export type Mode = 'pass' | 'stall' | 'cut' | 'half-close' | 'throttle' | 'truncate' | 'mute'

const THROTTLED_BYTES_PER_SECOND = 20_000
/** Replies of one connection that still pass, until it is truncated. */
const TRUNCATED_AFTER_BYTES = 600

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>

type After = 'sight' | 'delivery' | 'withheld'

interface Pair {
  readonly client: Socket
  readonly server: Socket
  /** Bytes of replies that were forwarded since the mode was set. */
  replied: number
}

interface Watch {
  readonly mode: Exclude<Mode, 'pass'>
  readonly bytes: string
  readonly after: After
  readonly seen: () => void
}

/** A TCP proxy before the server of a URL, to lose a dependency without stopping it for others. */
/** @param host whose address it listens on. */
export async function startFaultProxy(url: string, host = '127.0.0.1') {
  let target = new URL(url)
  const pairs = new Set<Pair>()
  let mode: Mode = 'pass'
  let watch: Watch | undefined
  const counts: { readonly bytes: string; delivered: number }[] = []

  function set(next: Mode): void {
    // Whoever waits for a reply that was lost would take the next one for it.
    const isLossy = mode === 'mute' && next !== 'mute'
    mode = next
    for (const pair of pairs) {
      pair.replied = 0
      if (next === 'half-close') pair.client.end()
      for (const socket of [pair.client, pair.server]) {
        if (next === 'stall') socket.pause()
        else if (next === 'cut' || isLossy) socket.resetAndDestroy()
        else socket.resume()
      }
    }
  }
  function reply(pair: Pair, chunk: Buffer): void {
    const { client, server } = pair
    if (mode === 'mute' || client.writableEnded) return
    const left = mode === 'truncate' ? Math.max(0, TRUNCATED_AFTER_BYTES - pair.replied) : chunk.length
    pair.replied += chunk.length
    client.write(chunk.subarray(0, left))
    if (left < chunk.length) for (const socket of [client, server]) socket.resetAndDestroy()
    if (mode !== 'throttle') return
    server.pause()
    setTimeout(() => mode !== 'stall' && server.resume(), (chunk.length * 1_000) / THROTTLED_BYTES_PER_SECOND)
  }
  function deliver(server: Socket, chunk: Buffer): void {
    for (const count of counts) if (chunk.includes(count.bytes)) count.delivered++
    server.write(chunk)
  }
  function onClientBytes({ client, server }: Pair, chunk: Buffer): void {
    if (watch === undefined || !chunk.includes(watch.bytes)) {
      deliver(server, chunk)
      return
    }
    const { mode: next, after, seen } = watch
    watch = undefined
    if (after !== 'delivery') {
      set(next)
      if (after === 'withheld') client.unshift(chunk)
      seen()
      return
    }
    // The server's answer shows that it executed the command; the answer is discarded.
    server.removeAllListeners('data')
    deliver(server, chunk)
    server.once('data', () => {
      set(next)
      seen()
    })
  }
  const listener = createServer((client) => {
    if (mode === 'cut') {
      client.resetAndDestroy()
      return
    }
    const server = connect(Number(target.port), target.hostname)
    const pair = { client, server, replied: 0 }
    pairs.add(pair)
    client.on('data', (chunk) => onClientBytes(pair, chunk))
    server.on('data', (chunk) => reply(pair, chunk))
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      socket.on('error', () => undefined)
      socket.on('close', () => {
        pairs.delete(pair)
        other.destroy()
      })
    }
    if (mode === 'stall') for (const socket of [client, server]) socket.pause()
    if (mode === 'half-close') client.end()
  })
  await new Promise<void>((resolve) => listener.listen(0, host, resolve))
  const through = new URL(url)
  through.hostname = host
  through.port = String((listener.address() as AddressInfo).port)
  return {
    /** The URL with the proxy's host and port. */
    url: through.href,
    set,
    /** Sends further connections to another server; those that are open are reset. */
    retarget: (next: string) => {
      target = new URL(next)
      for (const { client, server } of pairs) for (const socket of [client, server]) socket.resetAndDestroy()
    },
    /** Stalls the connections that are open, as a network does that has forgotten them; new ones pass. */
    forget: () => {
      for (const { client, server } of pairs) for (const socket of [client, server]) socket.pause()
    },
    /**
     * Changes the mode as soon as a client sends these bytes. What it sent is lost with `stall` and `cut`. With `after:
     * 'delivery'` it still reaches the server, and only the answer is lost. With `withheld` it reaches the server when
     * the mode is `pass` again. `seen` resolves when the bytes were seen and the mode has changed.
     */
    trip: (next: Exclude<Mode, 'pass'>, bytes: string, after: After = 'sight') => {
      const { promise, resolve } = Promise.withResolvers<void>()
      watch = { mode: next, bytes, after, seen: resolve }
      return { seen: promise }
    },
    /** Counts the pieces with these bytes that reach the server from now on; one command is one piece. */
    count: (bytes: string) => {
      const count = { bytes, delivered: 0 }
      counts.push(count)
      return count
    },
    stop: () => {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()))
      set('cut')
      return closed
    },
  }
}
