import { request as requestPlain } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { request as requestTls } from 'node:https'
import { pipeline } from 'node:stream'
import type { Readable, Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'

export interface Post {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly signal: AbortSignal
}

/**
 * Sends one request over the connections that Node keeps open. No redirection is followed.
 * @returns once the head of the reply has arrived. The signal also ends a body that is still being read.
 */
export function post(url: string, { headers, body, signal }: Post): Promise<IncomingMessage> {
  const request = url.startsWith('https:') ? requestTls : requestPlain
  return new Promise((resolve, reject) => {
    const outgoing = request(url, {
      method: 'POST',
      headers: { ...headers, 'accept-encoding': 'identity', 'content-length': Buffer.byteLength(body) },
    })
    const abort = (): void => void outgoing.destroy(new Error('the request was aborted'))
    signal.addEventListener('abort', abort, { once: true })
    outgoing
      .on('response', resolve)
      .on('error', reject)
      .on('close', () => signal.removeEventListener('abort', abort))
      .end(body)
    if (signal.aborted) abort()
  })
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
}

/** Some servers compress what they were asked to send as it is. */
function decoded(reply: IncomingMessage): Readable {
  const decoder = DECODERS[reply.headers['content-encoding']?.toLowerCase() ?? '']
  return decoder === undefined ? reply : pipeline(reply, decoder(), () => undefined)
}

/**
 * Reads the body of a reply as UTF-8. Bytes are counted after decompression.
 * @returns undefined for a body of more than `bytesMax`, whose rest is not read: its connection is closed.
 */
export function bodyText(reply: IncomingMessage, bytesMax: number): Promise<string | undefined> {
  const body = decoded(reply)
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let bytes = 0
    body
      .on('data', (piece: Buffer) => {
        bytes += piece.length
        pieces.push(piece)
        if (bytes > bytesMax) {
          resolve(undefined)
          body.destroy()
        }
      })
      .on('end', () => resolve(Buffer.concat(pieces).toString('utf8')))
      .on('error', reject)
      .on('close', () => reject(new Error('the reply ended early')))
  })
}
