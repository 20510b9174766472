import type { IncomingMessage } from 'node:http'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { RequestContext } from './request-context.ts'
import { detailsOf, pointer, retrievalRequestSchema } from './schema.ts'
import type { RetrievalRequest } from './schema.ts'

export interface ParsedRequest {
  readonly request: RetrievalRequest
  readonly idempotencyKey: string | undefined
}

const JSON_MEDIA_TYPE = /^application\/json[ \t]*(;[ \t]*charset="?utf-8"?[ \t]*)?$/i
const IDEMPOTENCY_KEY = new RegExp(
  `^[\\x21-\\x7e]{${GATEWAY_BOUNDS.idempotencyKeyCharactersMin},${GATEWAY_BOUNDS.idempotencyKeyCharactersMax}}$`,
)

/**
 * Reads and parses the body, which no earlier stage has read.
 * @throws ServiceError INVALID_REQUEST: 413 past the body limit, else 400 with the path and message of each fault.
 */
export async function parse(context: RequestContext): Promise<ParsedRequest> {
  const { headers } = context.incoming
  const body = await context.timings.wait('caller', readBody(context.incoming))
  if (!JSON_MEDIA_TYPE.test(headers['content-type'] ?? '')) throw invalid('Content-Type', 'must be application/json')
  const idempotencyKey = headers['idempotency-key']
  if (idempotencyKey !== undefined && (typeof idempotencyKey !== 'string' || !IDEMPOTENCY_KEY.test(idempotencyKey)))
    throw invalid(
      'Idempotency-Key',
      `must be ${GATEWAY_BOUNDS.idempotencyKeyCharactersMin} to ${GATEWAY_BOUNDS.idempotencyKeyCharactersMax} visible ASCII characters`,
    )
  const parsed = retrievalRequestSchema.safeParse(parseJson(body))
  if (!parsed.success) throw new ServiceError('INVALID_REQUEST', { details: detailsOf(parsed.error) })
  return { request: parsed.data, idempotencyKey }
}

function invalid(path: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { details: [{ path, message }] })
}

function tooLarge(): ServiceError {
  return new ServiceError('INVALID_REQUEST', {
    status: 413,
    details: [{ path: '(body)', message: `must be at most ${GATEWAY_BOUNDS.bodyBytesMax} bytes` }],
  })
}

/**
 * Refuses a body that declares too many bytes unread, one that exceeds the limit at once, and a slow one after a
 * time-out.
 */
function readBody(incoming: IncomingMessage): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > GATEWAY_BOUNDS.bodyBytesMax) return Promise.reject(tooLarge())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const timer = setTimeout(
      () => finish(invalid('(body)', 'must arrive without pauses')),
      GATEWAY_BOUNDS.bodyReadTimeoutMs,
    )
    function finish(error?: Error): void {
      clearTimeout(timer)
      incoming.off('data', take).off('end', finish).off('error', finish).off('close', closed)
      if (error === undefined) resolve(Buffer.concat(chunks, bytes))
      else reject(error)
    }
    function take(chunk: Buffer): void {
      bytes += chunk.length
      chunks.push(chunk)
      if (bytes > GATEWAY_BOUNDS.bodyBytesMax) finish(tooLarge())
    }
    const closed = (): void => finish(invalid('(body)', 'must be complete'))
    incoming.on('data', take).on('end', finish).on('error', closed).on('close', closed)
  })
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function parseJson(body: Buffer): unknown {
  let text: string
  let value: unknown
  try {
    text = utf8.decode(body)
    value = JSON.parse(text)
  } catch {
    throw invalid('(body)', 'must be well-formed JSON in UTF-8')
  }
  const repeated = repeatedKey(text)
  if (repeated !== undefined) throw invalid(pointer(repeated), 'is given more than once')
  return value
}

/** `JSON.parse` keeps the last of equal keys; a proxy or a log may keep the first. @returns the path of one. */
function repeatedKey(json: string): readonly string[] | undefined {
  const open: { readonly keys: Set<string>; key: string }[] = []
  for (const [token, name, colon] of json.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")\s*(:)?|[{}[\]]/g)) {
    if (token === '{' || token === '[') open.push({ keys: new Set(), key: '' })
    else if (name === undefined) open.pop()
    const object = open.at(-1)
    if (colon === undefined || name === undefined || object === undefined) continue
    object.key = String(JSON.parse(name))
    if (object.keys.has(object.key)) return open.map(({ key }) => key)
    object.keys.add(object.key)
  }
  return undefined
}
