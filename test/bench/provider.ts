import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { z } from 'zod'

/**
 * An OpenAI-compatible embeddings endpoint in a process of its own, which knows the vectors of the benchmark's
 * questions. It costs little CPU, because it replaces a remote machine: replies are encoded before the first request.
 * node test/bench/provider.ts <questions.json> <port>
 */
const questionsSchema = z.array(z.strictObject({ text: z.string(), vector: z.string() }))

const [questionsFile = '', port = ''] = process.argv.slice(2)
const questions = questionsSchema.parse(JSON.parse(readFileSync(questionsFile, 'utf8')))
const replies = { float: new Map<string, Buffer>(), base64: new Map<string, Buffer>() }
for (const { text, vector } of questions) {
  const bytes = Buffer.from(vector, 'base64')
  const values = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength))
  replies.base64.set(text, replyWith(vector, text))
  replies.float.set(text, replyWith([...values], text))
}

function replyWith(embedding: string | readonly number[], text: string): Buffer {
  const tokens = Math.ceil(text.length / 4)
  return Buffer.from(
    JSON.stringify({
      object: 'list',
      data: [{ object: 'embedding', index: 0, embedding }],
      model: 'bench',
      usage: { prompt_tokens: tokens, total_tokens: tokens },
    }),
  )
}

const requestSchema = z.object({
  input: z.union([z.string(), z.array(z.string()).length(1)]),
  encoding_format: z.enum(['float', 'base64']).default('float'),
})

function replyTo(body: Buffer): Buffer | undefined {
  const { input, encoding_format } = requestSchema.parse(JSON.parse(body.toString('utf8')))
  return replies[encoding_format].get(Array.isArray(input) ? (input[0] ?? '') : input)
}

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const reply = replyTo(Buffer.concat(chunks))
    if (reply === undefined)
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"an unknown question"}}')
    else response.writeHead(200, { 'content-type': 'application/json', 'content-length': reply.length }).end(reply)
  })
})
server.listen(Number(port), '127.0.0.1')
for (const signal of ['SIGTERM', 'SIGINT', 'disconnect']) process.on(signal, () => process.exit(0))
