import type { Redis } from 'ioredis'
import { DAY_MS, utcDay } from '#core/platform/time.ts'
import { REDIS_BOUNDS } from './bounds.ts'

/** Counts of refused requests by UTC day, client, status and reason: nothing else is on record of them. */
export type Refusals = ReturnType<typeof countRefusals>

export interface RefusalCount {
  readonly day: string
  readonly client_id: string
  readonly status: number
  readonly reason: string
  readonly count: number
}

const keyOf = (day: string): string => `evidence:refused:${day}`

/** Collects counts and sends them every few seconds. While Redis is away they are kept. */
export function countRefusals(redis: Redis) {
  let counts = new Map<string, number>()

  async function send(): Promise<void> {
    if (counts.size === 0 || redis.status !== 'ready') return
    const sent = counts
    counts = new Map()
    const key = keyOf(utcDay(new Date()))
    const commands = redis.pipeline()
    for (const [field, count] of sent) commands.hincrby(key, field, count)
    // What fails half-way is not sent again: a count too few is better than one too many.
    await commands.expire(key, REDIS_BOUNDS.refusalsKeptSeconds).exec()
  }
  const timer = setInterval(() => void send().catch(() => undefined), REDIS_BOUNDS.statusEveryMs).unref()
  return {
    /** @param clientId '': the key is of no client. */
    add(clientId: string, status: number, reason: string) {
      const field = `${clientId}|${status}|${reason}`
      const known = counts.get(field)
      if (known !== undefined || counts.size < REDIS_BOUNDS.refusalsCollectedMax) counts.set(field, (known ?? 0) + 1)
    },
    async close() {
      clearInterval(timer)
      await send().catch(() => undefined)
    },
  }
}

/** @param from the first of the days up to this one; as far back as they are kept. */
export async function readRefusals(redis: Redis, from: Date): Promise<readonly RefusalCount[]> {
  const found: RefusalCount[] = []
  const first = Math.max(from.getTime(), Date.now() - REDIS_BOUNDS.refusalsKeptSeconds * 1_000)
  for (let at = Date.now(); utcDay(new Date(at)) >= utcDay(new Date(first)); at -= DAY_MS) {
    const day = utcDay(new Date(at))
    for (const [field, count] of Object.entries(await redis.hgetall(keyOf(day)))) {
      const [client_id = '', status = '', reason = ''] = field.split('|')
      found.push({ day, client_id, status: Number(status), reason, count: Number(count) })
    }
  }
  return found
}
