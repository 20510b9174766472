import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { parsedJson } from '#core/platform/json.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { withTimeout } from '#core/platform/with-timeout.ts'
import { SEARCH_NODE_OPTIONS } from '#jobs/command-line/node-options.ts'
import { openSearchNodeClient } from '#core/rpc/search-client.ts'
import type { SearchNodeClient } from '#core/rpc/search-client.ts'
import { clientCredentials } from '#core/rpc/transport.ts'

const START_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 5_000
const LINES_KEPT = 5

const PROGRAM = fileURLToPath(new URL('../../../search-node/main.ts', import.meta.url))
const PLAINTEXT = {
  SEARCH_TLS_CA: undefined,
  SEARCH_TLS_CERT: undefined,
  SEARCH_TLS_KEY: undefined,
  SEARCH_PLAINTEXT: 'refuse',
} as const

const listeningSchema = z.object({ event: z.literal('listening'), port: z.int() })

export interface NodeProcess {
  readonly client: SearchNodeClient
  /** Aborted when the process ends without `stop`. */
  readonly ended: AbortSignal
  stop(): Promise<void>
}

/**
 * Starts a search node as in production, in its own process on a free port of loopback. It ends when this process ends.
 * @param storeUrl the artifact store, a `file:` URL.
 * @param publicKeyDer the key that verifies manifests.
 * @throws OperatorError when the node does not start.
 */
export async function startNodeProcess(storeUrl: string, publicKeyDer: Buffer): Promise<NodeProcess> {
  const child = fork(PROGRAM, [], {
    execArgv: [...SEARCH_NODE_OPTIONS],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // A Ctrl-C of the terminal reaches only this process, which then stops the node.
    detached: true,
    env: {
      ARTIFACT_STORE: storeUrl,
      MANIFEST_PUBLIC_KEY: publicKeyDer.toString('base64'),
      SEARCH_LISTEN: '127.0.0.1:0',
      DRAIN_MS: '0',
    },
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const lines = lastLinesOf(child)
  const failure = (): Error =>
    new OperatorError(`The search node ended (${child.signalCode ?? `code ${child.exitCode}`}): ${lines().join(' ')}`)
  const unasked = new AbortController()
  let stopping = false
  void exited.then(() => (stopping ? undefined : unasked.abort(failure())))
  async function end(): Promise<void> {
    stopping = true
    await stopChild(child, exited)
  }
  try {
    const port = await portOf(child, exited, failure)
    const address = `127.0.0.1:${port}`
    const client = openSearchNodeClient(address, clientCredentials(address, PLAINTEXT))
    return {
      client,
      ended: unasked.signal,
      async stop() {
        client.close()
        await end()
      },
    }
  } catch (error) {
    await end()
    throw error
  }
}

/** Returns the port from the node's log. */
async function portOf(child: ChildProcess, exited: Promise<void>, failure: () => Error): Promise<number> {
  const listening = new Promise<number>((resolve) => {
    if (child.stdout === null) return
    createInterface({ input: child.stdout }).on('line', (line) => {
      const parsed = listeningSchema.safeParse(parsedJson(line))
      if (parsed.success) resolve(parsed.data.port)
    })
  })
  const gone = exited.then((): never => {
    throw failure()
  })
  const late = new OperatorError(`The search node was not ready after ${START_TIMEOUT_MS / 1_000} s: try again.`)
  return withTimeout(START_TIMEOUT_MS, late, Promise.race([listening, gone]))
}

/** Collects the node's last lines on standard error. */
function lastLinesOf(child: ChildProcess): () => readonly string[] {
  let kept: string[] = []
  if (child.stderr !== null)
    createInterface({ input: child.stderr }).on(
      'line',
      (line) => (kept = [...kept, line.slice(0, 500)].slice(-LINES_KEPT)),
    )
  return () => kept
}

async function stopChild(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.kill('SIGTERM')
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await exited
  clearTimeout(timer)
}
