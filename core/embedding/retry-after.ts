/**
 * Reads how long an endpoint wants its callers to wait: `retry-after-ms` of OpenAI, else `Retry-After` (RFC 9110,
 * 10.2.3) in seconds or as a date.
 * @returns milliseconds from now, at least 0; undefined if neither header is there and valid.
 */
export function retryAfterMs(headers: Headers | undefined, nowMs: number): number | undefined {
  const inMs = decimal(headers?.get('retry-after-ms'))
  if (inMs !== undefined) return inMs
  const text = headers?.get('retry-after')
  const seconds = decimal(text)
  if (seconds !== undefined) return seconds * 1_000
  // Other texts that `Date.parse` accepts are no dates of HTTP.
  const dateMs = /^[A-Z].* GMT$/.test(text ?? '') ? Date.parse(text ?? '') : Number.NaN
  return Number.isNaN(dateMs) ? undefined : Math.max(0, dateMs - nowMs)
}

function decimal(text: string | null | undefined): number | undefined {
  return /^\s*\d{1,12}(?:\.\d{1,9})?\s*$/.test(text ?? '') ? Number(text) : undefined
}
