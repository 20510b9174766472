import { z } from 'zod'

const replySchema = z.object({
  results: z
    .array(
      z.object({
        text: z.string(),
        score: z.number(),
        citation: z.object({ label: z.string(), source_anchor: z.string() }),
      }),
    )
    .optional(),
  abstention: z
    .object({
      decision: z.enum(['answer', 'abstain']),
      signal: z.string(),
      threshold: z.number(),
      observed_value: z.number(),
    })
    .optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
})

export interface RetrieveBody {
  readonly query: string
  readonly knowledge_base: string
  readonly filters?: { readonly language?: readonly string[]; readonly jurisdiction?: readonly string[] }
}

/** One real exchange with the gateway. */
export interface Exchanged {
  readonly status: number
  readonly reply: z.infer<typeof replySchema>
}

const TIMEOUT_MS = 20_000

export async function exchange(baseUrl: string, key: string, body: RetrieveBody): Promise<Exchanged> {
  const response = await fetch(`${baseUrl}/v1/retrieve`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  })
  return { status: response.status, reply: replySchema.parse(await response.json()) }
}

/** Returns the first candidate with this decision; undefined when there is none. */
export async function firstDecided(
  decision: 'answer' | 'abstain',
  candidates: readonly string[],
  ask: (query: string) => Promise<Exchanged>,
): Promise<string | undefined> {
  for (const query of candidates) {
    const { reply } = await ask(query)
    if (reply.abstention?.decision === decision) return query
  }
  return undefined
}

/** Returns the shell command that repeats an exchange. */
export function curlLine(baseUrl: string, key: string, body: RetrieveBody): string {
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''")
  return (
    `curl -s ${baseUrl}/v1/retrieve -H 'Authorization: Bearer ${key}' -H 'Content-Type: ` +
    `application/json' -d '${quoted}'`
  )
}

const TEXT_SHOWN = 240

export function describeExchange({ status, reply }: Exchanged): string {
  if (reply.error !== undefined) return `   → ${status} ${reply.error.code}: ${reply.error.message}`
  const { abstention, results = [] } = reply
  if (abstention === undefined) return `   → ${status}`
  const relation = abstention.observed_value >= abstention.threshold ? '≥' : '<'
  const head =
    `   → ${status} ${abstention.decision}: ${abstention.signal} ` +
    `${abstention.observed_value.toFixed(3)} ${relation} threshold ${abstention.threshold.toFixed(3)}, ` +
    `${results.length} passage(s)`
  const passages = results.map(
    ({ text, score, citation }, index) =>
      `     ${index + 1}. ${citation.label}  (${score.toFixed(3)})  ${citation.source_anchor}\n` +
      `        ${shorten(text)}`,
  )
  return [head, ...passages].join('\n')
}

function shorten(text: string): string {
  const line = text.replaceAll(/\s+/gu, ' ')
  return line.length <= TEXT_SHOWN ? line : `${line.slice(0, TEXT_SHOWN)}…`
}
