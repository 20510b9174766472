import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddingEndpoint, vectorsByWords } from '#test/support/embedding-endpoint.ts'

/** An embedding provider with vectors by words, whose queries a scenario can slow down and fail. */
export interface Provider {
  /** Of a query; batches of a build are never slowed down. */
  latencyMs: number
  /** Every query fails, so an admitted request is refunded. */
  failing: boolean
  /** For every process of the service. */
  readonly environment: Readonly<Record<string, string>>
  stop(): Promise<void>
}

export async function startProvider(): Promise<Provider> {
  const { vectorsOf } = vectorsByWords()
  const kept = new Map<string, ReturnType<typeof vectorsOf>>()
  const endpoint = await startEmbeddingEndpoint({
    vectorsOf: (texts, dimensions) => {
      const vectors = kept.get(texts.join('\n')) ?? vectorsOf(texts, dimensions)
      if (texts.length === 1) kept.set(texts.join('\n'), vectors)
      return vectors
    },
    gate: async ({ input }) => {
      if (input.length > 1) return undefined
      await sleep(provider.latencyMs)
      return provider.failing ? 400 : undefined
    },
  })
  const provider: Provider = {
    latencyMs: 0,
    failing: false,
    environment: {
      OPENAI_BASE_URL: endpoint.baseUrl,
      OPENAI_API_KEY: 'load',
      OPENAI_TIMEOUT_MS: '9000',
    },
    stop: endpoint.stop,
  }
  return provider
}
