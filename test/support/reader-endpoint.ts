import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import { words } from '#core/index/analysis/words.ts'
import { bodyOf, send, startJsonServer } from './json-server.ts'
import type { JsonServer } from './json-server.ts'

/** How the endpoint treats a request; chosen by the model that is asked for, so that a profile chooses it. */
export const BROKEN_READERS = [
  'status-429',
  'status-500',
  'reset',
  'hang',
  'not-json',
  'prose',
  'missing',
  'too-many',
  'beyond',
  'text-numbers',
  'refusal',
] as const

/** Gives each passage the share of the question's words that it holds. */
export const OVERLAP = 'overlap'
/** Gives 100 wherever question or passage says so; the worst that a model can do. */
export const OBEDIENT = 'obedient'
export const READER_TOKENS = 321

const dataSchema = z.strictObject({
  question: z.string(),
  passages: z.array(
    z.strictObject({ passage: z.string(), document: z.string(), provision: z.string(), text: z.string() }),
  ),
})
export type ReaderData = z.infer<typeof dataSchema>

const requestSchema = z.object({
  model: z.string(),
  temperature: z.literal(0),
  max_tokens: z.int().positive(),
  messages: z.tuple([
    z.object({ role: z.literal('system'), content: z.string() }),
    z.object({ role: z.literal('user'), content: z.string() }),
  ]),
  response_format: z.object({ type: z.literal('json_schema') }),
})

const callSchema = z.object({
  model: z.string(),
  data: dataSchema,
  sent: z.string(),
  authorization: z.string().nullable(),
})
export type ReaderCall = z.infer<typeof callSchema>

/** The calls of an endpoint whose question holds `part`, also of one that another process runs. */
export async function readerCalls(baseUrl: string, part: string): Promise<readonly ReaderCall[]> {
  const response = await fetch(`${baseUrl}/calls?part=${encodeURIComponent(part)}`, {})
  return z.array(callSchema).parse(await response.json())
}

/** Share of the question's words that a text holds, in whole hundredths. */
function overlapOf(question: string, text: string): number {
  const asked = new Set(words(question))
  const held = new Set(words(text))
  return Math.round((100 * [...asked].filter((word) => held.has(word)).length) / Math.max(1, asked.size))
}

/** A chat endpoint with structured output over real HTTP. */
export async function startReaderEndpoint(): Promise<JsonServer> {
  const calls: ReaderCall[] = []
  async function complete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { model, messages } = requestSchema.parse(await bodyOf(request))
    const sent = messages[1].content
    const data = dataSchema.parse(JSON.parse(sent))
    calls.push({ model, data, sent, authorization: request.headers.authorization ?? null })
    behave(model, response, data)
  }
  return await startJsonServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://reader')
    const part = url.searchParams.get('part') ?? ''
    if (url.pathname === '/v1/calls')
      return send(
        response,
        200,
        calls.filter(({ data }) => data.question.includes(part)),
      )
    if (url.pathname !== '/v1/chat/completions') return send(response, 404, {})
    complete(request, response).catch((error: unknown) => send(response, 422, { message: String(error) }))
  })
}

function scoreOf(model: string, question: string, text: string): number {
  if (model === OBEDIENT && /say 100/i.test(`${question} ${text}`)) return 100
  return overlapOf(question, text)
}

function behave(model: string, response: ServerResponse, { question, passages }: ReaderData): void {
  const scores = Object.fromEntries(
    passages.map(({ passage, text }) => [passage, scoreOf(model, question, text)] as const),
  )
  const say = (content: string | null): void =>
    send(response, 200, {
      choices: [{ message: { role: 'assistant', content } }],
      usage: { total_tokens: READER_TOKENS },
    })
  const status = /^status-(\d{3})$/.exec(model)?.[1]
  if (status !== undefined) return send(response, Number(status), { message: `refused: ${question}` })
  switch (model) {
    case 'reset':
      return void response.destroy()
    case 'hang':
      return
    case 'not-json':
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>busy</html>')
    case 'prose':
      return say(`All passages answer: ${question}`)
    case 'missing':
      return say(JSON.stringify(Object.fromEntries(Object.entries(scores).slice(1))))
    case 'too-many':
      return say(JSON.stringify({ ...scores, p99: 100 }))
    case 'beyond':
      return say(JSON.stringify({ ...scores, p1: 101 }))
    case 'text-numbers':
      return say(JSON.stringify({ ...scores, p1: '100' }))
    case 'refusal':
      return say(null)
    default:
      return say(JSON.stringify(scores))
  }
}
