import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { Steps } from '#operator/demo/steps.ts'
import type { Section } from '#operator/command-line/sections.ts'
import { cpuBetween, cpuTimes, type CpuPart, type CpuTimes } from '../cpu.ts'
import { SELECTIVITIES } from '../corpus.ts'
import type { BenchFlags } from '../flags.ts'
import { askOnce, drive, during, percentile, sumOf, type Load } from '../load.ts'
import { openFull, openPosts, type MeasuredPath } from '../paths.ts'
import type { Query } from '../source.ts'
import { readySchema, searchedSchema, type StandOptions, type StandOrder } from './messages.ts'
import { commitOf, commitOfWorkingTree, openTree } from './trees.ts'

const STAND = fileURLToPath(new URL('./stand.ts', import.meta.url))
const MANY_CLIENTS = 32
/** Of a slice, before it; and once before everything, in slices: V8 compiles for about 45 s of load. */
const WARM_UP_SHARE = 0.1
const FIRST_WARM_UP_SLICES = 10
/** Rounds begin with different questions. */
const QUESTIONS_APART = 97
const ROUNDS_NOTED = 5
const COMPARED_QUESTIONS = 200
const [UNFILTERED] = SELECTIVITIES
const PARTS = ['gateway', 'search node', 'Postgres', 'Redis', 'jobs'] as const satisfies readonly CpuPart[]

const FAILED = 'failed requests'
const GATEWAY = 'CPU ms a request: gateway'
const BARE = 'CPU ms a request: bare route'
const UNREADABLE = '{"query": '

/** What one round shows of one tree, by name. */
type Round = Readonly<Record<string, number>>

/** Of the tree of the commit, and of this one. */
interface Both<T> {
  readonly commit: T
  readonly present: T
}

type Stand = Awaited<ReturnType<typeof startStand>>
type AgainstResult = Awaited<ReturnType<typeof benchAgainst>>

/** Measures the tree of a commit and this one by turns, each with its own services and artifact. */
export async function benchAgainst(flags: BenchFlags & { readonly against: string }, steps: Steps) {
  const began = performance.now()
  const { passages, dimensions, seconds, seed, rounds } = flags
  const folder = mkdtempSync(join(tmpdir(), 'evidence-against-'))
  steps.onStop(async () => rmSync(folder, { recursive: true, force: true }))
  const trees = { commit: commitOf(flags.against), present: commitOfWorkingTree(folder) }
  for (const name of ['commit', 'present'] as const)
    await steps.run(`tree of ${trees[name]}`, async () => openTree(trees[name], join(folder, name), steps))
  // Both at once, so that neither has an older process.
  const [commit, present] = await steps.run('artifacts and services of both', () =>
    Promise.all((['commit', 'present'] as const).map((name) => startStand(join(folder, name), flags, steps))),
  )
  if (commit === undefined || present === undefined) throw new Error('a tree is missing')
  const stands = { commit, present }
  const sameAnswers = await steps.run('answers', () => shareOfSameAnswers(commit, present))
  const ms = seconds * 1_000
  await steps.run('warm-up', () => measureRound(stands, ms * FIRST_WARM_UP_SLICES, 0))
  const seen: Both<Round>[] = []
  for (let round = 0; round < rounds; round++) {
    seen.push(await measureRound(stands, ms, round))
    if ((round + 1) % ROUNDS_NOTED === 0) steps.note(`round ${round + 1} of ${rounds}`)
  }
  const names = Object.keys(seen[0]?.commit ?? {})
  return {
    at: new Date().toISOString(),
    trees,
    passages,
    dimensions,
    seconds,
    seed,
    rounds,
    took_seconds: (performance.now() - began) / 1_000,
    /** Whether both were asked the same questions, and the share of them that both answer with the same passages. */
    same_questions: commit.queries.every(({ text }, at) => text === present.queries[at]?.text),
    same_answers: sameAnswers,
    /** Requests that were not answered, as where other programs leave the gateway too little time. */
    failed: {
      commit: sumOf(seen, (round) => round.commit[FAILED] ?? 0),
      present: sumOf(seen, (round) => round.present[FAILED] ?? 0),
    },
    build_seconds: { commit: commit.buildSeconds, present: present.buildSeconds },
    ratios: names.filter((name) => name !== FAILED).map((name) => ratioOf(name, seen)),
    seen,
  }
}

async function startStand(tree: string, flags: BenchFlags, steps: Steps) {
  const { passages, dimensions, seed } = flags
  const dataDir = `${tree}-data`
  const options: StandOptions = { tree, dataDir, passages, dimensions, seed }
  const node = join(tree, 'node_modules', '.bin', 'node')
  // Of its own: compiled modules are kept by path, and this one is gone afterwards.
  const env = { ...process.env, NODE_COMPILE_CACHE: join(dataDir, 'compiled') }
  const child = fork(STAND, [JSON.stringify(options)], { execPath: node, execArgv: [], env, silent: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exited = once(child, 'exit')
  steps.onStop(async () => {
    if (child.connected) child.disconnect()
    await exited
  })
  const ended = exited.then(() => Promise.reject(new Error(`The bench in ${tree} ended:\n${output.trim()}`)))
  ended.catch(() => undefined)
  const next = async <T>(reply: z.ZodType<T>): Promise<T> => {
    const [message] = z.array(z.unknown()).parse(await Promise.race([once(child, 'message'), ended]))
    return reply.parse(message)
  }
  const { gatewayUrl, bareUrl, key, questions, buildSeconds } = await next(readySchema)
  const full = openFull(gatewayUrl, key)
  const bare = openFull(bareUrl, key)
  const unreadable = openPosts(`${gatewayUrl}/v1/retrieve`, { authorization: `Bearer ${key}` }, 400)
  for (const path of [full, bare, unreadable]) steps.onStop(() => path.close())
  return {
    pid: child.pid ?? 0,
    full,
    bare,
    unreadable: {
      async ask() {
        await unreadable.post(UNREADABLE)
        return { chunkIds: () => [] }
      },
    },
    queries: questions.map((text): Query => ({ text, vector: new Float32Array() })),
    buildSeconds,
    order<T>(order: StandOrder, reply: z.ZodType<T>) {
      child.send(order)
      return next(reply)
    },
  }
}

/** One slice of `ms` of each path of a stand, in the order in which they are measured. */
const SLICES: readonly ((stand: Stand, ms: number, from: number) => Promise<Round>)[] = [
  async ({ order }, ms, from) => {
    await order({ kind: 'search', ms: ms * WARM_UP_SHARE, from }, searchedSchema)
    const search = await order({ kind: 'search', ms, from }, searchedSchema)
    if (search.failure !== undefined) throw new Error(search.failure)
    return {
      'search in the node, a second': perSecond(search),
      'search in the node, CPU ms': search.cpuMs / search.answered,
    }
  },
  async (stand, ms, from) => {
    const { latenciesMs, failed } = await measureFull(stand, { ms, clients: 1, from })
    return { 'full path, 1 client, p50 ms': percentile(latenciesMs, 0.5), [FAILED]: failed }
  },
  async ({ unreadable, queries }, ms, from) => {
    const load = { queries, selectivity: UNFILTERED, clients: 1, from, goesOn: during(ms) }
    const { latenciesMs, failed } = await drive(unreadable, load)
    return { 'unreadable body, 1 client, p50 ms': percentile(latenciesMs, 0.5), [FAILED]: failed }
  },
  async (stand, ms, from) => {
    const full = await measureFull(stand, { ms, clients: MANY_CLIENTS, from })
    const cpu = PARTS.map((part) => [`CPU ms a request: ${part}`, full.cpu[part] / full.answered] as const)
    return {
      [`full path, ${MANY_CLIENTS} clients, a second`]: perSecond(full),
      [`full path, ${MANY_CLIENTS} clients, p50 ms`]: percentile(full.latenciesMs, 0.5),
      [FAILED]: full.failed,
      'CPU ms a request: all of these': sumOf(cpu, ([, each]) => each),
      ...Object.fromEntries(cpu),
    }
  },
  async (stand, ms, from) => {
    const { answered, failed, cpu } = await measureFull(stand, { ms, clients: MANY_CLIENTS, from }, stand.bare)
    return { [BARE]: cpu['bare route'] / answered, [FAILED]: failed }
  },
]

function perSecond({ answered, elapsedMs }: Pick<Load, 'answered' | 'elapsedMs'>): number {
  return (answered * 1_000) / elapsedMs
}

/**
 * Each slice of one tree is beside that of the other, so that other load on the machine affects both; which goes first
 * changes.
 */
async function measureRound(stands: Both<Stand>, ms: number, round: number): Promise<Both<Round>> {
  const seen: Both<Record<string, number>> = { commit: {}, present: {} }
  const turns = round % 2 === 0 ? (['commit', 'present'] as const) : (['present', 'commit'] as const)
  for (const slice of SLICES)
    for (const name of turns)
      for (const [figure, value] of Object.entries(await slice(stands[name], ms, round * QUESTIONS_APART)))
        seen[name][figure] = (seen[name][figure] ?? 0) + value
  return seen
}

async function measureFull(
  { full, queries, pid, order }: Stand,
  { ms, ...asked }: { readonly ms: number; readonly clients: number; readonly from: number },
  path: Pick<MeasuredPath, 'ask'> = full,
): Promise<Load & { readonly cpu: CpuTimes }> {
  const load = { queries, selectivity: UNFILTERED, ...asked }
  await drive(path, { ...load, goesOn: during(ms * WARM_UP_SHARE) })
  await order({ kind: 'settle' }, z.null())
  const before = cpuTimes(pid)
  const driven = await drive(path, { ...load, goesOn: during(ms) })
  // Before the ledger is complete: the queries that wait for it cost Postgres more than it does.
  const cpu = cpuBetween(before, cpuTimes(pid))
  await order({ kind: 'settle' }, z.null())
  return { ...driven, cpu }
}

async function shareOfSameAnswers(commit: Stand, present: Stand): Promise<number> {
  const asked = commit.queries.slice(0, COMPARED_QUESTIONS)
  const ours = await askOnce(present.full, asked, UNFILTERED)
  const theirs = await askOnce(commit.full, asked, UNFILTERED)
  return ours.filter((ids, at) => ids.join(' ') === theirs[at]?.join(' ')).length / asked.length
}

/**
 * This tree's of the commit's: the geometric mean over the rounds, with its 95 % interval; null: not measured. `commit`
 * and `present` are medians.
 */
function ratioOf(name: string, seen: readonly Both<Round>[]) {
  const theirs = seen.map(({ commit }) => commit[name] ?? 0)
  const ours = seen.map(({ present }) => present[name] ?? 0)
  // A part of the service may use less CPU time than the system counts.
  const logs = ours.map((value, at) => Math.log(value / (theirs[at] ?? 0))).filter(Number.isFinite)
  const mean = sumOf(logs, (log) => log) / logs.length
  const freedom = logs.length - 1
  const deviation = Math.sqrt(sumOf(logs, (log) => (log - mean) ** 2) / freedom)
  // Student's t at 0.975, by its expansion of Cornish and Fisher.
  const t = 1.96 + 2.372 / freedom + 2.823 / freedom ** 2 + 2.556 / freedom ** 3
  const half = (t * deviation) / Math.sqrt(logs.length)
  const known = freedom > 0
  return {
    name,
    commit: percentile(theirs, 0.5),
    present: percentile(ours, 0.5),
    ratio: known ? Math.exp(mean) : null,
    low: known ? Math.exp(mean - half) : null,
    high: known ? Math.exp(mean + half) : null,
  }
}

export function againstSection(result: AgainstResult): Section {
  const { passages, dimensions, rounds, took_seconds: took, same_answers: same, build_seconds: build, failed } = result
  const number = (value: number): string => value.toFixed(value >= 100 ? 0 : 2)
  const ofBare = (tree: keyof Both<unknown>): string => {
    const [gateway, bare] = [GATEWAY, BARE].map((name) => result.ratios.find((one) => one.name === name)?.[tree] ?? NaN)
    return number((gateway ?? NaN) / (bare ?? NaN))
  }
  return {
    title: `This tree against ${result.trees.commit}`,
    head: ['figure', 'commit', 'this tree', 'ratio', '95 % interval'],
    rows: result.ratios.map(({ name, commit, present, ratio, low, high }) => [
      name,
      number(commit),
      number(present),
      ratio?.toFixed(3) ?? '–',
      low === null || high === null ? '–' : `${low.toFixed(3)} to ${high.toFixed(3)}`,
    ]),
    lines: [
      `${passages} generated passages × ${dimensions}, ${rounds} rounds by turns, ${took.toFixed(0)} s in all; a ratio is ` +
        "this tree's of the commit's. Requests a second are better where it is above 1, times where it is below.",
      `${(same * 100).toFixed(0)} % of ${COMPARED_QUESTIONS} questions have the same passages in both. The artifact was ` +
        `written in ${build.commit.toFixed(1)} and in ${build.present.toFixed(1)} s. Requests that failed: ` +
        `${failed.commit} and ${failed.present}.`,
      `The gateway takes ${ofBare('commit')} and ${ofBare('present')} times the CPU time of a bare route that checks a ` +
        'digest, runs one script of Redis, inserts and updates one row and returns the same bytes.',
      ...(result.same_questions
        ? []
        : ['The trees were asked DIFFERENT questions: their benches make them otherwise.']),
    ],
  }
}
