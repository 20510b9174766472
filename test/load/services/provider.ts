import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'

/**
 * An OpenAI-compatible embeddings endpoint in a process of its own, with the local embedder's vectors. `PUT /behaviour`
 * sets how queries are answered; batches of a build are never slowed down. node test/load/services/provider.ts <port>
 */
const requestSchema = z.object({
  input: z.union([z.string().transform((text) => [text]), z.array(z.string()).min(1)]),
  encoding_format: z.enum(['float', 'base64']).default('float'),
})
/** Texts whose vector is kept; the scenarios have fewer questions. */
const VECTORS_KEPT_MAX = 2_000

const embedder = createLocalEmbedder()
const vectors = new Map<string, Buffer>()
/** How queries are answered. */
const behaviourSchema = z.strictObject({
  latencyMs: z.number().min(0),
  /** Every query fails, so an admitted request is refunded. */
  failing: z.boolean(),
})
let behaviour: z.infer<typeof behaviourSchema> = { latencyMs: 0, failing: false }

async function vectorsOf(texts: readonly string[]): Promise<readonly Buffer[]> {
  const missing = texts.filter((text) => !vectors.has(text))
  if (missing.length > 0) {
    const made = await embedder.embed(missing, 'passage', new AbortController().signal)
    if (vectors.size + missing.length > VECTORS_KEPT_MAX) vectors.clear()
    for (const [n, text] of missing.entries())
      vectors.set(text, Buffer.from(new Float32Array(made.vectors[n] ?? []).buffer))
  }
  return texts.map((text) => vectors.get(text) ?? Buffer.alloc(0))
}

function encoded(vector: Buffer, format: 'float' | 'base64'): string | readonly number[] {
  return format === 'base64'
    ? vector.toString('base64')
    : [...new Float32Array(vector.buffer, vector.byteOffset, vector.length / Float32Array.BYTES_PER_ELEMENT)]
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(z.instanceof(Buffer).parse(chunk))
  const body: unknown = JSON.parse(Buffer.concat(chunks).toString())
  if (request.method === 'PUT') {
    behaviour = behaviourSchema.parse(body)
    response.writeHead(204).end()
    return
  }
  const { input, encoding_format: format } = requestSchema.parse(body)
  const made = await vectorsOf(input)
  if (input.length === 1) await sleep(behaviour.latencyMs)
  if (input.length === 1 && behaviour.failing) {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":{"message":"failing"}}')
    return
  }
  const reply = JSON.stringify({
    object: 'list',
    model: 'load',
    data: made.map((vector, index) => ({ object: 'embedding', index, embedding: encoded(vector, format) })),
    usage: { prompt_tokens: input.length, total_tokens: input.length },
  })
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(reply) }).end(reply)
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  response.on('error', () => undefined)
  answer(request, response).catch(() => response.destroy())
})
server.listen(Number(process.argv[2]), '127.0.0.1')
for (const signal of ['SIGTERM', 'SIGINT', 'disconnect'] as const) process.on(signal, () => process.exit(0))
