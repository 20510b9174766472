import { hostname } from 'node:os'
import type { Redis } from 'ioredis'
import { z } from 'zod'
import { limitsCoreDumps } from '#core/platform/core-dumps.ts'
import { parsedJson } from '#core/platform/json.ts'
import { COMMIT, RELEASE } from '#core/platform/release.ts'
import { REDIS_BOUNDS } from './bounds.ts'

/** The hash of what processes say of themselves, for `operator status`. It holds names and numbers only. */
const KEY = 'evidence:status'

const nodeSchema = z.object({
  node: z.string(),
  up: z.boolean(),
  inFlight: z.number(),
  held: z.array(z.string()).readonly(),
  calls: z.number(),
  passedOver: z.number(),
  p50Ms: z.number().nullable(),
  p99Ms: z.number().nullable(),
})

const reportSchema = z.object({
  /** Why the process is not ready. */
  faults: z.array(z.string()),
  /** Why its clock is not trusted. */
  clock: z.string().optional(),
  dependencies: z.record(z.string(), z.object({ state: z.string(), reason: z.string().optional() })).default({}),
  not_served: z.array(z.object({ knowledge_base: z.string(), reason: z.string().nullable() })).default([]),
  nodes: z.array(nodeSchema).readonly().default([]),
  near_limits: z
    .array(z.object({ entitlement_id: z.string(), day: z.number(), month: z.number(), tightened: z.boolean() }))
    .readonly()
    .default([]),
  /** Seconds since the last success of each maintenance task. */
  tasks: z.record(z.string(), z.number()).default({}),
  disks: z.array(z.object({ place: z.string(), freeBytes: z.number(), totalBytes: z.number() })).default([]),
})
export type StatusReport = z.input<typeof reportSchema>

const statusSchema = reportSchema.extend({
  process: z.string(),
  id: z.string(),
  release: z.string(),
  commit: z.string(),
  core_dumps: z.boolean(),
  started_at: z.coerce.date(),
  at: z.coerce.date(),
})
export type ProcessStatus = z.infer<typeof statusSchema>

export interface StatusBoard {
  /** Takes the process off the board. */
  stop(): Promise<void>
}

/** Reports on this process again and again. What fails is reported the next time. */
export function reportStatus(redis: Redis, process: string, read: () => StatusReport): StatusBoard {
  const id = `${process} ${hostname()}:${globalThis.process.pid}`
  const started_at = new Date()
  const dumps = !limitsCoreDumps()
  async function report(): Promise<void> {
    const about = { process, id, release: RELEASE, commit: COMMIT, core_dumps: dumps, started_at, at: new Date() }
    await redis.hset(KEY, id, JSON.stringify({ ...read(), ...about }))
    await redis.expire(KEY, REDIS_BOUNDS.statusKeptSeconds)
  }
  let isUnderWay = false
  function quietly(): void {
    // A client that waits for Redis would collect reports.
    if (isUnderWay) return
    isUnderWay = true
    void report()
      .catch(() => undefined)
      .finally(() => (isUnderWay = false))
  }
  quietly()
  const timer = setInterval(quietly, REDIS_BOUNDS.statusEveryMs).unref()
  return {
    async stop() {
      clearInterval(timer)
      if (redis.status === 'ready') await redis.hdel(KEY, id).catch(() => undefined)
    },
  }
}

/** Returns what processes said last, and drops those that said nothing for long. */
export async function readStatuses(redis: Redis): Promise<readonly ProcessStatus[]> {
  const entries = Object.entries(await redis.hgetall(KEY))
  const statuses: ProcessStatus[] = []
  for (const [id, json] of entries) {
    const status = statusSchema.safeParse(parsedJson(json)).data
    const isGone = status === undefined || Date.now() - status.at.getTime() > REDIS_BOUNDS.statusDroppedMs
    if (isGone) await redis.hdel(KEY, id)
    else statuses.push(status)
  }
  return statuses.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

/** Whether a process has said nothing for longer than it should. */
export function isSilent({ at }: ProcessStatus): boolean {
  return Date.now() - at.getTime() > REDIS_BOUNDS.statusEveryMs * 3
}
