import { z } from 'zod'

const share = z.number().min(0).max(1)
const interval = z.tuple([share, share])
const metrics = ['ndcg@10', 'recall@5', 'recall@10', 'recall@100', 'map@10', 'mrr@10'] as const

const system = z.strictObject({
  'ndcg@10': share,
  'recall@5': share,
  'recall@10': share,
  'recall@100': share,
  'map@10': share,
  'mrr@10': share,
  ci: z.record(z.enum(metrics), interval),
})

/** The public fields of `--json`; no other fields are allowed. */
export const publishedFigures = z.strictObject({
  dataset: z.string(),
  passages: z.int().positive(),
  queries: z.int().positive(),
  systems: z.strictObject({ lexical: system, dense: system, hybrid: system }),
  abstention: z
    .strictObject({
      signal: z.string(),
      auroc: share,
      aurc: share,
      ece: share,
      target_risk: share,
      coverage_at_target: share,
      folds: z.int().positive(),
    })
    .nullable(),
  filtered_recall: z.record(z.enum(['100', '50', '10', '1', '0.1', '0.01']), share),
  about: z.strictObject({
    release: z.string(),
    commit: z.string(),
    model: z.string().nullable(),
    model_digest: z.string().nullable(),
    settings: z.array(z.string()),
    embedding_tokens: z.int(),
    seconds: z.number().positive(),
    rss_mb: z.int().positive(),
  }),
  /** By the id of each question. */
  per_question: z.record(z.string(), z.record(z.enum(metrics), share)),
  latency_ms: z.strictObject({ p50: z.number().positive(), p99: z.number().positive() }),
})
