import { z } from 'zod'

export const READER_FORMATS = ['cohere', 'tei'] as const

const index = z.int().nonnegative()
const scored = z.array(z.object({ index, score: z.number() }))
const cohereReply = z.object({ results: z.array(z.object({ index, relevance_score: z.number() })) })

interface Format {
  body(model: string, query: string, texts: readonly string[]): object
  /** Scores with the index of their text, in any order. */
  readonly reply: z.ZodType<z.infer<typeof scored>>
}

export const RERANK_FORMATS: Readonly<Record<(typeof READER_FORMATS)[number], Format>> = {
  cohere: {
    body: (model, query, documents) => ({ model, query, documents, top_n: documents.length }),
    reply: cohereReply.transform(({ results }) =>
      results.map(({ index: at, relevance_score: score }) => ({ index: at, score })),
    ),
  },
  // The server has one model, so none is named. It refuses a text that is too long unless it may cut it.
  tei: { body: (_model, query, texts) => ({ query, texts, truncate: true }), reply: scored },
}

/** @returns one finite score a text, in their order; undefined for any other reply. */
export function rerankScoresIn(format: Format, reply: unknown, texts: number): readonly number[] | undefined {
  const { data } = format.reply.safeParse(reply)
  const scores = new Map(data?.map(({ index: at, score }) => [at, score]))
  const inOrder = Array.from({ length: texts }, (_, at) => scores.get(at) ?? Number.NaN)
  return data?.length === texts && inOrder.every(Number.isFinite) ? inOrder : undefined
}
