import { z } from 'zod'
import { realCorpus } from './real/corpus.ts'
import { inventedCorpus, type BenchCorpus } from './source.ts'

/** A corpus in a few words, from which each process makes it anew. */
export const corpusSpecSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('invented'), passages: z.int(), dimensions: z.int(), seed: z.int() }),
  z.strictObject({ kind: z.literal('real'), passages: z.int(), dataDir: z.string(), seed: z.int() }),
])
export type CorpusSpec = z.infer<typeof corpusSpecSchema>

export function openCorpus(spec: CorpusSpec): BenchCorpus {
  switch (spec.kind) {
    case 'invented':
      return inventedCorpus(spec, spec.dimensions)
    case 'real':
      return realCorpus(spec)
    default:
      return spec satisfies never
  }
}
