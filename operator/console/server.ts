import { randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { z } from 'zod'
import { insertShownPassages, type ExposureSubject } from '#core/db/exposure.ts'
import type { ServedPassage } from '#core/domain/exposure.ts'
import type { SignedStore } from '#core/index/format/store.ts'
import { sha256 } from '#core/platform/digest.ts'
import { OperatorError } from '#core/platform/errors.ts'
import type { Log } from '#core/platform/log.ts'
import { STYLE_SHEET } from '#jobs/platform/page/document.ts'
import type { Markup } from '#jobs/platform/page/markup.ts'
import { exposureOf } from '#operator/actions/exposure.ts'
import { withAudit, type Operator } from '#operator/actions/operator.ts'
import { askedAt, explain } from '#operator/commands/explain.ts'
import { requestNamed } from '#operator/commands/requests.ts'
import type { RerunDeps } from '#operator/commands/rerun.ts'
import { heldDocuments, passagesOf } from './documents.ts'
import * as page from './page.ts'

const CONSOLE_BOUNDS = { bodyBytesMax: 65_536, connectionsMax: 32, requestTimeoutMs: 30_000 } as const

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; " +
    "form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
} as const

const SCRIPT = readFileSync(new URL('./page.mjs', import.meta.url), 'utf8')
const TOKEN_BYTES = 32

export interface ConsoleDeps {
  readonly operator: Operator
  readonly rerun: RerunDeps
  readonly store: SignedStore
  /** Base URL of the gateway that is asked, with a key that stays in this process. */
  readonly gateway: string
  readonly apiKey: string
  readonly knowledgeBase: { readonly slug: string }
  /** Whose exposure grows with what is shown: that of the key. */
  readonly subject: ExposureSubject
}

/** What is shown for the body of a request, by its path. */
type Views = Readonly<Record<string, (body: unknown) => Promise<Markup>>>

/** What a running service holds, and what its gateway replies. */
export function servedViews(deps: ConsoleDeps): Views {
  return {
    '/ask': (body) => asked(deps, z.strictObject({ question: z.string().min(1) }).parse(body)),
    '/documents': async () => page.renderDocuments(await heldDocuments(deps)),
    '/document': (body) => opened(deps, documentSchema.parse(body)),
  }
}

/**
 * Serves the page to ask and to see on a free port of loopback. A browser reaches nothing without the token of this
 * start, which stands behind the `#` of the address, and pages of other origins reach nothing at all.
 */
export async function startConsole(title: string, views: Views, log: Log) {
  const token = randomBytes(TOKEN_BYTES).toString('base64url')
  const app = Fastify({
    logger: false,
    bodyLimit: CONSOLE_BOUNDS.bodyBytesMax,
    requestTimeout: CONSOLE_BOUNDS.requestTimeoutMs,
    forceCloseConnections: true,
  })
  app.server.maxConnections = CONSOLE_BOUNDS.connectionsMax
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(HEADERS)
    const refusal = refusalOf(request, token)
    if (refusal !== undefined) return await reply.code(403).type('text/plain; charset=utf-8').send(`${refusal}\n`)
    return undefined
  })
  const fixed = (path: string, type: string, text: string): void =>
    void app.get(path, (_, reply) => reply.type(`${type}; charset=utf-8`).send(text))
  fixed('/', 'text/html', page.renderConsole(title, '/ask' in views))
  fixed('/style.css', 'text/css', STYLE_SHEET)
  fixed('/page.mjs', 'text/javascript', SCRIPT)
  for (const [path, render] of Object.entries(views))
    app.post(path, async ({ body }, reply) => sent(reply, await render(body)))
  app.setErrorHandler((error, _, reply) => {
    if (error instanceof OperatorError) return sent(reply.code(422), page.renderFault(error.message))
    if (error instanceof z.ZodError) return sent(reply.code(400), page.renderFault('Type a question first.'))
    log.error('page failed', {}, error)
    return sent(reply.code(500), page.renderFault('That did not work: ask again, or read what the demo prints.'))
  })
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  return { url: `${origin}/#${token}`, close: async () => await app.close() }
}

/** @returns why a request is refused: a name that was bound to loopback, a page of another origin, or no token. */
function refusalOf({ method, headers, socket }: FastifyRequest, token: string): string | undefined {
  const origin = `http://127.0.0.1:${socket.localPort ?? 0}`
  if (`http://${headers.host}` !== origin) return `Open this page at ${origin}.`
  if (method === 'GET') return undefined
  if (headers.origin !== origin) return 'Only the page itself may ask.'
  const given = headers['x-console-token']
  return typeof given === 'string' && timingSafeEqual(sha256(given), sha256(token))
    ? undefined
    : 'The address lacks the token that the demo has printed: open it whole.'
}

function sent(reply: FastifyReply, { source }: Markup): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(source)
}

/** Asks at the gateway as a caller does, and explains the decision. */
async function asked(deps: ConsoleDeps, { question }: { readonly question: string }): Promise<Markup> {
  const { operator, rerun, gateway, apiKey, knowledgeBase } = deps
  const { slug } = knowledgeBase
  const id = await askedAt(gateway, apiKey, question, { knowledgeBase: slug })
  const explained = await explain(rerun, await requestNamed(operator.database, id), question)
  const found = explained.passages
    .slice(0, page.FOUND_SHOWN)
    .map((passage) => ({ chunk: passage.chunk_id, document: passage.document_id, total: passage.document_passages }))
  await recordShown(deps, 'request.explain', id, found)
  return page.renderExplained(explained, page.sameRequest(gateway, { query: question, knowledge_base: slug }))
}

const place = z.coerce.number().int().min(0).default(0)
export const documentSchema = z.strictObject({ revision: z.uuid(), snapshot: z.string().default(''), from: place })

/** Opens a document as it is cut, while the organization may see more passages. */
async function opened(deps: ConsoleDeps, { revision, snapshot, from }: z.infer<typeof documentSchema>) {
  const [exposure] = await exposureOf(deps.operator.database, deps.subject, 1)
  if (exposure?.state === 'stopped') throw new OperatorError('So many passages were shown that more follow later.')
  const passages = await passagesOf(deps, revision, snapshot)
  const cut = passages.slice(from, from + page.CUT_SHOWN).filter(({ withdrawn }) => !withdrawn)
  const read = cut.map(({ passage: { chunk_id: chunk, document, position } }) => ({
    chunk,
    document: document.id,
    total: position.document_passages,
  }))
  await recordShown(deps, 'document.show', `revision:${revision}`, read)
  return page.renderDocument(passages, from)
}

/** What is shown counts as exposure, and the audit trail keeps who saw how much; without a text. */
async function recordShown(
  { operator, subject }: ConsoleDeps,
  action: string,
  of: string,
  passages: readonly ServedPassage[],
): Promise<void> {
  await withAudit(operator, action, async (client) => {
    if (passages.length > 0) await insertShownPassages(client, subject, passages)
    return [undefined, of, { shown: passages.length }]
  })
}
