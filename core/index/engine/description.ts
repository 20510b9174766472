import { z } from 'zod'

/** Engines that a version may be built for: the index of its artifact, or an index in an OpenSearch cluster. */
export const ENGINES = ['local', 'opensearch'] as const
export type Engine = (typeof ENGINES)[number]

/** What the signed manifest holds of a version's index in the cluster. */
export const engineSchema = z.strictObject({
  name: z.literal('opensearch'),
  /** See `writeIndex` of `core/engine/index-writer.ts`. */
  index: z.string().regex(/^evidence-[0-9a-f-]{36}-[0-9a-f]{12}$/),
  /** UUID that the cluster gave the index; another index of the same name has another one. */
  uuid: z.string().regex(/^[\w-]{1,64}$/),
  shards: z.int().positive().max(1_024),
  count: z.int().positive(),
  /** Operations that wrote the index, summed over its shards; every later write adds to them. */
  operations: z.int().positive(),
  /** SHA-256 over the documents in the order of rows, without their vectors. */
  digest: z.string().regex(/^[0-9a-f]{64}$/),
})
export type EngineDescription = z.infer<typeof engineSchema>

/** An artifact whose files are written, before its manifest. */
export interface UnsignedArtifact {
  readonly folder: string
  readonly passages: number
  /** Undefined: a version without vectors. */
  readonly dimensions: number | undefined
}
