import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'
import { startService } from '#operator/demo/local/processes.ts'
import type { LocalService } from '#operator/demo/local/processes.ts'
import { freePort } from '#operator/demo/local/supervised-process.ts'

const MODEL = 'load'

export interface LocalProvider extends LocalService {
  readonly baseUrl: string
  /** For every process of the service. */
  readonly environment: Readonly<Record<string, string>>
}

/** @param folder of its log. */
export async function startProvider(folder: string): Promise<LocalProvider> {
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}/v1`
  const service = await startService({
    name: 'provider',
    script: fileURLToPath(new URL('./provider.ts', import.meta.url)),
    args: [String(port)],
    environment: {},
    logFile: join(folder, 'logs', 'provider.log'),
    ready: async () =>
      (await fetch(`${baseUrl}/embeddings`, { method: 'POST', body: JSON.stringify({ input: 'ready' }) })).ok,
  })
  const environment = {
    OPENAI_BASE_URL: baseUrl,
    OPENAI_API_KEY: 'load',
    OPENAI_MODEL: MODEL,
    OPENAI_DIMENSIONS: String(createLocalEmbedder().space.dimensions),
    OPENAI_TIMEOUT_MS: '9000',
  }
  return { ...service, baseUrl, environment }
}
