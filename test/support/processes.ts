import { spawn } from 'node:child_process'
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * For NODE_COMPILE_CACHE of the processes that tests start: a start is half of what a short process costs. It is the
 * folder that the bootstrap uses.
 */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url))

/** NODE_OPTIONS of a process that builds or evaluates, where its subject is not the recall under filters. */
export const WITH_FEW_QUERIES = `--import=${new URL('./few-queries.ts', import.meta.url).href}`

/**
 * Gives every importer of a module another one, which may itself import the original. For modules that a test has a
 * service load before its `main.ts` (`node --import`): the service is the real one, with one part replaced.
 */
export function replaceModule(original: URL, replacement: URL): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context)
      return resolved.url === original.href && context.parentURL !== replacement.href
        ? { ...resolved, url: replacement.href }
        : resolved
    },
  })
}

/** Starts a program of the repository as a process. */
export function startProgram(args: readonly string[], env: NodeJS.ProcessEnv) {
  const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
  /** So far. */
  const said = { stdout: '', stderr: '', both: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      said[name] += text
      said.both += text
    })
  /** With its exit code; null if a signal ended it. */
  const ended = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  return { child, said, ended }
}

/** Runs a program of the repository to its end. @param variables beyond those of `base`. */
export async function runScript(
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
  base: NodeJS.ProcessEnv = process.env,
) {
  const { said, ended } = startProgram(args, { ...base, ...variables })
  return { code: await ended, output: said.both }
}

/** Whether a process exists, including processes that are not children. */
export function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** CPU time that synchronous work takes. Unlike elapsed time, it does not grow with the load of the machine. */
export function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
