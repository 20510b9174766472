import type { RequestRecord } from '../record.ts'

/** Replies with status 200 a second, counted while load was offered; what is answered later does not count. */
export function goodput(records: readonly RequestRecord[], overMs: number): number {
  const began = Math.min(...records.map(({ scheduledMs }) => scheduledMs))
  const inTime = records.filter(({ status, endedMs }) => status === 200 && endedMs <= began + overMs)
  return overMs === 0 ? 0 : (inTime.length * 1_000) / overMs
}
