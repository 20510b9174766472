import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Database } from '#core/db/pool.ts'
import { startService } from '#operator/demo/local/processes.ts'
import { startGateway, startJobs, startSearchNode } from '#operator/demo/local/stack.ts'
import type { DemoState } from '#operator/demo/state.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import { startOwnServers } from '#test/support/own-servers.ts'
import type { Query } from './source.ts'

export type Installation = Awaited<ReturnType<typeof install>>

interface InstallationOptions {
  readonly dataDir: string
  readonly dimensions: number
  readonly state: DemoState
  readonly queries: readonly Query[]
}

/** The whole service on this machine: every process real, database and Redis new in each run. */
export async function install(options: InstallationOptions, steps: Steps) {
  const folder = resolve(options.dataDir)
  mkdirSync(folder, { recursive: true })
  const serversFolder = mkdtempSync(join(folder, 'servers-'))
  steps.onStop(async () => rmSync(serversFolder, { recursive: true, force: true }))
  const provider = await steps.run('embedding provider', () => startProvider(options, serversFolder))
  steps.watch(provider)
  const environment = { OPENAI_BASE_URL: provider.baseUrl, OPENAI_API_KEY: 'bench' }
  const { secrets } = options.state
  const servers = await startOwnServers({ name: 'bench', folder, serversFolder, secrets, environment }, steps)
  const { settings } = servers
  const searchNode = await steps.run('search node', () => startSearchNode(settings))
  steps.watch(searchNode)
  steps.watch(await steps.run('job worker', () => startJobs(settings, [searchNode.address])))
  const gateway = await steps.run('gateway', () => startGateway(settings, [searchNode.address]))
  steps.watch(gateway)
  return { ...servers, searchNode, gateway }
}

/** What a process reads that knows the vectors of all questions. */
export function writeQuestions(file: string, queries: readonly Query[]): void {
  const encoded = (vector: Float32Array): string => Buffer.from(vector.buffer).toString('base64')
  writeFileSync(file, JSON.stringify(queries.map(({ text, vector }) => ({ text, vector: encoded(vector) }))))
}

async function startProvider({ queries, dataDir }: InstallationOptions, folder: string) {
  const questions = join(folder, 'questions.json')
  writeQuestions(questions, queries)
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}/v1`
  const body = JSON.stringify({ input: queries[0]?.text ?? '' })
  const service = await startService({
    name: 'provider',
    script: fileURLToPath(new URL('./provider.ts', import.meta.url)),
    args: [questions, String(port)],
    environment: {},
    logFile: join(resolve(dataDir), 'logs', 'provider.log'),
    ready: async () => (await fetch(`${baseUrl}/embeddings`, { method: 'POST', body })).ok,
  })
  return { ...service, baseUrl }
}

/** The server's own values of the settings that make an acknowledged commit durable. @throws Error when one is off. */
export async function assertDurable(owner: Database): Promise<Readonly<Record<string, string>>> {
  const settings: Record<string, string> = {}
  for (const name of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    const { rows } = await owner.query<Record<string, string>>(`show ${name}`)
    settings[name] = rows[0]?.[name] ?? ''
    if (settings[name] !== 'on')
      throw new Error(`Postgres runs with ${name} ${settings[name]}: the benchmark counts only durable commits.`)
  }
  return settings
}
