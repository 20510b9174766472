import type { ServerResponse } from 'node:http'
import { startEmbeddingEndpoint, vectorsByWords } from './embedding-endpoint.ts'
import type { EmbeddingEndpoint, EmbeddingReply } from './embedding-endpoint.ts'
import { send } from './json-server.ts'

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
  'status-413',
  'status-429',
  'status-500',
  'flaky-429',
  'flaky-500',
  'flaky-reset',
  'reset',
  'hang',
  'held',
  'drip',
  'not-json',
  'echo',
] as const
export type ProviderBehaviour = (typeof PROVIDER_BEHAVIOURS)[number]

/** A text that the provider will treat so. */
export function asking(behaviour: ProviderBehaviour, text: string): string {
  return `${text} [provider ${behaviour}]`
}

const TOKENS_PER_TEXT = 7
const FLAKY_FAILURES = 2
const MARK = /\s*\[provider ([a-z0-9-]+)\]/
const REFUSE_HELD = 'refuse what is held for '

export interface Provider extends Pick<EmbeddingEndpoint, 'baseUrl' | 'stop'> {
  readonly tokensPerText: number
}

/** Refuses the requests that are held for a text with this part, at an endpoint of any process. */
export async function refuseHeld(baseUrl: string, part: string): Promise<void> {
  const body = JSON.stringify({ model: 'any', input: [`${REFUSE_HELD}${part}`] })
  const reply = await fetch(`${baseUrl}/embeddings`, { method: 'POST', body })
  if (!reply.ok) throw new Error(`the provider answered ${reply.status}`)
}

/** An endpoint with vectors by words, whose replies are chosen by such texts. */
export async function startProvider(): Promise<Provider> {
  const byWords = vectorsByWords()
  const held = new Map<string, () => void>()
  const endpoint = await startEmbeddingEndpoint({
    gate: async ({ input: [text = ''] }, hungUp) => {
      if (text.startsWith(REFUSE_HELD))
        for (const [query, refuse] of held) if (query.includes(text.slice(REFUSE_HELD.length))) refuse()
      if (MARK.exec(text)?.[1] !== 'held') return undefined
      await Promise.race([hungUp, new Promise<void>((resolve) => held.set(text, resolve))])
      held.delete(text)
      return 400
    },
    vectorsOf: (texts, dimensions) =>
      byWords.vectorsOf(
        texts.map((text) => text.replace(MARK, '')),
        dimensions,
      ),
    tokensOf: () => TOKENS_PER_TEXT,
    misreply: (good, { input: [text = ''] }, response) => {
      const attempt = endpoint.requests.filter(({ input }) => input[0] === text).length
      behave(MARK.exec(text)?.[1] ?? 'good', response, good, attempt, text)
    },
  })
  const { baseUrl, stop } = endpoint
  return { baseUrl, stop, tokensPerText: TOKENS_PER_TEXT }
}

function behave(
  behaviour: string,
  response: ServerResponse,
  good: EmbeddingReply,
  attempt: number,
  text: string,
): void {
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
  good: EmbeddingReply,
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
