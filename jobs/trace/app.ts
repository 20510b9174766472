import Fastify from 'fastify'
import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { TRACE_BOUNDS } from './bounds.ts'
import { createRegistry, createTally, registerDisks } from '#core/platform/metrics.ts'

/** Endings of the files that are served. */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.jsonl': 'application/jsonl; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.sig': 'application/octet-stream',
}
/** Names that jobs give: neither a parent folder nor a hidden or temporary file. */
const PATH = /^(?:\/[a-z0-9][a-z0-9_-]*)*\/(?:[a-z0-9][a-z0-9_-]*(?:\.(?:html|json|jsonl|mjs|sig))?)?$/
/** Files of a version never change. */
const IMMUTABLE = /\/versions\/[^/]+\/./

const HEADERS = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'access-control-allow-origin': '*',
} as const

/**
 * Serves the folder of the trace, read-only. A path without an ending is that of a page; one that ends in a slash is
 * that of an index. Every other path is 404, and so is every listing of a folder.
 */
export function createTraceApp(root: string): FastifyInstance {
  const app = Fastify({
    logger: false,
    bodyLimit: 1,
    requestTimeout: TRACE_BOUNDS.requestTimeoutMs,
    connectionTimeout: TRACE_BOUNDS.requestTimeoutMs * 2,
    keepAliveTimeout: TRACE_BOUNDS.keepAliveTimeoutMs,
    forceCloseConnections: 'idle',
    http: { maxHeaderSize: TRACE_BOUNDS.headerBytesMax },
    routerOptions: { maxParamLength: TRACE_BOUNDS.pathCharactersMax },
  })
  app.server.maxConnections = TRACE_BOUNDS.connectionsMax
  app.get('/*', async (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    if (!PATH.test(path)) return notFound(reply)
    if (path.endsWith('/')) return send(reply, root, `${path}index.html`)
    if (extname(path) !== '') return send(reply, root, path)
    return existsSync(join(root, `${path}/index.html`))
      ? reply.redirect(`.${path.slice(path.lastIndexOf('/'))}/`, 308)
      : send(reply, root, `${path}.html`)
  })
  app.setNotFoundHandler((_request, reply) => notFound(reply))
  return app
}

async function send(reply: FastifyReply, root: string, path: string): Promise<FastifyReply> {
  const file = await open(join(root, path)).catch(() => undefined)
  const found = await file?.stat()
  if (file === undefined || found?.isFile() !== true) {
    await file?.close()
    return notFound(reply)
  }
  return reply
    .headers(HEADERS)
    .header('cache-control', IMMUTABLE.test(path) ? 'public, max-age=31536000, immutable' : 'public, max-age=60')
    .header('content-length', found.size)
    .type(MEDIA_TYPES[extname(path)] ?? 'application/octet-stream')
    .send(file.createReadStream())
}

function notFound(reply: FastifyReply): FastifyReply {
  return reply.headers(HEADERS).code(404).type('text/plain; charset=utf-8').send('The trace has no such page.\n')
}

/** @param folder of the trace. */
export function createTraceMetrics(folder: string) {
  const registry = createRegistry()
  const requests = createTally('evidence_trace_requests_total')
  requests.register(registry)
  registerDisks(registry, { trace: folder })
  return { registry, answered: (status: number) => requests.add(String(status)) }
}
