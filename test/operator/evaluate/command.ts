import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COMPILE_CACHE, WITH_FEW_QUERIES, startProgram } from '#test/support/processes.ts'

const PROGRAM = fileURLToPath(new URL('../../../operator/evaluate/main.ts', import.meta.url))

export const TOPICS = 'anchorage ballast cargo dredging embargo ferry grounding icebreaker helmsman jetty'.split(' ')
export const DUTIES = ['fees', 'inspection', 'insurance', 'lighting', 'records'] as const

/** Starts the command with temporary files below the folder. @param nodeOptions undefined: of every process. */
export function start(folder: string, args: readonly string[], nodeOptions: string = WITH_FEW_QUERIES) {
  const temporary = join(folder, 'temporary')
  mkdirSync(temporary, { recursive: true })
  // No variable of a service: no Postgres, no Redis, no keys.
  const env = { NODE_COMPILE_CACHE: COMPILE_CACHE, NODE_OPTIONS: nodeOptions }
  const { child, said, ended } = startProgram([PROGRAM, '--data-dir', temporary, ...args], env)
  return {
    child,
    said: () => said.stderr,
    ended: ended.then((code) => ({ code, stdout: said.stdout, stderr: said.stderr })),
  }
}

/** Names of temporary files. */
export function left(folder: string): readonly string[] {
  return readdirSync(join(folder, 'temporary'))
}
