import { AsyncLocalStorage } from 'node:async_hooks'
import type { OpenAI } from 'openai'
import { z } from 'zod'
import { modelDigestSchema } from '#core/index/format/manifest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { askText, EndpointFailure, JSON_HEADERS } from '#core/platform/json-endpoint.ts'
import type { CallBounds, EndpointAddress } from '#core/platform/json-endpoint.ts'
import { EMBEDDING_BOUNDS } from './bounds.ts'
import { estimateTokens, send, type Clock, type SendPolicy } from './sending.ts'

/** Values are checked with the vector, which costs less than a schema of each. */
const vectorSchema = z.object({ index: z.int(), embedding: z.union([z.string(), z.array(z.unknown())]) })
const countSchema = z.int().nonnegative()
const replySchema = z.object({
  data: z.array(vectorSchema),
  usage: z
    .union([z.object({ prompt_tokens: countSchema }), z.object({ total_tokens: countSchema })])
    .nullable()
    .catch(null),
  model_digest: modelDigestSchema.optional().catch(undefined),
})
export type RepliedVector = z.infer<typeof vectorSchema>

type EmbeddingsRequest = OpenAI.EmbeddingCreateParams & { readonly input: string[] }

export interface EmbeddingsReply {
  readonly data: readonly RepliedVector[]
  /** Tokens of the request as the endpoint reports them, however many; null if it reports none. */
  readonly tokens: number | null
  /** Of the model that gave the vectors; undefined if the endpoint tells none. */
  readonly modelDigest: string | undefined
}

/** Sends one request, once. @throws EndpointFailure */
export async function requestEmbeddings(
  endpoint: EndpointAddress,
  body: EmbeddingsRequest,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<EmbeddingsReply> {
  const replyBytesMax = (body.input.length + 1) * EMBEDDING_BOUNDS.embedReplyBytesPerTextMax
  const reply = await createEmbeddings(endpoint, { timeoutMs, replyBytesMax, signal }, body)
  const parsed = replySchema.safeParse(reply)
  if (!parsed.success) throw new EndpointFailure('the embedding provider sent a reply that has no vectors')
  const { data, usage, model_digest: modelDigest } = parsed.data
  const [reported = null] = Object.values(usage ?? {})
  return { data, tokens: reported, modelDigest }
}

/** What one request carries, and how long it may take. */
export interface Call {
  readonly texts: readonly string[]
  readonly policy: SendPolicy
  readonly signal: AbortSignal
}

/** Sends one request until it is answered or its retry policy ends. @throws EndpointFailure */
export type Send = (call: Call) => Promise<EmbeddingsReply>

const FORMATS = ['base64', 'numbers'] as const
type Format = (typeof FORMATS)[number]

/**
 * Asks for base64 (little-endian float32), which takes a quarter of the bytes. An endpoint that refuses a request is
 * asked once more without naming a format, until it has answered a request in one of the two.
 */
export function createSend(
  endpoint: EndpointAddress,
  asked: { readonly model: string; readonly dimensions?: number },
  clock: Clock,
): Send {
  let accepted: Format | undefined

  function sendAs(format: Format, deadline: { endMs: number }, call: Call): Promise<EmbeddingsReply> {
    const { texts, policy, signal } = call
    const body = { ...asked, input: [...texts], ...(format === 'base64' ? { encoding_format: format } : {}) }
    return send({
      attempt: (timeoutMs) => requestEmbeddings(endpoint, body, timeoutMs, signal),
      tokens: texts.reduce((sum, text) => sum + estimateTokens(text), 0),
      tokensOf: ({ tokens }) => tokens,
      policy,
      deadline,
      clock,
      signal,
    })
  }

  return async (call) => {
    const deadline = { endMs: clock.nowMs() + call.policy.totalMs }
    if (accepted !== undefined) return await sendAs(accepted, deadline, call)
    try {
      const reply = await sendAs('base64', deadline, call)
      accepted ??= 'base64'
      return reply
    } catch (refused) {
      if (!isRefusal(refused) || refused.status === 413) throw refused
      const reply = await sendAs('numbers', deadline, call).catch((error: unknown) => {
        throw isRefusal(error) ? refused : error
      })
      accepted ??= 'numbers'
      return reply
    }
  }
}

/** The endpoint refuses what the request holds: too many texts, a text that is too long, or a field. */
export function isRefusal(error: unknown): error is EndpointFailure {
  return error instanceof EndpointFailure && [400, 413, 422].includes(error.status ?? 0)
}

/** A request that the client of an endpoint is sending, and why it failed. */
interface Sent {
  readonly bounds: CallBounds
  failure?: unknown
}

/** The client wraps what `fetch` throws in errors of its own, which do not always name their cause. */
const sent = new AsyncLocalStorage<Sent>()

/**
 * Asks for embeddings by the client of OpenAI. It sends one request, once, as `askJson` does. @throws EndpointFailure
 */
async function createEmbeddings(
  endpoint: EndpointAddress,
  bounds: CallBounds,
  body: EmbeddingsRequest,
): Promise<unknown> {
  const client = await clientOf(endpoint)
  const call: Sent = { bounds }
  // The body is sent as it is, without a format if it states none. The client would decode what it did not ask for.
  const asked = sent.run(call, () => client.embeddings.create({ ...body, encoding_format: 'base64' }, { body }))
  const reply: unknown = await asked.catch((error: unknown) => {
    if (call.failure === undefined && error instanceof SyntaxError) return undefined
    throw call.failure ?? error
  })
  if (reply === undefined) throw new EndpointFailure(`${endpoint.name} sent a reply that is not JSON`)
  return reply
}

const clients = new WeakMap<EndpointAddress, Promise<OpenAI>>()

/** One client for an endpoint; its 236 modules are loaded only where one is configured. */
function clientOf(endpoint: EndpointAddress): Promise<OpenAI> {
  const known = clients.get(endpoint) ?? openClient(endpoint)
  clients.set(endpoint, known)
  return known
}

/** Also called ahead of the first request, which would wait for it. */
export const loadOpenAi = () => import('openai')

/** Every option that the client would else read from the environment is given. */
async function openClient(endpoint: EndpointAddress): Promise<OpenAI> {
  const { OpenAI: Client } = await loadOpenAi()
  const unset = { adminAPIKey: null, organization: null, project: null, webhookSecret: null }
  const baseURL = endpoint.baseUrl
  const fetchText = (_url: unknown, init?: RequestInit): Promise<Response> => replyTo(endpoint, init?.body)
  try {
    return new Client({ ...unset, apiKey: 'none', baseURL, maxRetries: 0, logLevel: 'off', fetch: fetchText })
  } catch {
    // The client parses this one variable whatever its options are.
    throw new OperatorError('OPENAI_CUSTOM_HEADERS holds a header that is not valid: unset it; it is not used.')
  }
}

const REPLY_HEADERS = new Headers(JSON_HEADERS)

async function replyTo(endpoint: EndpointAddress, body: unknown): Promise<Response> {
  const call = sent.getStore()
  if (call === undefined) throw new Error('the client asks for something that nobody asked it for')
  try {
    const text = await askText(endpoint, '/embeddings', call.bounds, typeof body === 'string' ? body : undefined)
    // What the client reads of a reply. A `Response` makes a stream of the text, at a fifth of the cost of a request.
    return { ok: true, status: 200, headers: REPLY_HEADERS, url: '', body: null, text: async () => text } as Response
  } catch (error) {
    call.failure = error
    throw error
  }
}
