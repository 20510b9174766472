import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { bodyOf, send, startJsonServer } from './json-server.ts'

/** How the endpoint treats a request; chosen by the model that is asked for, so that a profile chooses it. */
export const BROKEN_RERANKERS = [
  'status-400',
  'status-429',
  'status-500',
  'reset',
  'hang',
  'drip',
  'not-json',
  'missing',
  'twice',
  'text-scores',
  'echo',
] as const

/** Scores the texts in reverse order. */
export const REVERSING = 'reversing'

/** A re-ranking endpoint of the common shape over real HTTP. */
export interface RerankEndpoint {
  /** For RERANK_BASE_URL. */
  readonly baseUrl: string
  stop(): Promise<void>
}

const callSchema = z.object({
  model: z.string(),
  query: z.string(),
  documents: z.array(z.string()).min(1),
  authorization: z.string().nullable(),
})
export type RerankCall = z.infer<typeof callSchema>

const requestSchema = z.strictObject({
  model: z.string(),
  query: z.string(),
  documents: z.array(z.string()).min(1),
  top_n: z.int(),
})

/** The calls of an endpoint whose query holds `part`, also of one that another process runs. */
export async function rerankCalls(baseUrl: string, part: string): Promise<readonly RerankCall[]> {
  const response = await fetch(`${baseUrl}/calls?part=${encodeURIComponent(part)}`, {})
  return z.array(callSchema).parse(await response.json())
}

/**
 * @param scores of any model that is neither broken nor reversing: one a document; by default every one is as good as
 * any other.
 */
export async function startRerankEndpoint(
  scores: (query: string, documents: readonly string[]) => readonly number[] = (_, documents) => documents.map(() => 0),
): Promise<RerankEndpoint> {
  const calls: RerankCall[] = []

  async function rerank(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { model, query, documents } = requestSchema.parse(await bodyOf(request))
    calls.push({ model, query, documents, authorization: request.headers.authorization ?? null })
    const given = model === REVERSING ? documents.map((_, at) => at) : scores(query, documents)
    // Best first, as such endpoints answer.
    const results = given
      .map((score, index) => ({ index, relevance_score: score }))
      .sort((a, b) => b.relevance_score - a.relevance_score)
    behave(model, response, results, query)
  }

  const server = await startJsonServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://reranker')
    const part = url.searchParams.get('part') ?? ''
    if (url.pathname === '/v1/calls')
      return send(
        response,
        200,
        calls.filter(({ query }) => query.includes(part)),
      )
    rerank(request, response).catch((error: unknown) => send(response, 422, { message: String(error) }))
  })
  return server
}

interface Scored {
  readonly index: number
  readonly relevance_score: number
}

function behave(model: string, response: ServerResponse, results: readonly Scored[], query: string): void {
  const status = /^status-(\d{3})$/.exec(model)?.[1]
  if (status !== undefined) return send(response, Number(status), { message: `refused: ${query}` })
  switch (model) {
    case 'reset':
      return void response.destroy()
    case 'hang':
      return
    case 'drip':
      return void response.writeHead(200, { 'content-type': 'application/json' }).write('{"results":[')
    case 'not-json':
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>busy</html>')
    case 'missing':
      return send(response, 200, { results: results.slice(1) })
    case 'twice':
      return send(response, 200, { results: [...results.slice(1), ...results.slice(1, 2)] })
    case 'text-scores':
      return send(response, 200, { results: results.map(({ index }) => ({ index, relevance_score: '0.5' })) })
    case 'echo':
      return send(response, 200, { message: query })
    default:
      return send(response, 200, { results, meta: {} })
  }
}
