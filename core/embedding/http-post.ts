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

/** Returns the body of a reply. Some servers compress what they were asked to send as it is. */
export function decodedBody(reply: IncomingMessage): Readable {
  const decoder = DECODERS[reply.headers['content-encoding']?.toLowerCase() ?? '']
  return decoder === undefined ? reply : pipeline(reply, decoder(), () => undefined)
}
