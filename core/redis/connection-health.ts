import { OperatorError } from '#core/platform/errors.ts'
import { describeCause, type Log } from '#core/platform/log.ts'
import type { ServerFault } from './server-check.ts'

export type ConnectionHealth = ReturnType<typeof createConnectionHealth>

/** What a connection knows about its server, and what was last wrong with it; it reports what happens to it. */
export function createConnectionHealth(name: string, log: Log) {
  let identity: string | undefined
  let lastServerFault: ServerFault | undefined
  let was = false
  const fault = createFault(name, log)
  const [first, usable] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  for (const { promise } of [first, usable]) promise.catch(() => undefined)

  function fail(text: string, cause: Error): void {
    identity = undefined
    fault.set(text, cause)
  }

  return {
    /** Identity of the server's process and data while the connection is usable, otherwise undefined. */
    runId: () => identity,
    /** Why the connection is not usable now, without hosts and messages of errors; undefined while it is usable. */
    fault: fault.text,
    /** True once the connection was usable for the first time. */
    wasUsable: () => was,
    /**
     * Resolves after the first attempt to connect, whether it succeeded or the server was not reachable.
     * @throws OperatorError when the server is reachable but must not be used as it is configured.
     */
    firstAttempt: () => first.promise,
    /**
     * Resolves once the connection is usable.
     * @throws OperatorError as `firstAttempt`, and when the connection ends before.
     */
    usable: () => usable.promise,
    accepted(accepted: string) {
      if (identity === undefined) log.info('redis connected', { connection: name })
      identity = accepted
      was = true
      lastServerFault = undefined
      fault.clear()
      first.resolve()
      usable.resolve()
    },
    /** @returns the error for the connections to the server. */
    refused(serverFault: ServerFault): Error {
      const error = new OperatorError(serverFault.message)
      lastServerFault = serverFault
      fail(serverFault.message, error)
      if (serverFault.kind === 'configuration') for (const { reject } of [first, usable]) reject(error)
      first.resolve()
      return error
    },
    /** The server was not reached, or it was lost. */
    lost(cause: Error) {
      // The connection was left because of a fault of the server, which says more.
      if (cause instanceof OperatorError) return
      fail('code' in cause ? `Redis does not answer (${String(cause.code)})` : 'Redis does not answer', cause)
      first.resolve()
    },
    /** The connection was closed; a cause that is known already stays. */
    closed() {
      const known = fault.text()
      if (known === undefined || known === NOT_TRIED)
        fail('the connection to Redis was closed', new Error('the connection was closed'))
      first.resolve()
    },
    /** There will be no further attempt. */
    ended() {
      first.resolve()
      usable.reject(new OperatorError(lastServerFault?.message ?? NO_ANSWER, { cause: fault.text() }))
    },
    /** The connection is no longer needed: its end is not reported. */
    closing: fault.mute,
  }
}

const NOT_TRIED = 'Redis is not connected yet'
const NO_ANSWER = 'Redis does not answer: check that it runs and that REDIS_URL names its host, port and password.'

function createFault(name: string, log: Log) {
  let current: string | undefined = NOT_TRIED
  let logged = ''
  let muted = false
  return {
    text: () => current,
    /** Logs only a cause that is new: an attempt is made several times a second. */
    set(text: string, cause: Error) {
      current = text
      const described = describeCause(cause)
      if (described !== logged && !muted) log.warn('redis connection', { connection: name }, cause)
      logged = described
    },
    clear() {
      current = undefined
      logged = ''
    },
    /** Nothing is logged any more. */
    mute() {
      muted = true
    },
  }
}
