import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { createLocalEmbedder } from '#core/embedding/local/embedder.ts'
import { bodyOf, send, startJsonServer } from './json-server.ts'

/**
 * How the provider treats a request; chosen by `[provider NAME]` in its first text, so that a test needs no other way
 * to reach it.
 */
export const PROVIDER_BEHAVIOURS = [
  'good',
  'no-usage',
  'usage-text',
  'usage-negative',
  'short-vector',
  'long-vector',
  'null-values',
  'text-values',
  'infinite-values',
  'zero-vector',
  'no-vector',
  'two-vectors',
  'wrong-index',
  'status-400',
  'status-401',
  'status-429',
  'status-500',
  'flaky-429',
  'flaky-500',
  'flaky-reset',
  'reset',
  'hang',
  'drip',
  'not-json',
  'echo',
] as const
export type ProviderBehaviour = (typeof PROVIDER_BEHAVIOURS)[number]

/** An OpenAI-compatible embeddings endpoint over real HTTP. Its vectors are those of the local embedder. */
export interface Provider {
  /** For OPENAI_BASE_URL. */
  readonly baseUrl: string
  readonly dimensions: number
  readonly tokensPerText: number
  stop(): Promise<void>
}

/** A text that the provider will treat so. */
export function asking(behaviour: ProviderBehaviour, text: string): string {
  return `${text} [provider ${behaviour}]`
}

/** How often a provider was asked for texts that contain `part`. */
export async function callsFor(baseUrl: string, part: string): Promise<number> {
  const response = await fetch(`${baseUrl}/calls?part=${encodeURIComponent(part)}`, {})
  return z.object({ calls: z.number() }).parse(await response.json()).calls
}

const TOKENS_PER_TEXT = 7
const FLAKY_FAILURES = 2
const requestSchema = z.object({
  model: z.string(),
  input: z.array(z.string()).min(1),
  dimensions: z.int().optional(),
  encoding_format: z.enum(['float', 'base64']),
})
const MARK = /\s*\[provider ([a-z0-9-]+)\]/

export async function startProvider(): Promise<Provider> {
  const embedder = createLocalEmbedder()
  const asked: string[] = []

  async function embeddings(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { model, input } = requestSchema.parse(await bodyOf(request))
    const text = input[0] ?? ''
    asked.push(text)
    const behaviour = MARK.exec(text)?.[1] ?? 'good'
    const failures = asked.filter((earlier) => earlier === text).length
    const { vectors } = await embedder.embed(
      input.map((each) => each.replace(MARK, '')),
      'passage',
      new AbortController().signal,
    )
    const rows = vectors.map((vector, index) => ({ object: 'embedding', index, embedding: [...vector] }))
    const good = {
      object: 'list',
      data: rows,
      model,
      usage: { prompt_tokens: TOKENS_PER_TEXT * input.length, total_tokens: TOKENS_PER_TEXT * input.length },
    }
    behave(behaviour, response, good, failures, text)
  }

  const server = await startJsonServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://provider')
    if (url.pathname === '/v1/calls')
      return send(response, 200, {
        calls: asked.filter((text) => text.includes(url.searchParams.get('part') ?? '')).length,
      })
    embeddings(request, response).catch((error: unknown) => send(response, 422, { error: { message: String(error) } }))
  })
  return { ...server, dimensions: embedder.space.dimensions, tokensPerText: TOKENS_PER_TEXT }
}

interface Reply {
  readonly object: string
  readonly data: readonly { readonly object: string; readonly index: number; readonly embedding: readonly number[] }[]
  readonly model: string
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number }
}

function behave(behaviour: string, response: ServerResponse, good: Reply, attempt: number, text: string): void {
  const vector = good.data[0]?.embedding ?? []
  const withVector = (embedding: unknown): object => ({ ...good, data: [{ object: 'embedding', index: 0, embedding }] })
  const fail = (status: number): void =>
    send(response, status, { error: { message: `refused: ${text}`, type: 'test' } })
  const flaky = behaviour.startsWith('flaky-') && attempt <= FLAKY_FAILURES
  const status = /^(?:status|flaky)-(\d{3})$/.exec(behaviour)?.[1]
  if (status !== undefined && (flaky || behaviour.startsWith('status-'))) return fail(Number(status))
  if (behaviour === 'reset' || (behaviour === 'flaky-reset' && flaky)) return void response.destroy()
  if (behaviour === 'hang') return
  if (behaviour === 'drip')
    return void response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":[')
  if (behaviour === 'not-json')
    return void response.writeHead(200, { 'content-type': 'application/json' }).end('<html>busy</html>')
  if (behaviour === 'infinite-values')
    return void response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(withVector(vector)).replace(/"embedding":\[[^,]*,/, '"embedding":[1e999,'))
  send(response, 200, oddReply(behaviour, good, vector, withVector, text))
}

function oddReply(
  behaviour: string,
  good: Reply,
  vector: readonly number[],
  withVector: (embedding: unknown) => object,
  text: string,
): object {
  const { usage: _usage, ...withoutUsage } = good
  switch (behaviour) {
    case 'no-usage':
      return withoutUsage
    case 'usage-text':
      return { ...good, usage: { prompt_tokens: '7', total_tokens: '7' } }
    case 'usage-negative':
      return { ...good, usage: { prompt_tokens: -7, total_tokens: -7 } }
    case 'short-vector':
      return withVector(vector.slice(1))
    case 'long-vector':
      return withVector([...vector, 0])
    case 'null-values':
      return withVector([null, ...vector.slice(1)])
    case 'text-values':
      return withVector(['0.5', ...vector.slice(1)])
    case 'zero-vector':
      return withVector(vector.map(() => 0))
    case 'no-vector':
      return { ...good, data: [] }
    case 'two-vectors':
      return { ...good, data: [...good.data, ...good.data] }
    case 'wrong-index':
      return { ...good, data: good.data.map((row) => ({ ...row, index: 1 })) }
    case 'echo':
      return { error: { message: text } }
    default:
      return good
  }
}
