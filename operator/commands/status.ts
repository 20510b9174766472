import { setTimeout as wait } from 'node:timers/promises'
import { nameEntitlements, readOverview } from '#core/db/backlog.ts'
import type { Queryable } from '#core/db/pool.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { COMMIT, RELEASE } from '#core/platform/release.ts'
import { isSilent, readStatuses, type ProcessStatus } from '#core/redis/status-board.ts'
import { OPERATOR_VARIABLES } from '#jobs/platform/config.ts'
import { OPERATOR_BOUNDS } from '#operator/actions/operator.ts'
import type { Commands, Shown } from '#operator/command-line/command.ts'
import { option, whole } from '#operator/command-line/inputs.ts'
import { withQueues } from '#operator/command-line/queues.ts'
import { cell, table } from '#operator/command-line/table.ts'
import { verb } from '#operator/command-line/verbs.ts'
import { queueStates } from './jobs.ts'

const { REDIS_URL } = OPERATOR_VARIABLES
const WATCH_SECONDS_MAX = 3_600
const WAITING = 'candidates stale_candidates=stale builds'
const CLEARED = '\u001b[2J\u001b[H'

export const commands: Commands = [
  verb('status', 'show processes, nodes, queues, tasks, knowledge bases and limits on one screen', {
    notes:
      'Gateways and job workers report through Redis every five seconds. A process that is silent for ten minutes is ' +
      'forgotten; a node is shown as the gateways see it.',
    input: {
      watch: option('<seconds>', 'show it again and again, until Ctrl-C', whole(1, WATCH_SECONDS_MAX).optional()),
    },
    variables: { REDIS_URL },
    async run({ watch }, { database, config, show }) {
      for (;;) {
        const status = await readStatus(database, config.REDIS_URL)
        if (watch === undefined) return shown(status)
        const [value, text] = shown(status)
        show(value, () => `${CLEARED}${typeof text === 'function' ? text() : text}`)
        await wait(watch * 1_000)
      }
    },
  }),
]

type Status = Awaited<ReturnType<typeof readStatus>>

/** Redis may be away; what Postgres knows is shown then, too. */
async function readStatus(database: Queryable, redisUrl: string) {
  const overview = await readOverview(database, OPERATOR_BOUNDS.operatorRowsMax)
  const { processes, queues, fault } = await withQueues(redisUrl, async (open, redis) => ({
    processes: await readStatuses(redis),
    queues: (await queueStates(open)).queues,
    fault: null,
  })).catch((error: unknown) => {
    if (!(error instanceof OperatorError)) throw error
    return { processes: [], queues: [], fault: error.message }
  })
  const notServed = new Map(
    processes.flatMap((one) => one.not_served.map((base) => [base.knowledge_base, base.reason])),
  )
  return {
    at: new Date(),
    release: RELEASE,
    commit: COMMIT,
    redis_fault: fault,
    processes: processes.map(processOf),
    nodes: nodesOf(processes),
    queues,
    tasks: tasksOf(processes),
    knowledge_bases: overview.map((base) => ({ ...base, not_served: notServed.get(base.knowledge_base) ?? null })),
    near_limits: await nearLimits(database, processes),
    disks: processes.flatMap(({ id, disks }) =>
      disks.map(({ place, freeBytes, totalBytes }) => ({
        place,
        process: id,
        free_gb: gigabytes(freeBytes),
        total_gb: gigabytes(totalBytes),
      })),
    ),
  }
}

function gigabytes(bytes: number): number {
  return Math.round(bytes / 1e8) / 10
}

function processOf(status: ProcessStatus) {
  const down = Object.entries(status.dependencies).filter(([, { state }]) => state !== 'up')
  return {
    process: status.id,
    release: status.release,
    commit: status.commit.slice(0, 12),
    started_at: status.started_at,
    at: status.at,
    state: isSilent(status) ? 'silent' : status.faults.length === 0 ? 'ready' : 'not ready',
    clock: status.clock ?? 'agrees',
    faults: [...status.faults, ...down.map(([name, { reason }]) => `${name}: ${reason ?? 'down'}`)],
  }
}

/** Each node once: up if any gateway reaches it, with the worst quantiles and the calls of all. */
function nodesOf(processes: readonly ProcessStatus[]) {
  const seen = Map.groupBy(
    processes.filter((one) => !isSilent(one)).flatMap(({ nodes }) => nodes),
    ({ node }) => node,
  )
  const worst = (values: readonly (number | null)[]): number | null => {
    const known = values.filter((value) => value !== null)
    return known.length === 0 ? null : Math.round(Math.max(...known) * 10) / 10
  }
  return [...seen].map(([node, views]) => ({
    node,
    up: views.some(({ up }) => up),
    versions: [...new Set(views.flatMap(({ held }) => held))],
    in_flight: views.reduce((sum, { inFlight }) => sum + inFlight, 0),
    calls: views.reduce((sum, { calls }) => sum + calls, 0),
    passed_over: views.reduce((sum, { passedOver }) => sum + passedOver, 0),
    p50_ms: worst(views.map(({ p50Ms }) => p50Ms)),
    p99_ms: worst(views.map(({ p99Ms }) => p99Ms)),
  }))
}

/** Of each task, the newest success of any worker. */
function tasksOf(processes: readonly ProcessStatus[]) {
  const ages = processes.flatMap((one) =>
    Object.entries(one.tasks).map(([task, age]) => [task, age + (Date.now() - one.at.getTime()) / 1_000] as const),
  )
  return [...Map.groupBy(ages, ([task]) => task)].map(([task, all]) => ({
    task,
    seconds_since_success: Math.round(Math.min(...all.map(([, age]) => age))),
  }))
}

/** Of each entitlement, what the gateway that asked last was told. */
async function nearLimits(database: Queryable, processes: readonly ProcessStatus[]) {
  const near = new Map(processes.flatMap(({ near_limits: limits }) => limits.map((one) => [one.entitlement_id, one])))
  const named = await nameEntitlements(database, [...near.keys()])
  return named.map(({ entitlement_id: id, ...names }) => ({
    ...names,
    day: percent(near.get(id)?.day),
    month: percent(near.get(id)?.month),
    exposure: near.get(id)?.tightened === true ? 'rate lowered' : '',
  }))
}

function percent(share = 0): string {
  return `${Math.round(share * 100)} %`
}

function shown(status: Status): Shown {
  return [status, () => screenOf(status)]
}

function screenOf(status: Status): string {
  const parts: readonly (readonly [title: string, text: string])[] = [
    [
      'Processes',
      table(
        status.processes,
        'process release commit started_at state clock faults',
        status.redis_fault ?? 'No gateway and no job worker reports: start them, or name their Redis by REDIS_URL.',
      ),
    ],
    [
      'Search nodes',
      table(
        status.nodes.map((node) => ({ ...node, versions: node.versions.length })),
        'node up versions in_flight calls passed_over p50_ms p99_ms',
        'No gateway reports.',
      ),
    ],
    ['Queues', table(status.queues, 'queue waiting active delayed failed workers', 'Redis is away.')],
    ['Maintenance', status.tasks.map((one) => `${one.task} ${one.seconds_since_success} s`).join(', ') || '–'],
    [
      'Knowledge bases',
      table(
        status.knowledge_bases,
        `knowledge_base active activated_at passages ${WAITING} last_capture_at failing_sources=failing not_served`,
        'There is none: create one with "operator knowledge-bases create".',
      ),
    ],
    [
      'Near a limit',
      table(
        status.near_limits,
        'client environment knowledge_base day month exposure',
        'Nobody has used four fifths of a quota, or reached a mark.',
      ),
    ],
    ['Disks', table(status.disks, 'place process free_gb=free_GB total_gb=total_GB', '–')],
  ]
  const head = `${cell(status.at)}  release ${status.release} ${status.commit.slice(0, 12)}`.trimEnd()
  return [head, ...parts.map(([title, text]) => `${title}\n${text}`)].join('\n\n')
}
