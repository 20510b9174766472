import type { IncomingMessage } from 'node:http'
import { MIMEType } from 'node:util'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { ServiceError } from '#core/platform/errors.ts'
import type { RequestContext } from './request-context.ts'
import { invalid, pointer } from './schema.ts'

const { bodyBytesMax, bodyReadTimeoutMs } = GATEWAY_BOUNDS
const { idempotencyKeyCharactersMin: keyMin, idempotencyKeyCharactersMax: keyMax } = GATEWAY_BOUNDS
const IDEMPOTENCY_KEY = new RegExp(`^[\\x21-\\x7e]{${keyMin},${keyMax}}$`)

/**
 * Reads the body, which no earlier stage has read, and its headers. Returns its JSON, which the schema checks next.
 * @throws ServiceError INVALID_REQUEST: 413 past the body limit, else 400 with the path and message of the fault.
 */
export async function parse(context: RequestContext): Promise<unknown> {
  const { headers } = context.incoming
  const body = await context.timings.wait('caller', readBody(context.incoming))
  if (!isJson(headers['content-type'])) throw invalid('Content-Type', 'must be application/json')
  const key = headers['idempotency-key']
  if (key !== undefined && (typeof key !== 'string' || !IDEMPOTENCY_KEY.test(key)))
    throw invalid('Idempotency-Key', `must be ${keyMin} to ${keyMax} visible ASCII characters`)
  context.idempotencyKey = key
  return parseJson(body)
}

/** A media type may have any parameters; `charset` is UTF-8. */
function isJson(type = ''): boolean {
  try {
    const { essence, params } = new MIMEType(type)
    return essence === 'application/json' && /^utf-8$/i.test(params.get('charset') ?? 'utf-8')
  } catch {
    return false
  }
}

function tooLarge(): ServiceError {
  return new ServiceError('INVALID_REQUEST', {
    status: 413,
    details: [{ path: '(body)', message: `must be at most ${bodyBytesMax} bytes` }],
  })
}

/**
 * Refuses a body that declares too many bytes unread, one that exceeds the limit at once, and a slow one after a
 * time-out.
 */
async function readBody(incoming: IncomingMessage): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > bodyBytesMax) throw tooLarge()
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const timer = setTimeout(
    () => reject(invalid('(body)', `must arrive within ${bodyReadTimeoutMs / 1_000} s`)),
    bodyReadTimeoutMs,
  )
  const chunks: Buffer[] = []
  let bytes = 0
  incoming
    .on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bodyBytesMax) reject(tooLarge())
      else chunks.push(chunk)
    })
    .on('end', () => resolve(Buffer.concat(chunks, bytes)))
    .on('error', () => undefined)
    .on('close', () => {
      if (!incoming.complete) reject(invalid('(body)', 'must be complete'))
    })
  return promise.finally(() => clearTimeout(timer))
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
