import { z } from 'zod'
import { rowsOf } from './rows.ts'

export const USAGE_GROUPS = ['client', 'organization', 'knowledge-base', 'day'] as const

const usageRow = z.object({
  group: z.string(),
  requests: z.number(),
  charged: z.number(),
  answers: z.number(),
  abstentions: z.number(),
  refunds: z.number(),
  /** Charged without a reply: the caller disconnected, or the daily cap of refunds was reached. */
  failures: z.number(),
  passages: z.number(),
  response_bytes: z.number(),
  /** Tokens that the provider reported; null if it reported none. */
  query_embedding_tokens: z.number().nullable(),
  /** Delivered requests for which the provider reported no tokens. */
  requests_without_tokens: z.number(),
  /** Tokens that rewriters and readers reported; null if they reported none. */
  rewriting_tokens: z.number().nullable(),
  reader_tokens: z.number().nullable(),
})

/** One pass over the ledger by its index on time. Names are joined, so a renamed object keeps one row. */
const report = (group: string) => rowsOf(usageRow)<[from: Date, to: Date, limit: number]>`
  select ${group} as "group", count(*)::float8 as requests, count(*) filter (where l.charged)::float8 as charged,
    count(*) filter (where l.outcome ->> 'decision' = 'answer' and l.state = 'delivered')::float8 as answers,
    count(*) filter (where l.outcome ->> 'decision' = 'abstain' and l.state = 'delivered')::float8 as abstentions,
    count(*) filter (where l.state = 'refunded')::float8 as refunds,
    count(*) filter (where l.state = 'failed')::float8 as failures,
    coalesce(sum((l.outcome ->> 'result_count')::bigint) filter (where l.state = 'delivered'), 0)::float8 as passages,
    coalesce(sum((l.outcome ->> 'response_bytes')::bigint) filter (where l.state = 'delivered'),
    0)::float8 as response_bytes,
    sum((l.outcome ->> 'query_embedding_tokens')::bigint)::float8 as query_embedding_tokens,
    count(*) filter (where l.state = 'delivered'
    and l.outcome ->> 'query_embedding_tokens' is null)::float8 as requests_without_tokens,
    sum((l.outcome ->> 'rewriting_tokens')::bigint)::float8 as rewriting_tokens,
    sum((l.outcome ->> 'reader_tokens')::bigint)::float8 as reader_tokens
  from ledger l
  join organizations o on o.id = l.organization_id
  join clients c on c.id = l.client_id
  join knowledge_bases k on k.id = l.knowledge_base_id
  where l.admitted_at >= $1 and l.admitted_at < $2
  group by 1
  order by 1
  limit $3`
/** Counts requests admitted at or after `from` and before `to`, by the name of a group; days are in UTC. */
export const usageReports: Readonly<Record<(typeof USAGE_GROUPS)[number], ReturnType<typeof report>>> = {
  client: report("o.name || '/' || c.name"),
  organization: report('o.name'),
  'knowledge-base': report('k.slug'),
  day: report("to_char(l.admitted_at at time zone 'utc', 'YYYY-MM-DD')"),
}
