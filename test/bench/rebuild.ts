import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Database } from '#core/db/pool.ts'
import { planLimitsSchema } from '#core/domain/quota-plan.ts'
import type { StackSettings } from '#operator/demo/local/stack.ts'
import { createTenant, insertDeliveries } from './deliveries.ts'
import { percentile } from './load.ts'
import { aligned } from './table.ts'
import { atMost } from './thresholds.ts'
import type { Threshold } from './thresholds.ts'

const tenant = z.object({
  organizationId: z.uuid(),
  planId: z.uuid(),
  limits: planLimitsSchema,
  entitlements: z
    .array(z.object({ clientId: z.uuid(), entitlementId: z.uuid(), knowledgeBaseId: z.uuid() }))
    .readonly(),
})
/** What the serving process is told. */
export const orderSchema = z.object({
  gatewayDatabaseUrl: z.string(),
  redisUrl: z.string(),
  rebuilt: tenant,
  others: z.array(tenant).readonly(),
  /** Time without a rebuild. */
  seconds: z.number(),
})
export type ServingOrder = z.infer<typeof orderSchema>

const watchedSchema = z.object({
  seconds: z.number(),
  /** Longest time without a look at the timers of the event loop. Other programs on the machine lengthen it. */
  stall_ms: z.number(),
  /** The same in CPU time of the thread, which other programs lengthen little. */
  busy_ms: z.number(),
  admissions: z.number(),
  admission_p50_ms: z.number(),
  admission_p99_ms: z.number(),
})
/** What a process and its other organizations saw for some time. */
export type Watched = z.infer<typeof watchedSchema>
const servedSchema = z.object({
  without: watchedSchema,
  rebuilds: z.array(watchedSchema.extend({ passages: z.number() })),
})
export type Served = z.infer<typeof servedSchema>

/** A rebuild of the counters of one organization, while others are served by the same process. */
export type RebuildResult = Served & { readonly deliveries: number }

const CLIENTS = 2
const KNOWLEDGE_BASES = 4
const OTHERS = 4
const SECONDS_MAX = 10
const STALL_MS_MAX = 20

export interface RebuildServers {
  readonly owner: Database
  readonly settings: Pick<StackSettings, 'gatewayDatabaseUrl' | 'redisUrl'>
}

export interface RebuildOptions {
  readonly deliveries: number
  /** Measured time without a rebuild. */
  readonly seconds: number
}

export async function measureRebuild(
  { owner, settings }: RebuildServers,
  { deliveries, seconds }: RebuildOptions,
): Promise<RebuildResult> {
  const { gatewayDatabaseUrl, redisUrl } = settings
  const rebuilt = await createTenant(owner, CLIENTS, KNOWLEDGE_BASES)
  await insertDeliveries(owner, rebuilt, deliveries)
  const others = await Promise.all(Array.from({ length: OTHERS }, () => createTenant(owner, 1, 1)))
  const order: ServingOrder = { gatewayDatabaseUrl, redisUrl, rebuilt, others, seconds }
  const serving = fork(fileURLToPath(new URL('./rebuild-serving.ts', import.meta.url)))
  try {
    serving.send(order)
    const ended = once(serving, 'exit').then(([code]) => {
      throw new Error(`the process that rebuilds ended with ${String(code)}`)
    })
    const [served] = z.tuple([servedSchema, z.unknown()]).parse(await Promise.race([once(serving, 'message'), ended]))
    return { deliveries, ...served }
  } finally {
    serving.kill()
  }
}

export const REBUILD_HEAD = ['rebuild', 'passages', 'takes', 'longest stall', 'of it CPU', 'others', 'p50', 'p99']

export function rebuildRows({ deliveries, without, rebuilds }: RebuildResult): readonly (readonly string[])[] {
  const figures = ({
    seconds,
    stall_ms,
    busy_ms,
    admissions,
    admission_p50_ms,
    admission_p99_ms,
  }: Watched): string[] => [
    `${seconds.toFixed(1)} s`,
    `${stall_ms.toFixed(1)} ms`,
    `${busy_ms.toFixed(1)} ms`,
    `${(admissions / seconds).toFixed(0)}/s`,
    `${admission_p50_ms.toFixed(1)} ms`,
    `${admission_p99_ms.toFixed(1)} ms`,
  ]
  return [
    ['none', '–', ...figures(without)],
    ...rebuilds.map((each) => [`${deliveries} deliveries`, String(each.passages), ...figures(each)]),
  ]
}

export function renderRebuild(result: RebuildResult): string {
  return aligned([REBUILD_HEAD, ...rebuildRows(result)])
}

/** Of several rebuilds, because other programs delay some: a stall of its own is in each. */
export function judgeRebuild({ deliveries, rebuilds }: RebuildResult): readonly Threshold[] {
  const median = (of: (each: Watched) => number): number => percentile(rebuilds.map(of), 0.5)
  return [
    atMost(
      `rebuild of ${deliveries} deliveries`,
      SECONDS_MAX,
      median(({ seconds }) => seconds),
      's',
      1,
    ),
    atMost(
      'longest stall of the event loop in a rebuild, CPU time',
      STALL_MS_MAX,
      median(({ busy_ms }) => busy_ms),
      'ms',
      1,
    ),
  ]
}
