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

export function createLog(
  service: string,
  level: LogLevel,
  write: (line: string) => void = (line) => process.stdout.write(line),
): Log {
  const rank = LOG_LEVELS.indexOf(level)
  function emit(at: LogLevel, event: string, fields: LogFields = {}, cause?: unknown): void {
    if (LOG_LEVELS.indexOf(at) > rank) return
    const causeField = cause === undefined ? {} : { cause: describeCause(cause) }
    const entry = { at: new Date().toISOString(), level: at, service, event, ...fields, ...causeField }
    write(`${JSON.stringify(entry)}\n`)
  }
  return {
    error: (event, fields, cause) => emit('error', event, fields, cause),
    warn: (event, fields, cause) => emit('warn', event, fields, cause),
    info: (event, fields) => emit('info', event, fields),
    debug: (event, fields) => emit('debug', event, fields),
  }
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
