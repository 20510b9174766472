import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Registry } from 'prom-client'
import { PLATFORM_BOUNDS } from './bounds.ts'
import { hostAndPort } from './config.ts'
import type { Log } from './log.ts'

export type InternalServer = Awaited<ReturnType<typeof serveInternal>>

/** What `/readyz` says; a process with a fault is not ready. */
export interface ReadyState {
  readonly faults: readonly string[]
}

export interface Internal {
  readonly registry: Registry
  readonly ready: () => ReadyState
}

/** Answers a path: `/livez`, `/readyz` and `/metrics`; undefined: there is no such page. */
export async function internalPage({ registry, ready }: Internal, path: string) {
  const json = (status: number, value: object) => ({ status, type: 'application/json', body: JSON.stringify(value) })
  if (path === '/livez') return json(200, { status: 'alive' })
  if (path === '/metrics') return { status: 200, type: registry.contentType, body: await registry.metrics() }
  if (path !== '/readyz') return undefined
  const state = ready()
  const isReady = state.faults.length === 0
  return json(isReady ? 200 : 503, { status: isReady ? 'ready' : 'not ready', ...state })
}

/**
 * Serves health, readiness and metrics, on an address that is never public. A process whose work needs no such address
 * starts without it where it is taken, as by a second process of the kind on one machine.
 * @param whenTaken `fail`: rejects then.
 */
export async function serveInternal(
  listen: string,
  internal: Internal,
  log: Log,
  whenTaken: 'fail' | 'go on' = 'go on',
) {
  const server = createServer({ requestTimeout: PLATFORM_BOUNDS.internalRequestTimeoutMs }, (request, reply) => {
    const path = request.url?.split('?', 1)[0] ?? ''
    const isRead = request.method === 'GET' || request.method === 'HEAD'
    void (isRead ? internalPage(internal, path) : Promise.resolve(undefined)).then(
      (page = { status: 404, type: 'text/plain', body: 'There is no such page.\n' }) =>
        reply.writeHead(page.status, { 'content-type': page.type, 'cache-control': 'no-store' }).end(page.body),
      (error: unknown) => {
        log.warn('internal page', { path }, error)
        reply.writeHead(500).end()
      },
    )
  })
  const listening = await new Promise<boolean>((resolve, reject) => {
    server.once('listening', () => resolve(true))
    server.once('error', (error) => {
      if (whenTaken === 'fail' || !('code' in error) || error.code !== 'EADDRINUSE') return reject(error)
      log.warn('metrics are not served: the address is taken', { address: listen })
      resolve(false)
    })
    server.listen(hostAndPort(listen))
  })
  return {
    /** Undefined where the address was taken. */
    port: listening ? (server.address() as AddressInfo).port : undefined,
    close: () =>
      new Promise<void>((resolve) => {
        if (!listening) return resolve()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
