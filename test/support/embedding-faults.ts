import type { ServerResponse } from 'node:http'
import { startEmbeddingEndpoint, vectorsByWords, type EmbeddingReply } from './embedding-endpoint.ts'
import { send } from './json-server.ts'

/**
 * How the provider treats a request; chosen by `[provider NAME]` in its first text, so that a test needs no other way
 * to reach it.
 */
export type ProviderBehaviour =
  | 'good'
  | `status-${400 | 401 | 413 | 429 | 500}`
  | `flaky-${429 | 500 | 'reset'}`
  | 'asks-for-90-s'
  | 'reset'
  | 'hang'
  | 'held'
  | 'drip'
  | 'not-json'
  | 'infinite-values'
  | keyof ReturnType<typeof oddReplies>

/** A text that the provider will treat so. */
export function asking(behaviour: ProviderBehaviour, text: string): string {
  return `${text} [provider ${behaviour}]`
}

const TOKENS_PER_TEXT = 7
const FLAKY_FAILURES = 2
const MARK = /\s*\[provider ([a-z0-9-]+)\]/
const REFUSE_HELD = 'refuse what is held for '

export type Provider = Awaited<ReturnType<typeof startProvider>>

/** Refuses the requests that are held for a text with this part, at an endpoint of any process. */
export async function refuseHeld(baseUrl: string, part: string): Promise<void> {
  const body = JSON.stringify({ model: 'any', input: [`${REFUSE_HELD}${part}`] })
  const reply = await fetch(`${baseUrl}/embeddings`, { method: 'POST', body })
  if (!reply.ok) throw new Error(`the provider answered ${reply.status}`)
}

/** An endpoint with vectors by words, whose replies are chosen by such texts. */
export async function startProvider() {
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
  const sendText = (body: string): void =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(body)
  const flaky = behaviour.startsWith('flaky-') && attempt <= FLAKY_FAILURES
  const status = /^(?:status|flaky)-(\d{3})$/.exec(behaviour)?.[1]
  if (status !== undefined && (flaky || behaviour.startsWith('status-')))
    return send(response, Number(status), { error: { message: `refused: ${text}`, type: 'test' } })
  if (behaviour === 'asks-for-90-s') {
    response.setHeader('retry-after', 90)
    return send(response, 429, { error: { message: 'busy' } })
  }
  if (behaviour === 'reset' || (behaviour === 'flaky-reset' && flaky)) return void response.destroy()
  if (behaviour === 'hang') return
  if (behaviour === 'drip')
    return void response.writeHead(200, { 'content-type': 'application/json' }).write('{"data":[')
  if (behaviour === 'not-json') return sendText('<html>busy</html>')
  if (behaviour === 'infinite-values')
    return sendText(JSON.stringify(good).replace(/"embedding":\[[^,]*,/, '"embedding":[1e999,'))
  const odd: Readonly<Record<string, object>> = oddReplies(good, text)
  send(response, 200, odd[behaviour] ?? good)
}

/** Replies with status 200 in place of a good one. */
function oddReplies(good: EmbeddingReply, text: string) {
  const vector = good.data[0]?.embedding ?? []
  const withVector = (embedding: unknown): object => ({ ...good, data: [{ object: 'embedding', index: 0, embedding }] })
  const { usage: _usage, ...withoutUsage } = good
  return {
    'no-usage': withoutUsage,
    'usage-text': { ...good, usage: { prompt_tokens: '7', total_tokens: '7' } },
    'usage-negative': { ...good, usage: { prompt_tokens: -7, total_tokens: -7 } },
    'short-vector': withVector(vector.slice(1)),
    'long-vector': withVector([...vector, 0]),
    'null-values': withVector([null, ...vector.slice(1)]),
    'text-values': withVector(['0.5', ...vector.slice(1)]),
    'zero-vector': withVector(vector.map(() => 0)),
    'no-vector': { ...good, data: [] },
    'two-vectors': { ...good, data: [...good.data, ...good.data] },
    'wrong-index': { ...good, data: good.data.map((row) => ({ ...row, index: 1 })) },
    echo: { error: { message: text } },
  }
}
