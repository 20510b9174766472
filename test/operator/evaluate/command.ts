import { spawn } from 'node:child_process'
import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COMPILE_CACHE, WITH_FEW_QUERIES } from '#test/support/processes.ts'

const PROGRAM = fileURLToPath(new URL('../../../operator/evaluate/main.ts', import.meta.url))

export const TOPICS = [
  'anchorage',
  'ballast',
  'cargo',
  'dredging',
  'embargo',
  'ferry',
  'grounding',
  'icebreaker',
  'helmsman',
  'jetty',
] as const
export const DUTIES = ['fees', 'inspection', 'insurance', 'lighting', 'records'] as const

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Starts the command with temporary files below the folder. @param nodeOptions undefined: of every process. */
export function start(folder: string, args: readonly string[], nodeOptions: string = WITH_FEW_QUERIES) {
  const temporary = join(folder, 'temporary')
  mkdirSync(temporary, { recursive: true })
  // No variable of a service: no Postgres, no Redis, no keys.
  const child = spawn(process.execPath, [PROGRAM, '--data-dir', temporary, ...args], {
    env: { NODE_COMPILE_CACHE: COMPILE_CACHE, NODE_OPTIONS: nodeOptions },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, stdout, stderr })))
  return { child, ended, said: () => stderr }
}

/** Names of temporary files. */
export function left(folder: string): readonly string[] {
  return readdirSync(join(folder, 'temporary'))
}
