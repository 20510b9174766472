import { existsSync, readFileSync, readdirSync } from 'node:fs'

const NONE = {
  gateway: 0,
  'search node': 0,
  jobs: 0,
  Postgres: 0,
  Redis: 0,
  provider: 0,
  LanceDB: 0,
  'bare route': 0,
  'load generator': 0,
  others: 0,
}

export type CpuPart = keyof typeof NONE
/** CPU milliseconds by part of the service; `others` is the rest of the machine's. 0 where the system has no /proc. */
export type CpuTimes = Readonly<Record<CpuPart, number>>

/** Linux counts in hundredths of a second (USER_HZ) on every common architecture. */
const TICK_MS = 10

const PART_OF_COMMAND: readonly (readonly [RegExp, CpuPart])[] = [
  [/gateway\/main\.ts/, 'gateway'],
  [/search-node\/main\.ts/, 'search node'],
  // A build runs in a child of the worker, whose folder has had several names.
  [/jobs\/(?:main|worker\/main|[\w-]+\/child)\.ts/, 'jobs'],
  [/bench\/provider\.ts/, 'provider'],
  [/bench\/lance-server\.ts/, 'LanceDB'],
  [/against\/bare\.ts/, 'bare route'],
  [/redis-server|valkey-server/, 'Redis'],
  [/postgres/, 'Postgres'],
]

interface Process {
  readonly pid: number
  readonly parent: number
  readonly ms: number
}

/** Since the parts began: of a process, the load generator, and of everything that it started. */
export function cpuTimes(root: number = process.pid): CpuTimes {
  const times: Record<CpuPart, number> = { ...NONE }
  if (!existsSync('/proc/stat')) return times
  const processes = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => readProcess(Number(name)) ?? [])
  times.others = busyMs()
  for (const { pid, ms } of descendants(processes, root)) {
    times[pid === root ? 'load generator' : partOf(pid)] += ms
    times.others -= ms
  }
  return times
}

export function cpuBetween(before: CpuTimes, after: CpuTimes): CpuTimes {
  const times: Record<CpuPart, number> = { ...after }
  for (const [part, ms] of partsOf(before)) times[part] -= ms
  return times
}

/** Of one answer, where some times were taken for so many. */
export function cpuOfEach(some: readonly CpuTimes[], answers: number): CpuTimes {
  const times: Record<CpuPart, number> = { ...NONE }
  for (const [part, ms] of some.flatMap(partsOf)) times[part] += ms / Math.max(1, answers)
  return times
}

export function partsOf(times: CpuTimes): readonly (readonly [CpuPart, number])[] {
  // The type of the record has its keys and no others.
  return Object.entries(times) as [CpuPart, number][]
}

/** Of everything that was started, and of the load generator. */
export function ownCpuMs(times: CpuTimes): number {
  return partsOf(times).reduce((sum, [part, ms]) => (part === 'others' ? sum : sum + ms), 0)
}

/** CPU time of one process since it began, in milliseconds; 0 where there is no /proc. */
export function processCpuMs(pid: number): number {
  return readProcess(pid)?.ms ?? 0
}

function readProcess(pid: number): Process | undefined {
  const stat = readProc(`${pid}/stat`)
  // The command's name, in brackets, may hold spaces.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  // Of the process and of its children that have ended, in user and system mode.
  const ticks = fields.slice(11, 15).reduce((sum, each) => sum + Number(each), 0)
  return stat === '' ? undefined : { pid, parent: Number(fields[1]), ms: ticks * TICK_MS }
}

/** Empty where the process has ended. */
function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, 'utf8')
  } catch {
    return ''
  }
}

function descendants(processes: readonly Process[], root: number): readonly Process[] {
  const ours = new Set([root])
  for (let size = 0; size < ours.size;) {
    size = ours.size
    for (const { pid, parent } of processes) if (ours.has(parent)) ours.add(pid)
  }
  return processes.filter(({ pid }) => ours.has(pid))
}

function partOf(pid: number): CpuPart {
  const command = readProc(`${pid}/cmdline`)
  return PART_OF_COMMAND.find(([pattern]) => pattern.test(command))?.[1] ?? 'others'
}

/** Busy time of all cores: user, nice, system, interrupts. */
function busyMs(): number {
  const [, user = 0, nice = 0, system = 0, , , hard = 0, soft = 0] = (readProc('stat').split('\n')[0] ?? '')
    .split(/\s+/)
    .map(Number)
  return (user + nice + system + hard + soft) * TICK_MS
}
