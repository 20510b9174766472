import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { READ_PASSAGES_MAX, type ReaderParameters } from '#core/domain/retrieval-profile.ts'
import { words } from '#core/index/analysis/words.ts'
import { bodyOf, send, startJsonServer, type JsonServer } from './json-server.ts'

/** How the endpoint treats a request; chosen by the model that is asked for, so that a profile chooses it. */
const BROKEN = ['status-400', 'status-429', 'status-500', 'reset', 'hang', 'drip', 'not-json', 'missing'] as const
export const BROKEN_READERS = [...BROKEN, 'prose', 'too-many', 'beyond', 'text-numbers', 'refusal'] as const
export const BROKEN_RERANKERS = [...BROKEN, 'twice', 'text-scores', 'echo'] as const

/** A chat model that gives each passage the share of the question's words that it holds. */
export const OVERLAP = 'overlap'
/** A chat model that gives 100 wherever question or passage says so; the worst that a model can do. */
export const OBEDIENT = 'obedient'
/** A chat model that knows one rule: it asks for the cooling-off period, and finds it in passages that name it. */
export const COUNSEL = 'counsel'
const COOLING_OFF = 'a retail client may cancel a distance contract within the cooling-off period of days'
export const READER_TOKENS = 321
export const REWRITER_TOKENS = 123
/** A cross-encoder that scores the texts in reverse order. */
export const REVERSING = 'reversing'

/** The reader of a profile: a cross-encoder whose scores order. */
export function ordering(model: string, passages: number): { readonly reader: ReaderParameters } {
  const kind = { kind: 'cross-encoder', model, prompt_sha256: null } as const
  return { reader: { ...kind, scores: 'order', passages, on_failure: 'refuse', calibration: null } }
}

/** The reader of a profile whose scores decide. */
export function deciding(
  pinned: Pick<ReaderParameters, 'model' | 'prompt_sha256' | 'on_failure' | 'calibration'>,
): ReaderParameters {
  const kind = pinned.prompt_sha256 === null ? 'cross-encoder' : 'chat'
  return { kind, ...pinned, scores: 'decide', passages: READ_PASSAGES_MAX }
}

const dataSchema = z.strictObject({
  question: z.string(),
  passages: z.array(
    z.strictObject({ passage: z.string(), document: z.string(), provision: z.string(), text: z.string() }),
  ),
})
const rewritingSchema = z.strictObject({
  knowledge_base: z.strictObject({ title: z.string(), languages: z.array(z.string()), acts: z.array(z.string()) }),
  question: z.string(),
})
const chatSchema = z.object({
  model: z.string(),
  temperature: z.literal(0),
  max_tokens: z.int().positive(),
  messages: z.tuple([
    z.object({ role: z.literal('system'), content: z.string() }),
    z.object({ role: z.literal('user'), content: z.string() }),
  ]),
  response_format: z.object({ type: z.literal('json_schema') }),
})
const rerankSchema = z.strictObject({
  model: z.string(),
  query: z.string(),
  documents: z.array(z.string()).min(1),
  top_n: z.int(),
})

const authorization = z.string().nullable()
const readerCall = z.object({ model: z.string(), data: dataSchema, sent: z.string(), authorization })
const rewriterCall = z.object({ model: z.string(), data: rewritingSchema, authorization })
const rerankCall = rerankSchema.omit({ top_n: true }).extend({ authorization })
type Call = z.infer<typeof readerCall> | z.infer<typeof rewriterCall> | z.infer<typeof rerankCall>

/** The calls of a kind whose question holds `part`, also of an endpoint that another process runs. */
function callsOf<T>(kind: 'chat' | 'rewrite' | 'rerank', call: z.ZodType<T>) {
  return async (baseUrl: string, part: string): Promise<readonly T[]> => {
    const reply = await fetch(`${baseUrl}/calls/${kind}?part=${encodeURIComponent(part)}`, {})
    return z.array(call).parse(await reply.json())
  }
}
export const readerCalls = callsOf('chat', readerCall)
export const rewriterCalls = callsOf('rewrite', rewriterCall)
export const rerankCalls = callsOf('rerank', rerankCall)

/**
 * The endpoint of a reader over real HTTP: chat completions with structured output, and re-ranking.
 * @param scores of any cross-encoder that is neither broken nor reversing: one a document; by default every one is as
 * good as any other.
 */
export async function startReaderEndpoint(
  scores: (query: string, documents: readonly string[]) => readonly number[] = (_, documents) => documents.map(() => 0),
): Promise<JsonServer> {
  const calls: Readonly<Record<string, (readonly [question: string, Call])[]>> = { chat: [], rewrite: [], rerank: [] }

  async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { model, messages } = chatSchema.parse(await bodyOf(request))
    const sent = messages[1].content
    const rewriting = rewritingSchema.safeParse(JSON.parse(sent))
    if (rewriting.success) {
      const { question } = rewriting.data
      calls['rewrite']?.push([question, { model, data: rewriting.data, authorization: keyOf(request) }])
      if (!isBroken(model, response, question)) send(response, 200, rewritingOf(model, question))
      return
    }
    const data = dataSchema.parse(JSON.parse(sent))
    calls['chat']?.push([data.question, { model, data, sent, authorization: keyOf(request) }])
    if (!isBroken(model, response, data.question)) send(response, 200, completionOf(model, data))
  }

  async function rerank(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { model, query, documents } = rerankSchema.parse(await bodyOf(request))
    calls['rerank']?.push([query, { model, query, documents, authorization: keyOf(request) }])
    const given = model === REVERSING ? documents.map((_, at) => at) : scores(query, documents)
    if (!isBroken(model, response, query)) send(response, 200, rerankingOf(model, given, query))
  }

  return await startJsonServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://reader')
    const [, listed] = /^\/v1\/calls\/(\w+)$/.exec(pathname) ?? []
    if (listed !== undefined) {
      const part = searchParams.get('part') ?? ''
      const found = calls[listed]?.filter(([question]) => question.includes(part)) ?? []
      return send(
        response,
        200,
        found.map(([, call]) => call),
      )
    }
    const answer = { '/v1/chat/completions': complete, '/v1/rerank': rerank }[pathname]
    if (answer === undefined) return send(response, 404, {})
    answer(request, response).catch((error: unknown) => send(response, 422, { message: String(error) }))
  })
}

function keyOf({ headers }: IncomingMessage): string | null {
  return headers.authorization ?? null
}

/** Treats the request as a model that is broken in either kind does. */
function isBroken(model: string, response: ServerResponse, question: string): boolean {
  const status = /^status-(\d{3})$/.exec(model)?.[1]
  if (status !== undefined) send(response, Number(status), { message: `refused: ${question}` })
  else if (model === 'reset') response.destroy()
  else if (model === 'drip') response.writeHead(200, { 'content-type': 'application/json' }).write('{"results":[')
  else if (model === 'not-json') response.writeHead(200, { 'content-type': 'text/html' }).end('<html>busy</html>')
  else return model === 'hang'
  return true
}

/** Share of the question's words that a text holds, in whole hundredths. */
function overlapOf(question: string, text: string): number {
  const asked = new Set(words(question))
  const held = new Set(words(text))
  return Math.round((100 * [...asked].filter((word) => held.has(word)).length) / Math.max(1, asked.size))
}

function completionOf(model: string, { question, passages }: z.infer<typeof dataSchema>): object {
  const scoreOf = (text: string): number => {
    if (model === COUNSEL && /phone/i.test(question)) return /cooling-off/i.test(text) ? 100 : 0
    return model === OBEDIENT && /say 100/i.test(`${question} ${text}`) ? 100 : overlapOf(question, text)
  }
  const scores = Object.fromEntries(passages.map(({ passage, text }) => [passage, scoreOf(text)] as const))
  const said: Readonly<Record<string, string | object | null>> = {
    prose: `All passages answer: ${question}`,
    missing: Object.fromEntries(Object.entries(scores).slice(1)),
    'too-many': { ...scores, p99: 100 },
    beyond: { ...scores, p1: 101 },
    'text-numbers': { ...scores, p1: '100' },
    refusal: null,
  }
  const content = model in said ? said[model] : scores
  return {
    choices: [
      {
        message: {
          role: 'assistant',
          content: typeof content === 'object' && content ? JSON.stringify(content) : content,
        },
      },
    ],
    usage: { total_tokens: READER_TOKENS },
  }
}

/** Queries that the question itself quotes like «this», which a test chooses. */
function rewritingOf(model: string, question: string): object {
  const quoted = [...question.matchAll(/«([^»]*)»/g)].map(([, query = '']) => query)
  const said: Readonly<Record<string, unknown>> = {
    prose: `Try these: ${quoted.join(', ')}`,
    empty: { queries: [''] },
    long: { queries: ['x'.repeat(301)] },
    'too-many': { queries: Array.from({ length: 11 }, () => 'capital') },
    inventing: { queries: ['COB-M 99.9 fee of a client', 'Article 7 of the Banking Act fee'] },
    [COUNSEL]: { queries: [/phone/i.test(question) ? COOLING_OFF : question] },
    instructions: { queries: ['Write one to three search queries of 6 to 20 words for the question'] },
  }
  const content = JSON.stringify(said[model] ?? { queries: quoted })
  return {
    model: model === 'another' ? 'a-model-that-nobody-pinned' : model,
    choices: [{ message: { role: 'assistant', content } }],
    usage: { total_tokens: REWRITER_TOKENS },
  }
}

function rerankingOf(model: string, scores: readonly number[], query: string): object {
  // Best first, as such endpoints answer.
  const results = scores
    .map((score, index) => ({ index, relevance_score: score }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
  if (model === 'echo') return { message: query }
  if (model === 'missing') return { results: results.slice(1) }
  if (model === 'twice') return { results: [...results.slice(1), ...results.slice(1, 2)] }
  if (model === 'text-scores') return { results: results.map(({ index }) => ({ index, relevance_score: '0.5' })) }
  return { results, meta: {} }
}
