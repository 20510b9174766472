import { connect } from 'node:net'
import type { Socket } from 'node:net'

export interface PostReply {
  readonly status: number
  readonly body: Buffer
}

/**
 * One keep-alive HTTP/1.1 connection, one request at a time. It costs little CPU, because it shares the cores with the
 * measured service.
 */
export interface Connection {
  /**
   * @param request head and body as they go over the wire. @throws Error when the connection fails or times out; it
   * cannot be used afterwards.
   */
  post(request: Buffer): Promise<PostReply>
  close(): void
}

const HEAD_END = '\r\n\r\n'
/** Of `HTTP/1.1 200 OK`. */
const STATUS_AT = 9

export async function openConnection(host: string, port: number, silenceMs: number): Promise<Connection> {
  const socket = await connected(host, port)
  let received: Buffer[] = []
  let bytesReceived = 0
  let bytesWanted = Infinity
  let waiting: { readonly resolve: (reply: PostReply) => void; readonly reject: (error: Error) => void } | undefined
  function take(chunk: Buffer): void {
    received.push(chunk)
    bytesReceived += chunk.length
    if (bytesWanted === Infinity) bytesWanted = replyBytes(received)
    if (bytesReceived < bytesWanted) return
    const reply = Buffer.concat(received)
    const done = waiting
    received = []
    bytesReceived = 0
    bytesWanted = Infinity
    waiting = undefined
    done?.resolve({
      status: Number(reply.toString('latin1', STATUS_AT, STATUS_AT + 3)),
      body: reply.subarray(reply.indexOf(HEAD_END) + HEAD_END.length),
    })
  }
  function fail(error: Error): void {
    waiting?.reject(error)
    waiting = undefined
    socket.destroy()
  }
  socket.on('data', take)
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('the connection was closed')))
  socket.setTimeout(silenceMs, () => fail(new Error('no reply came in time')))
  return {
    post: (request) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new Error('the connection was closed'))
        waiting = { resolve, reject }
        socket.write(request)
      }),
    close: () => socket.destroy(),
  }
}

function connected(host: string, port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, noDelay: true }, () => {
      socket.off('error', reject)
      resolve(socket)
    })
    socket.once('error', reject)
  })
}

/**
 * Head and body together, by the Content-Length that every reply of the gateway has; Infinity while the head is
 * incomplete.
 */
function replyBytes(received: readonly Buffer[]): number {
  const bytes = Buffer.concat(received)
  const headEnd = bytes.indexOf(HEAD_END)
  if (headEnd === -1) return Infinity
  const length = /^content-length: (\d+)$/im.exec(bytes.toString('latin1', 0, headEnd))?.[1]
  if (length === undefined) throw new Error('a reply has no Content-Length')
  return headEnd + HEAD_END.length + Number(length)
}
