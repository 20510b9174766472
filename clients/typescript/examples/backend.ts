/**
 * A backend that quotes law: POST /ask with a question. It quotes only where the decision is `answer`, and only
 * passages that the public trace proves. A failure of the service is never shown as "nothing found".
 */
import { createServer } from 'node:http'
import { EvidenceClient, RateLimited, Refusal, verify, type Answer } from 'evidence-retrieval-client'

const QUESTION_CHARACTERS_MAX = 4_000
const { EVIDENCE_URL = '', EVIDENCE_API_KEY = '', EVIDENCE_KNOWLEDGE_BASE = '' } = process.env
const { EVIDENCE_TRACE = '', EVIDENCE_PUBLIC_KEY = '', PORT = '8080' } = process.env
const client = new EvidenceClient({ baseUrl: EVIDENCE_URL, apiKey: EVIDENCE_API_KEY })

interface Page {
  readonly status: number
  readonly body: object
}

function quotes({ results, version, request_id: requestId }: Answer): Page {
  const quoted = results.map(({ text, citation, document }) => ({
    text,
    source: `${document.title}, ${citation.label}`,
    href: citation.source_anchor,
  }))
  return { status: 200, body: { quoted, version, requestId } }
}

async function ask(question: string): Promise<Page> {
  const reply = await client.retrieve({ query: question, knowledge_base: EVIDENCE_KNOWLEDGE_BASE })
  if (reply.decision === 'abstain') {
    const missing = reply.abstention.unsupported_explicit_references.map(({ text, reason }) => `${text}: ${reason}`)
    return { status: 200, body: { quoted: [], why: 'no sufficient evidence', missing } }
  }
  const day = new Date().toISOString().slice(0, 10)
  const { verdict, message } = await verify(reply, { trace: EVIDENCE_TRACE, publicKey: EVIDENCE_PUBLIC_KEY, day })
  return verdict === 'proved' ? quotes(reply) : { status: 502, body: { why: `${verdict}: ${message}` } }
}

/** What a user is told; the cause goes to the log with the id by which the operator finds the request. */
function failure(error: unknown): Page {
  const id = error instanceof Refusal ? ` ${error.requestId}` : ''
  process.stderr.write(`${String(error)}${id}\n`)
  return { status: error instanceof RateLimited ? 429 : 503, body: { why: 'the law could not be searched just now' } }
}

async function readQuestion(chunks: AsyncIterable<unknown>): Promise<string> {
  let question = ''
  for await (const chunk of chunks) {
    question += String(chunk)
    if (question.length > QUESTION_CHARACTERS_MAX) throw new Error('the question is too long')
  }
  return question
}

const server = createServer((incoming, outgoing) => {
  const asked = incoming.setEncoding('utf8')
  const page = incoming.url === '/ask' ? readQuestion(asked).then(ask) : Promise.resolve({ status: 404, body: {} })
  void page.catch(failure).then(({ status, body }) => {
    outgoing.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
})
server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write('listening\n'))
