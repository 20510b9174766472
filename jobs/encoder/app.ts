import Fastify from 'fastify'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Log } from '#core/platform/log.ts'
import { ENCODER_BOUNDS } from './bounds.ts'
import { EncoderBusy, type Encoder, LANES, type Encoded, type Lane } from './encoder.ts'
import type { ModelFolder } from './model-folder.ts'
import { Counter, Histogram } from 'prom-client'
import { aboutMetric, createRegistry, createTally, gauge } from '#core/platform/metrics.ts'

export interface EncoderAppDeps {
  readonly model: ModelFolder
  readonly encoder: Encoder
  readonly metrics: ReturnType<typeof createEncoderMetrics>
  readonly log: Log
}

const text = z.string().max(ENCODER_BOUNDS.encoderTextCharactersMax)
const requestSchema = z.object({
  model: z.string(),
  input: z.union([text, z.array(text).min(1).max(ENCODER_BOUNDS.encoderTextsMax)]),
  encoding_format: z.enum(['float', 'base64']).default('float'),
  dimensions: z.int().optional(),
})

/** A refusal in the form of OpenAI. Its message repeats nothing of the request. */
class Refusal extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** The OpenAI-compatible endpoint of one model, with readiness and metrics beside it. */
export function createEncoderApp(deps: EncoderAppDeps): FastifyInstance {
  const { model, metrics, log } = deps
  const app = Fastify({
    logger: false,
    bodyLimit: ENCODER_BOUNDS.encoderBodyBytesMax,
    requestTimeout: ENCODER_BOUNDS.questionTimeoutMs,
    forceCloseConnections: 'idle',
  })
  let isFailing = false
  app.get('/livez', () => ({ status: 'alive' }))
  app.get('/readyz', (_request, reply) =>
    reply.code(isFailing ? 503 : 200).send({ status: isFailing ? 'not ready' : 'ready', model: model.name }),
  )
  app.get('/metrics', async (_request, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  )
  app.get('/v1/models', () => ({ object: 'list', data: [described(model)] }))
  app.post('/v1/embeddings', async (request, reply) => {
    const body = await embeddings(deps, request, reply)
    isFailing = false
    return body
  })
  app.addHook('onResponse', (request, reply, done) => {
    if (request.url === '/v1/embeddings') metrics.finished(reply.statusCode)
    done()
  })
  app.setNotFoundHandler((_request, reply) => sendRefusal(reply, new Refusal(404, 'unknown_url', 'no such route')))
  app.setErrorHandler((error: Error & { readonly statusCode?: number }, _request, reply) => {
    if (error instanceof Refusal) return sendRefusal(reply, error)
    if (error instanceof EncoderBusy) {
      if (error.status === 429) reply.header('retry-after', ENCODER_BOUNDS.retryAfterSeconds)
      return sendRefusal(reply, new Refusal(error.status, 'busy', error.message))
    }
    const status = error.statusCode ?? 500
    if (status < 500) return sendRefusal(reply, new Refusal(status, 'invalid_request', 'the request cannot be read'))
    isFailing = true
    log.error('encoding failed', {}, error)
    return sendRefusal(reply, new Refusal(503, 'model_failed', 'the model failed'))
  })
  return app
}

function described({ name, dimensions, tokensMax, digest, prompts }: ModelFolder): object {
  return {
    id: name,
    object: 'model',
    created: 0,
    owned_by: 'local',
    dimensions,
    max_tokens: tokensMax,
    digest,
    prompts,
    long_texts: 'windows',
  }
}

async function embeddings({ model, encoder, metrics }: EncoderAppDeps, request: FastifyRequest, reply: FastifyReply) {
  const parsed = requestSchema.safeParse(request.body)
  if (!parsed.success) throw new Refusal(400, 'invalid_request', faultOf(parsed.error))
  const { model: asked, input, encoding_format: format, dimensions } = parsed.data
  if (asked !== model.name) throw new Refusal(404, 'model_not_found', `this endpoint has only the model ${model.name}`)
  if (dimensions !== undefined && dimensions !== model.dimensions)
    throw new Refusal(400, 'invalid_dimensions', `this model has ${model.dimensions} dimensions`)
  const ending = new AbortController()
  reply.raw.once('close', () => ending.abort())
  const beganMs = performance.now()
  const encoded = await encoder.encode(typeof input === 'string' ? [input] : input, ending.signal)
  metrics.encoded(encoded, (performance.now() - beganMs) / 1_000)
  return {
    object: 'list',
    model: model.name,
    model_digest: model.digest,
    data: encoded.vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: format === 'base64' ? base64Of(vector) : [...vector],
    })),
    usage: { prompt_tokens: encoded.tokens, total_tokens: encoded.tokens },
  }
}

/** Little-endian float32, as OpenAI sends it. */
function base64Of({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64')
}

function faultOf({ issues }: z.ZodError): string {
  const [issue] = issues
  return issue === undefined ? 'the request is not valid' : `${issue.path.join('.') || 'body'} is not valid`
}

function sendRefusal(reply: FastifyReply, { status, code, message }: Refusal): FastifyReply {
  return reply
    .code(status)
    .send({ error: { message, type: status < 500 ? 'invalid_request_error' : 'server_error', code } })
}

const SECONDS = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 240]

export function createEncoderMetrics(waiting: (lane: Lane) => number) {
  const registry = createRegistry()
  const registers = [registry]
  const requests = createTally('evidence_encoder_requests_total')
  requests.register(registry)
  const duration = new Histogram({ ...aboutMetric('evidence_encoder_seconds'), buckets: SECONDS, registers })
  const tokens = new Counter({ ...aboutMetric('evidence_encoder_tokens_total'), registers })
  const windowed = new Counter({ ...aboutMetric('evidence_encoder_windowed_texts_total'), registers })
  gauge(registry, 'evidence_encoder_waiting', () => LANES.map((lane) => [{ lane }, waiting(lane)]))
  gauge(registry, 'evidence_encoder_peak_memory_bytes', () => [[{}, process.resourceUsage().maxRSS * 1024]])
  return {
    finished: (status: number) => requests.add(String(status)),
    encoded: ({ lane, tokens: count, windowed: long }: Encoded, seconds: number) => {
      duration.observe({ lane }, seconds)
      tokens.inc({ lane }, count)
      windowed.inc(long)
    },
    registry,
  }
}
