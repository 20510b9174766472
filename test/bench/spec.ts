import { z } from 'zod'
import { inventedCorpus } from './source.ts'
import type { BenchCorpus } from './source.ts'

/** A corpus in a few words, from which each process makes it anew. */
export const corpusSpecSchema = z.strictObject({
  kind: z.literal('invented'),
  passages: z.int(),
  dimensions: z.int(),
  seed: z.int(),
})
export type CorpusSpec = z.infer<typeof corpusSpecSchema>

export function openCorpus(spec: CorpusSpec): BenchCorpus {
  return inventedCorpus(spec, spec.dimensions)
}
