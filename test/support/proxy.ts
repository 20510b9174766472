import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/**
 * pass: bytes are forwarded. stall: connections stay open, but nothing is forwarded. cut: every connection is reset,
 * including new ones.
 */
type Mode = 'pass' | 'stall' | 'cut'

export type FaultProxy = Awaited<ReturnType<typeof startFaultProxy>>

type After = 'sight' | 'delivery' | 'withheld'

interface Pair {
  readonly client: Socket
  readonly server: Socket
}

interface Watch {
  readonly mode: Exclude<Mode, 'pass'>
  readonly bytes: string
  readonly after: After
  readonly seen: () => void
}

/** A TCP proxy before the server of a URL, to lose a dependency without stopping it for others. */
export async function startFaultProxy(url: string) {
  const target = new URL(url)
  const pairs = new Set<Pair>()
  let mode: Mode = 'pass'
  let watch: Watch | undefined
  const counts: { readonly bytes: string; delivered: number }[] = []

  function set(next: Mode): void {
    mode = next
    for (const { client, server } of pairs) {
      for (const socket of [client, server]) {
        if (next === 'stall') socket.pause()
        else if (next === 'cut') socket.resetAndDestroy()
        else socket.resume()
      }
    }
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
    const pair = { client, server }
    pairs.add(pair)
    client.on('data', (chunk) => onClientBytes(pair, chunk))
    server.on('data', (chunk) => void client.write(chunk))
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
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const through = new URL(url)
  through.hostname = '127.0.0.1'
  through.port = String((listener.address() as AddressInfo).port)
  return {
    /** The URL with the proxy's host and port. */
    url: through.href,
    set,
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
