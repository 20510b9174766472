import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { z } from 'zod'

/**
 * `npm test`: every check of the project in order, up to the first that fails.
 *
 *   npm test                          everything
 *   npm test -- --only types,lint     some steps
 *   npm test -- test/core             test files whose path contains this
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

const USAGE = `Usage: npm test -- [--only ${STEPS.join(',')}] [path …]`

const vitestResultSchema = z.object({
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  numPendingTests: z.int(),
  success: z.boolean(),
})

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
function runProgram([program, ...args]: readonly [string, ...string[]], show: boolean): Promise<Outcome> {
  const began = performance.now()
  const output: Buffer[] = []
  const child = spawn(process.execPath, [join(ROOT, 'node_modules', '.bin', program), ...args], {
    cwd: ROOT,
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

interface TestOutcome {
  readonly holds: boolean
  /** How many passed and failed, where the runner got as far as counting. */
  readonly summary?: string
}

async function runTests(filters: readonly string[]): Promise<TestOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'evidence-results-'))
  try {
    const resultFile = join(folder, 'results.json')
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${resultFile}`]
    const { code, seconds } = await runProgram(
      ['vitest', 'run', '--config', 'test/vitest.config.ts', ...reporters, ...filters],
      true,
    )
    const result = vitestResultSchema.safeParse(readResult(resultFile))
    process.stdout.write(`${code === 0 ? 'ok  ' : 'FAIL'} tests (${seconds} s)\n`)
    if (!result.success) return { holds: false }
    const { numPassedTests, numFailedTests, numPendingTests, success } = result.data
    return {
      holds: code === 0 && success && numPendingTests === 0,
      summary: `Tests: ${numPassedTests} passed, ${numFailedTests} failed`,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readResult(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

function readArguments(): { readonly steps: readonly string[]; readonly filters: readonly string[] } | undefined {
  try {
    const { values, positionals } = parseArgs({ options: { only: { type: 'string' } }, allowPositionals: true })
    const steps = values.only?.split(',') ?? (positionals.length > 0 ? ['tests'] : STEPS)
    return steps.every((step) => STEPS.includes(step)) ? { steps, filters: positionals } : undefined
  } catch {
    return undefined
  }
}

/** Forwards the signal to the running programs and lets them clean up; starts nothing further. */
function stopAll(signal: 'SIGINT' | 'SIGTERM'): void {
  stopping = true
  for (const child of running) child.kill(signal)
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
    checks && !stopping && given.steps.includes('tests') ? await runTests(given.filters) : { holds: checks }
  const holds = tests.holds && !stopping
  process.stdout.write(
    `${holds ? 'All checks hold' : 'A check failed'} after ${((performance.now() - began) / 1000).toFixed(0)} s.\n`,
  )
  if (tests.summary !== undefined) process.stdout.write(`${tests.summary}\n`)
  return holds ? 0 : 1
}

process.exitCode = await main()
if (process.connected) process.disconnect()
