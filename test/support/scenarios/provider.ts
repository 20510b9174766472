import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'

const requestSchema = z.object({ model: z.string(), input: z.array(z.string()) })

/** One held call: it has come in and is answered when the test says so. */
export interface HeldCall {
  readonly arrived: Promise<void>
  /** The other side closed the connection before it was answered. */
  readonly hungUp: Promise<void>
  release(): void
}

/**
 * An OpenAI-compatible embeddings endpoint with the local embedder's vectors, which can be slow, hold single calls, and
 * counts overlapping ones.
 */
export interface TestProvider {
  /** For every process of the service. */
  readonly environment: Readonly<Record<string, string>>
  /** Each query then takes this long. Batches of a build are never slowed down. */
  delayMs: number
  /** The most queries that were ever under way at once since the last reset, and how many there were. */
  readonly overlap: { most: number; calls: number }
  resetOverlap(): void
  /**
   * Holds the call for exactly this text. A query that differs in trailing spaces has the same vector and can be held
   * apart.
   */
  hold(query: string): HeldCall
  stop(): Promise<void>
}

interface Hold {
  readonly query: string
  readonly arrive: () => void
  readonly hangUp: () => void
  readonly released: Promise<void>
}

export async function startTestProvider(): Promise<TestProvider> {
  const embedder = createLocalEmbedder()
  const holds = new Set<Hold>()
  const overlap = { most: 0, calls: 0 }
  let underWay = 0
  const provider: TestProvider = {
    environment: {},
    delayMs: 0,
    overlap,
    resetOverlap: () => void Object.assign(overlap, { most: 0, calls: 0 }),
    hold: (query) => {
      const arrived = Promise.withResolvers<void>()
      const hungUp = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      const hold: Hold = { query, arrive: arrived.resolve, hangUp: hungUp.resolve, released: released.promise }
      holds.add(hold)
      const release = (): void => {
        holds.delete(hold)
        released.resolve()
      }
      return { arrived: arrived.promise, hungUp: hungUp.promise, release }
    },
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }

  async function delayQuery(text: string, response: ServerResponse): Promise<void> {
    underWay++
    overlap.calls++
    overlap.most = Math.max(overlap.most, underWay)
    try {
      const hold = [...holds].findLast(({ query }) => query === text)
      if (hold === undefined) return await sleep(provider.delayMs)
      hold.arrive()
      response.once('close', hold.hangUp)
      await hold.released
    } finally {
      underWay--
    }
  }
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { model, input } = requestSchema.parse(JSON.parse(Buffer.concat(chunks).toString()))
    const { vectors } = await embedder.embed(input, 'passage', new AbortController().signal)
    const [text] = input
    if (input.length === 1 && text !== undefined) await delayQuery(text, response)
    const reply = {
      object: 'list',
      model,
      data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: [...vector] })),
      usage: { prompt_tokens: input.length, total_tokens: input.length },
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(reply))
  }
  const server = createServer((request, response) => {
    response.on('error', () => undefined)
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const environment = {
    OPENAI_BASE_URL: `http://127.0.0.1:${port}`,
    OPENAI_API_KEY: 'test',
    OPENAI_MODEL: 'test-embedding',
    OPENAI_DIMENSIONS: String(embedder.space.dimensions),
    OPENAI_TIMEOUT_MS: '9000',
  }
  return Object.assign(provider, { environment })
}
