import { fileURLToPath } from 'node:url'
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { z } from 'zod'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/** The command as a user starts it. */
export interface LoadCommand {
  readonly pid: number
  /** What it has printed so far. */
  output(): string
  readonly code: Promise<number | null>
}

export function startLoadCommand(args: readonly string[]): LoadCommand {
  const child = spawn(process.execPath, ['test/load/main.ts', ...args], { cwd: ROOT })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  return {
    pid: child.pid ?? 0,
    output: () => output,
    code: new Promise((resolve) => child.once('close', resolve)),
  }
}

const reportSchema = z.object({
  mode: z.string(),
  seed: z.number(),
  interrupted: z.boolean(),
  left_out: z.array(z.string()),
  scenarios: z.array(
    z.object({
      name: z.string(),
      phases: z.array(
        z.object({
          phase: z.string(),
          requests: z.number(),
          goodput_per_second: z.number(),
          outcomes: z.array(z.object({ outcome: z.string(), requests: z.number(), latency_ms: z.array(z.number()) })),
          cpu_ms_a_request: z.record(z.string(), z.number()).nullable(),
        }),
      ),
      checks: z.array(
        z.object({
          name: z.string(),
          checked: z.number(),
          violations: z.number(),
          examples: z.array(z.object({ message: z.string() })),
        }),
      ),
      series: z.array(z.object({ name: z.string(), cap: z.number() })),
    }),
  ),
})
export type ReadReport = z.infer<typeof reportSchema>

/** The JSON that a run wrote. */
export function readReport(file: string): ReadReport {
  return reportSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
}

/** Facts that each check had in the whole run. */
export function checkedIn({ scenarios }: ReadReport): Readonly<Record<string, number>> {
  const sums: Record<string, number> = {}
  for (const { name, checked } of scenarios.flatMap(({ checks }) => checks)) sums[name] = (sums[name] ?? 0) + checked
  return sums
}

/** What violates a check, in words. */
export function violationsIn({ scenarios }: ReadReport): readonly string[] {
  return scenarios.flatMap(({ checks }) =>
    checks.flatMap(({ name, examples }) => examples.map(({ message }) => `${name}: ${message}`)),
  )
}
