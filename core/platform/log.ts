import { PLATFORM_BOUNDS } from './bounds.ts'

/**
 * Structured log: one JSON line per event on standard output. Callers pass ids, codes and durations; never a query, a
 * key or a URL with credentials.
 */

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]
export type LogFields = Readonly<Record<string, string | number | boolean | null | undefined>>

export interface Log {
  error(event: string, fields?: LogFields, cause?: unknown): void
  warn(event: string, fields?: LogFields, cause?: unknown): void
  info(event: string, fields?: LogFields): void
  debug(event: string, fields?: LogFields): void
}

const events = new Map<string, { readonly level: LogLevel; count: number }>()

/** How often each event came, logged or not; its name is a constant of the code. */
export function countedEvents(): ReadonlyMap<string, { readonly level: LogLevel; readonly count: number }> {
  return events
}

function count(level: LogLevel, event: string): void {
  const counted = events.get(event)
  if (counted !== undefined) counted.count++
  else if (events.size < PLATFORM_BOUNDS.logEventsMax) events.set(event, { level, count: 1 })
}

/**
 * An event with the same cause is logged in full once, then once a second with the number of its repetitions: an outage
 * would else write several lines a request.
 */
export function createLog(service: string, level: LogLevel, write: (line: string) => void = writeBounded): Log {
  const rank = LOG_LEVELS.indexOf(level)
  function put(at: LogLevel, event: string, fields: LogFields, cause: string | undefined): void {
    const entry = { at: new Date().toISOString(), level: at, service, event, ...fields, cause }
    write(`${JSON.stringify(entry)}\n`)
  }
  const isRepeated = createRepetitions((at, event, cause, repeated) => put(at, event, { repeated }, cause))
  function emit(at: LogLevel, event: string, fields: LogFields = {}, thrown?: unknown): void {
    count(at, event)
    if (LOG_LEVELS.indexOf(at) > rank) return
    const cause = thrown === undefined ? undefined : describeCause(thrown)
    if (cause === undefined || !isRepeated(at, event, cause)) put(at, event, fields, cause)
  }
  return {
    error: (event, fields, cause) => emit('error', event, fields, cause),
    warn: (event, fields, cause) => emit('warn', event, fields, cause),
    info: (event, fields) => emit('info', event, fields),
    debug: (event, fields) => emit('debug', event, fields),
  }
}

type Summary = (at: LogLevel, event: string, cause: string, repeated: number) => void

/** Returns whether such an event was logged in the last second, and counts it then. */
function createRepetitions(summarize: Summary): (at: LogLevel, event: string, cause: string) => boolean {
  const counts = new Map<string, { readonly of: readonly [LogLevel, string, string]; repeated: number }>()
  let timer: NodeJS.Timeout | undefined

  function flush(): void {
    for (const [key, counted] of counts) {
      if (counted.repeated === 0) counts.delete(key)
      else summarize(...counted.of, counted.repeated)
      counted.repeated = 0
    }
    timer = counts.size === 0 ? undefined : setTimeout(flush, PLATFORM_BOUNDS.logRepetitionMs).unref()
  }
  return (at, event, cause) => {
    const key = `${at} ${event} ${cause}`
    const known = counts.get(key)
    if (known !== undefined) known.repeated++
    else if (counts.size < PLATFORM_BOUNDS.logCausesMax) counts.set(key, { of: [at, event, cause], repeated: 0 })
    timer ??= setTimeout(flush, PLATFORM_BOUNDS.logRepetitionMs).unref()
    return known !== undefined
  }
}

let dropped = 0
let isGuarded = false

/**
 * Writes to standard output as long as its reader keeps up. A reader that stalls costs lines, which are counted, and no
 * memory; one that goes away (EPIPE) ends no process.
 */
function writeBounded(line: string): void {
  const { stdout } = process
  if (!isGuarded) stdout.on('error', () => undefined)
  isGuarded = true
  if (!stdout.writable || stdout.writableLength > PLATFORM_BOUNDS.logBufferBytesMax) {
    dropped++
    return
  }
  if (dropped > 0) stdout.write(`${JSON.stringify({ level: 'warn', event: 'log lines dropped', dropped })}\n`)
  dropped = 0
  stdout.write(line)
}

/** Returns name, code and message of an error and of its causes; credentials are removed from URLs. */
export function describeCause(cause: unknown, depth = 0): string {
  if (!(cause instanceof Error)) return typeof cause
  const code =
    'code' in cause && (typeof cause.code === 'string' || typeof cause.code === 'number') ? ` [${cause.code}]` : ''
  const message = cause.message.replaceAll(/\/\/[^@/\s]+@/g, '//***@').slice(0, 500)
  const inner = cause.cause === undefined || depth >= 3 ? '' : `; caused by ${describeCause(cause.cause, depth + 1)}`
  return `${cause.name}${code}: ${message}${inner}`
}
