import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startService } from '#operator/demo/local/processes.ts'
import type { Steps } from '#operator/demo/steps.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'
import type { BenchArtifact } from './artifact.ts'
import type { Selectivity } from './corpus.ts'
import { writeQuestions } from './installation.ts'
import { openPosts, questionOf, resultsIn, type MeasuredPath } from './paths.ts'
import type { Query } from './source.ts'

/** The compared package. It is not a dependency of the project; only this measurement installs it. */
const PACKAGES = ['@lancedb/lancedb@0.39.0', 'apache-arrow@18.1.0'] as const
const BUILD_TIMEOUT_MS = 1_800_000

export type Lance = Awaited<ReturnType<typeof startLance>>

/** The same passages, questions and filters, asked of LanceDB's hybrid query behind a bare Fastify route. */
export async function startLance(
  { dataDir, artifact, queries }: { dataDir: string; artifact: BenchArtifact; queries: readonly Query[] },
  steps: Steps,
) {
  const modules = await steps.run('LanceDB', async () => installed(dataDir))
  const questions = join(dataDir, 'lancedb', 'questions.json')
  writeQuestions(questions, queries)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const service = await steps.run("LanceDB's table and indices", () =>
    startService({
      name: 'LanceDB',
      script: fileURLToPath(new URL('./lance-server.ts', import.meta.url)),
      args: [modules, artifact.folder, join(dataDir, 'lancedb', artifact.versionId), questions, String(port)],
      // Otherwise it writes two warnings of its own for every search.
      environment: { RUST_LOG: 'error' },
      logFile: join(dataDir, 'logs', 'lancedb.log'),
      ready: async () => (await fetch(`${url}/ready`)).ok,
      startTimeoutMs: BUILD_TIMEOUT_MS,
    }),
  )
  steps.watch(service)
  const posts = openPosts(`${url}/search`)
  const path: MeasuredPath = {
    name: 'lance',
    async ask(query, selectivity) {
      const reply = await posts.post(questionOf(query, selectivity))
      return { chunkIds: () => resultsIn(reply).map(({ chunk_id: id }) => id) }
    },
    close: posts.close,
  }
  /** Rows that its vector index finds, of each question. */
  async function nearest(asked: readonly Query[], selectivity: Selectivity): Promise<readonly (readonly number[])[]> {
    const found: (readonly number[])[] = []
    for (const query of asked) {
      const reply = await posts.post({ ...questionOf(query, selectivity), vectors_alone: true })
      found.push(resultsIn(reply).flatMap(({ row }) => row ?? []))
    }
    return found
  }
  return { path, nearest }
}

/** @returns the folder of packages. @throws Error with what to do where they cannot be installed. */
function installed(dataDir: string): string {
  const folder = join(dataDir, 'lancedb', PACKAGES.join('+').replaceAll('/', '-'))
  const modules = join(folder, 'node_modules')
  if (existsSync(join(folder, 'complete'))) return modules
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n')
  const options = ['--no-save', '--no-audit', '--no-fund', '--loglevel=error']
  const { status } = spawnSync('npm', ['install', ...options, ...PACKAGES], { cwd: folder, stdio: 'ignore' })
  if (status !== 0)
    throw new Error(
      `LanceDB cannot be installed: run "npm install ${PACKAGES.join(' ')}" in ${folder} to see why, ` +
        'or leave --lancedb out.',
    )
  writeFileSync(join(folder, 'complete'), '')
  return modules
}
