import { spawn, type ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'

/**
 * Every check of the project in order, up to the first that fails.
 *
 *   npm test                          static checks, tests of parts, and the contract's suite
 *   npm test -- --only types,lint     some steps
 *   npm test -- test/core             test files whose path contains this
 *   npm run test:all                  every test; those of OpenSearch need a JDK and Maven
 *   npm run test:soak -- --rounds 20  tests of parts and services, each round with another seed
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const STATIC_CHECKS = {
  types: ['tsc', '--noEmit', '-p', '.'],
  lint: ['oxlint', '--deny-warnings', '--report-unused-disable-directives-severity', 'error'],
  format: ['oxfmt', '--check'],
  unused: ['knip', '--no-progress', '--no-config-hints'],
} as const
type StaticCheck = keyof typeof STATIC_CHECKS
const CHECKS: readonly StaticCheck[] = ['types', 'lint', 'format', 'unused']
const STEPS: readonly string[] = [...CHECKS, 'tests']
/** Projects of `vitest.config.ts`. */
const SUITES = {
  default: [['parts', 'contract']],
  soak: [['parts', 'long', 'services', 'contract']],
  all: [['parts', 'long', 'services', 'contract'], ['tools', 'objects'], ['engine']],
} as const satisfies Readonly<Record<string, readonly (readonly string[])[]>>
type Suite = keyof typeof SUITES
const isSuite = (name: string): name is Suite => Object.hasOwn(SUITES, name)
const ROUNDS_MAX = 10_000

const USAGE = `Usage: npm test -- [--only ${STEPS.join(',')}] [path …]
       npm run test:all
       npm run test:soak -- [--rounds N] [path …]`

const vitestResultSchema = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  success: z.boolean(),
  testResults: z.array(z.object({ name: z.string(), status: z.string() })),
})
/** Files that may fail among others and pass alone; more of them is no accident of a busy machine. */
const REPEATED_MAX = 5

interface Outcome {
  readonly code: number
  readonly output: string
  readonly seconds: string
}

const running = new Set<ChildProcess>()
let stopping = false

/**
 * Runs a program of the development packages under this Node. With `show`, its output goes straight to the terminal.
 */
function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  show: boolean,
  variables: Readonly<Record<string, string>> = {},
): Promise<Outcome> {
  const began = performance.now()
  const output: Buffer[] = []
  const child = spawn(process.execPath, [join(ROOT, 'node_modules', '.bin', program), ...args], {
    cwd: ROOT,
    env: { ...process.env, ...variables },
    stdio: ['ignore', show ? 'inherit' : 'pipe', show ? 'inherit' : 'pipe'],
  })
  running.add(child)
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => output.push(chunk))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => {
      running.delete(child)
      resolve({
        code: code ?? 1,
        output: Buffer.concat(output).toString('utf8'),
        seconds: ((performance.now() - began) / 1000).toFixed(1),
      })
    })
  })
}

/** The checks without side effects run side by side; the first in order that failed is shown in full. */
async function runStaticChecks(steps: readonly string[]): Promise<boolean> {
  const chosen = CHECKS.filter((name) => steps.includes(name))
  const outcomes = chosen.map((name) => ({ name, outcome: runProgram(STATIC_CHECKS[name], false) }))
  let holds = true
  for (const { name, outcome } of outcomes) {
    const { code, output, seconds } = await outcome
    process.stdout.write(`${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)\n`)
    if (code !== 0 && holds) process.stdout.write(output)
    if (code !== 0) holds = false
  }
  return holds
}

interface TestRun {
  readonly projects: readonly string[]
  /** Parts of paths; none: every file. */
  readonly filters: readonly string[]
  /** Of every random draw; undefined: the fixed one. */
  readonly seed?: number
  /** One file after the other. */
  readonly alone?: boolean
}

interface TestOutcome {
  readonly holds: boolean
  /** Where the runner got as far as counting. */
  readonly passed?: number
  readonly failed?: number
  readonly failedFiles?: readonly string[]
}

async function runTests({ projects, filters, seed, alone = false }: TestRun): Promise<TestOutcome> {
  if (seed !== undefined) process.stdout.write(`FC_SEED=${seed} repeats this round.\n`)
  const folder = mkdtempSync(join(tmpdir(), 'evidence-results-'))
  using ending = new DisposableStack()
  ending.defer(() => rmSync(folder, { recursive: true, force: true }))
  const resultFile = join(folder, 'results.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${resultFile}`]
  const { code, seconds } = await runProgram(
    [
      'vitest',
      'run',
      '--config',
      'test/vitest.config.ts',
      ...projects.map((name) => `--project=${name}`),
      ...(alone ? ['--maxWorkers=1'] : []),
      ...reporters,
      ...filters,
    ],
    true,
    seed === undefined ? {} : { FC_SEED: String(seed) },
  )
  const result = vitestResultSchema.safeParse(readResult(resultFile))
  process.stdout.write(`${code === 0 ? 'ok  ' : 'FAIL'} tests (${seconds} s)\n`)
  if (!result.success) return { holds: false }
  const { numPassedTests, numFailedTests, numPendingTests, success, testResults } = result.data
  return {
    failedFiles: testResults.filter(({ status }) => status === 'failed').map(({ name }) => name),
    holds: code === 0 && success && numPendingTests === 0,
    passed: numPassedTests,
    failed: numFailedTests,
  }
}

function readResult(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

type Invocation = NonNullable<ReturnType<typeof readArguments>>

function readArguments() {
  try {
    const { values, positionals: filters } = parseArgs({
      options: { only: { type: 'string' }, suite: { type: 'string' }, rounds: { type: 'string' } },
      allowPositionals: true,
    })
    const { only, suite = 'default', rounds = '1' } = values
    const steps = only?.split(',') ?? (filters.length > 0 || suite !== 'default' ? ['tests'] : STEPS)
    const count = Number(rounds)
    if (!isSuite(suite) || !steps.every((step) => STEPS.includes(step))) return undefined
    if (!Number.isInteger(count) || count < 1 || count > ROUNDS_MAX) return undefined
    // Rounds of tests, each with a seed of its own; undefined: one with the fixed seed.
    return { suite, steps, filters, rounds: suite === 'soak' ? count : undefined }
  } catch {
    return undefined
  }
}

/**
 * Runs the tests, and those few files that fail once more, one after the other: a machine that is too busy is told from
 * a defect, and a file that passes only alone is named.
 */
async function runTestsRepeating(run: TestRun): Promise<TestOutcome> {
  const first = await runTests(run)
  const { passed = 0, failed = 0, failedFiles: filters = [] } = first
  if (first.holds || stopping || filters.length === 0 || filters.length > REPEATED_MAX) return first
  process.stdout.write(`${failed} failed. Run once more, alone: ${filters.join(', ')}\n`)
  const { holds } = await runTests({ ...run, filters, alone: true })
  if (!holds) return first
  process.stdout.write(`Passed only alone: ${filters.join(', ')}\n`)
  return { holds, passed: passed + failed, failed: 0 }
}

/** Runs the tests once, or round by round up to the first that fails. */
async function runRounds({ suite, filters, rounds }: Invocation): Promise<TestOutcome> {
  // A path may name a test of any project.
  if (filters.length > 0) return await runTests({ projects: [], filters })
  let outcome: TestOutcome = { holds: true }
  if (rounds === undefined) {
    for (const projects of SUITES[suite]) {
      const lacks = isEngine(projects) ? await engineLacks() : undefined
      if (lacks !== undefined) process.stdout.write(`The tests of OpenSearch are NOT run on this machine. ${lacks}\n`)
      else outcome = await runTestsRepeating({ projects, filters })
      if (!outcome.holds || stopping) break
    }
    return outcome
  }
  const projects = SUITES[suite].flat()
  for (let round = 1; round <= rounds && outcome.holds; round++) {
    process.stdout.write(`Round ${round} of ${rounds}. `)
    outcome = await runTests({ projects, filters, seed: randomInt(2 ** 31) })
    if (stopping) break
  }
  return outcome
}

/** Forwards the signal to the running programs and lets them clean up; starts nothing further. */
function stopAll(signal: 'SIGINT' | 'SIGTERM'): void {
  stopping = true
  for (const child of running) child.kill(signal)
}

const isEngine = (projects: readonly string[]): boolean => projects.includes('engine')

/** @returns what this machine lacks for a cluster. */
async function engineLacks(): Promise<string | undefined> {
  const { clusterLacks } = await import('#operator/demo/local/opensearch/start.ts')
  return clusterLacks()
}

async function main(): Promise<number> {
  const given = readArguments()
  if (given === undefined) {
    process.stderr.write(`${USAGE}\n`)
    return 2
  }
  process.on('SIGINT', () => stopAll('SIGINT'))
  process.on('SIGTERM', () => stopAll('SIGTERM'))
  if (process.send !== undefined) process.on('disconnect', () => stopAll('SIGTERM'))
  const began = performance.now()
  const checks = await runStaticChecks(given.steps)
  const tests: TestOutcome =
    checks && !stopping && given.steps.includes('tests') ? await runRounds(given) : { holds: checks }
  const holds = tests.holds && !stopping
  process.stdout.write(
    `${holds ? 'All checks hold' : 'A check failed'} after ${((performance.now() - began) / 1000).toFixed(0)} s.\n`,
  )
  const { passed, failed = 0 } = tests
  if (passed !== undefined) process.stdout.write(`Tests: ${passed} passed, ${failed} failed\n`)
  return holds ? 0 : 1
}

process.exitCode = await main()
if (process.connected) process.disconnect()
