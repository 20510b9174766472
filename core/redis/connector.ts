import { Socket, connect as connectPlain } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { AbstractConnector } from 'ioredis'
import { REDIS_BOUNDS } from '#core/redis/bounds.ts'
import { setTimeoutAfterIo } from './timeout-after-io.ts'
import { parseInfo, serverFaultOf, type ServerFault } from './server-check.ts'
import type { RedisAddress } from './url.ts'

/** The open sockets of one target: those of a client and of its duplicates. */
export type Links = ReturnType<typeof createLinks>

/**
 * Creates the connector of ioredis clients. A client becomes ready only on a server that `serverFaultOf` accepts. Failed
 * attempts end like a lost connection, so the client's own retry strategy applies.
 */
export function createLinks(deps: {
  /** Called at each attempt: the primary may have moved. */
  readonly locate: () => Promise<RedisAddress>
  readonly tls: boolean
  readonly onRefusal: (serverFault: ServerFault) => void
}) {
  const { locate, tls, onRefusal } = deps
  const open = new Map<Socket, RedisAddress>()

  function openSocket(address: RedisAddress): Socket {
    const socket = tls ? connectTls({ ...address }) : connectPlain({ ...address })
    writeTogether(socket)
    open.set(socket, address)
    socket.once('close', () => open.delete(socket))
    return socket
  }

  class PrimaryConnector extends AbstractConnector {
    private accepted: () => void = () => undefined

    constructor() {
      super(REDIS_BOUNDS.redisDisconnectTimeoutMs)
    }

    override async connect(): Promise<Socket> {
      this.connecting = true
      delete this.firstError
      try {
        const address = await locate()
        if (!this.connecting) return destroyedSocket()
        const socket = openSocket(address)
        this.accepted = setTimeoutAfterIo(REDIS_BOUNDS.redisCommandTimeoutMs, () =>
          socket.destroy(new Error('Redis did not answer in time')),
        )
        socket.once('close', this.accepted)
        socket.once('error', (error) => (this.firstError = error))
        return (this.stream = socket)
      } catch (error) {
        if (error instanceof Error) this.firstError = error
        return destroyedSocket()
      }
    }

    /** Called with the reply of INFO before the client is ready. If it returns false, the client connects again. */
    override check(info: unknown): boolean {
      const serverFault = serverFaultOf(parseInfo(info))
      if (serverFault === undefined) this.accepted()
      else onRefusal(serverFault)
      return serverFault === undefined
    }
  }

  return {
    /** The option of ioredis that makes clients connect through these links. */
    Connector: PrimaryConnector,
    /** Destroys every socket, except those to `keep`. Their clients connect again. @returns whether there was one. */
    leave(reason: Error, keep?: RedisAddress) {
      const left = [...open].filter(([, { host, port }]) => host !== keep?.host || port !== keep.port)
      for (const [socket] of left) socket.destroy(reason)
      return left.length > 0
    },
  }
}

/** Commands of one turn of the event loop share a call of the system, which takes longer than all else of a command. */
function writeTogether(socket: Socket): void {
  socket.write = new Proxy(socket.write, {
    apply(write, _, args) {
      if (socket.writableCorked === 0) {
        socket.cork()
        process.nextTick(() => socket.uncork())
      }
      const isBelowMark: unknown = Reflect.apply(write, socket, args)
      return isBelowMark
    },
  })
}

/** A rejected `connect` would end the client for good; a destroyed socket makes it try again. */
function destroyedSocket(): Socket {
  return new Socket().destroy()
}
