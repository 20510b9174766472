import { readFileSync, readdirSync } from 'node:fs'

/**
 * CPU time by part of the service, in milliseconds since the parts began. `others` is the rest of the machine's CPU
 * time.
 */
export type CpuTimes = Readonly<Record<CpuPart, number>>

export const CPU_PARTS = [
  'gateway',
  'search node',
  'jobs',
  'Postgres',
  'Redis',
  'provider',
  'LanceDB',
  'load generator',
  'others',
] as const
export type CpuPart = (typeof CPU_PARTS)[number]

/** Linux counts in hundredths of a second (USER_HZ) on every common architecture. */
const TICK_MS = 10

const PART_OF_COMMAND: readonly (readonly [RegExp, CpuPart])[] = [
  [/gateway\/main\.ts/, 'gateway'],
  [/search-node\/main\.ts/, 'search node'],
  [/jobs\/(?:worker\/main|version-build\/child)\.ts/, 'jobs'],
  [/(?:bench|load\/embedded)\/provider\.ts/, 'provider'],
  [/load\/generator\/main\.ts/, 'load generator'],
  [/bench\/lance-server\.ts/, 'LanceDB'],
  [/redis-server|valkey-server/, 'Redis'],
  [/postgres/, 'Postgres'],
]

interface Process {
  readonly pid: number
  readonly parent: number
  readonly ms: number
}

/** Reads /proc for this process and everything it started. @returns undefined where there is no /proc. */
export function cpuTimes(): CpuTimes | undefined {
  try {
    const processes = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((name) => readProcess(Number(name)) ?? [])
    const times = {
      gateway: 0,
      'search node': 0,
      jobs: 0,
      Postgres: 0,
      Redis: 0,
      provider: 0,
      LanceDB: 0,
      'load generator': 0,
      others: 0,
    }
    for (const process of descendants(processes)) times[partOf(process.pid)] += process.ms
    times.others = busyMs() - Object.values(times).reduce((sum, ms) => sum + ms, 0)
    return times
  } catch {
    return undefined
  }
}

export function cpuBetween(before: CpuTimes | undefined, after: CpuTimes | undefined): CpuTimes | undefined {
  if (before === undefined || after === undefined) return undefined
  const times = { ...after }
  for (const part of CPU_PARTS) times[part] -= before[part]
  return times
}

/** Of everything that this process started, and itself. */
export function ownCpuMs(times: CpuTimes): number {
  return CPU_PARTS.reduce((sum, part) => (part === 'others' ? sum : sum + times[part]), 0)
}

/** CPU time of one process since it began, in milliseconds; 0 where there is no /proc. */
export function processCpuMs(pid: number): number {
  return readProcess(pid)?.ms ?? 0
}

function readProcess(pid: number): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The command's name, in brackets, may hold spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    // Of the process and of its children that have ended, in user and system mode.
    const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0)
    return { pid, parent: Number(fields[1]), ms: ticks * TICK_MS }
  } catch {
    return undefined
  }
}

function descendants(processes: readonly Process[]): readonly Process[] {
  const ours = new Set([process.pid])
  for (let size = 0; size < ours.size;) {
    size = ours.size
    for (const { pid, parent } of processes) if (ours.has(parent)) ours.add(pid)
  }
  return processes.filter(({ pid }) => ours.has(pid))
}

function partOf(pid: number): CpuPart {
  if (pid === process.pid) return 'load generator'
  const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  return PART_OF_COMMAND.find(([pattern]) => pattern.test(command))?.[1] ?? 'others'
}

/** Busy time of all cores: user, nice, system, interrupts. */
function busyMs(): number {
  const [, user, nice, system, , , hard, soft] = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '')
    .split(/\s+/)
    .map(Number)
  return ((user ?? 0) + (nice ?? 0) + (system ?? 0) + (hard ?? 0) + (soft ?? 0)) * TICK_MS
}
