import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import type { ServiceAccess } from '#test/support/caller.ts'
import { startProvider } from '#test/support/embedding-faults.ts'
import { startReaderEndpoint } from '#test/support/reader-endpoint.ts'
import { startTestService } from '#test/support/service.ts'
import { MIXED_KNOWLEDGE_BASE, writeMixedCorpus } from './mixed-corpus.ts'

export interface SharedService extends ServiceAccess {
  /** Of the embedding provider that the mixed knowledge base was built with. */
  readonly providerUrl: string
  readonly providerTokens: number
  readonly readerUrl: string
  readonly readerTimeoutMs: number
}

declare module 'vitest' {
  export interface ProvidedContext {
    service: SharedService
  }
}

/**
 * Short, so that a test of a provider that hangs is short; long enough for a loaded machine to answer in, and for what
 * a test does while a request is held.
 */
const PROVIDER_TIMEOUT_MS = 5_000
const READER_TIMEOUT_MS = 2_000

/** One service for all contract tests; each test creates its own callers, so tests are independent. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const provider = await startProvider()
  const reader = await startReaderEndpoint()
  const running: { stop(): Promise<void> }[] = [provider, reader]
  const teardown = async (): Promise<void> => {
    for (const part of running.toReversed()) await part.stop()
  }
  try {
    const service = await startTestService({
      searchNodes: 2,
      servers: project.getProvidedContext().servers,
      environment: {
        OPENAI_BASE_URL: provider.baseUrl,
        OPENAI_API_KEY: 'a-key-of-the-test-provider',
        OPENAI_TIMEOUT_MS: String(PROVIDER_TIMEOUT_MS),
        REWRITER_BASE_URL: reader.baseUrl,
        REWRITER_API_KEY: 'a-key-of-the-test-rewriter',
        READER_BASE_URL: reader.baseUrl,
        READER_API_KEY: 'a-key-of-the-test-reader',
        READER_TIMEOUT_MS: String(READER_TIMEOUT_MS),
        LOG_LEVEL: 'debug',
      },
    })
    running.push(service)
    const source = writeMixedCorpus(join(service.settings.folder, 'mixed'))
    await service.publish({
      knowledgeBase: MIXED_KNOWLEDGE_BASE,
      title: 'Mixed',
      source,
      mappingFile: undefined,
      questionsFile: undefined,
      embedding: 'openai',
    })
    project.provide('service', {
      ...service.access(),
      providerUrl: provider.baseUrl,
      providerTokens: provider.tokensPerText,
      readerUrl: reader.baseUrl,
      readerTimeoutMs: READER_TIMEOUT_MS,
    })
    return teardown
  } catch (error) {
    await teardown()
    throw error
  }
}
