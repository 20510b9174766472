import type { OpenAI } from 'openai'
import { OperatorError } from '#core/platform/errors.ts'
import { askText, EndpointFailure, JSON_HEADERS } from '#core/platform/json-endpoint.ts'
import type { CallBounds, EndpointAddress } from '#core/platform/json-endpoint.ts'

export type EmbeddingsRequest = OpenAI.EmbeddingCreateParams & { readonly input: string[] }

/**
 * Asks for embeddings by the client of OpenAI, whose 236 modules are loaded only where an endpoint is configured. It
 * sends one request, once, as `askJson` does. @throws EndpointFailure
 */
export async function createEmbeddings(
  endpoint: EndpointAddress,
  bounds: CallBounds,
  body: EmbeddingsRequest,
): Promise<unknown> {
  // The client throws errors of its own, which do not always name their cause.
  let failure: unknown
  const client = await openClient(endpoint, async (_url, init) => {
    const sent = typeof init?.body === 'string' ? init.body : undefined
    const text = await askText(endpoint, '/embeddings', bounds, sent).catch((error: unknown) => {
      failure = error
      throw error
    })
    return new Response(text, { headers: JSON_HEADERS })
  })
  // The body is sent as it is, without a format if it states none. The client would decode what it did not ask for.
  const asked = client.embeddings.create({ ...body, encoding_format: 'base64' }, { body })
  const reply: unknown = await asked.catch((error: unknown) => {
    if (failure === undefined && error instanceof SyntaxError) return undefined
    throw failure ?? error
  })
  if (reply === undefined) throw new EndpointFailure(`${endpoint.name} sent a reply that is not JSON`)
  return reply
}

/** Every option that the client would else read from the environment is given. */
async function openClient({ baseUrl }: EndpointAddress, send: typeof fetch): Promise<OpenAI> {
  const { OpenAI: Client } = await import('openai')
  const unset = { adminAPIKey: null, organization: null, project: null, webhookSecret: null }
  try {
    return new Client({ ...unset, apiKey: 'none', baseURL: baseUrl, maxRetries: 0, logLevel: 'off', fetch: send })
  } catch {
    // The client parses this one variable whatever its options are.
    throw new OperatorError('OPENAI_CUSTOM_HEADERS holds a header that is not valid: unset it; it is not used.')
  }
}
