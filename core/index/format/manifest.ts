import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { cosineStatisticsSchema } from '#core/index/vectors/cosine-statistics.ts'

/** Format 3 lacks `cosines`; its cosines count as they are. An artifact without statistics is still written in it. */
export const ARTIFACT_FORMAT = 4
const ARTIFACT_FORMAT_WITHOUT_STATISTICS = 3
export const MANIFEST_FILE = 'manifest.json'
export const SIGNATURE_FILE = 'manifest.sig'

/** The files that a manifest names. The layout file of each part (`facets`, `lexical`, …) describes them. */
export const ARTIFACT_FILES = [
  'vectors.f32',
  'vectors.i8',
  'cells.bin',
  'passages.jsonl',
  'passages.offsets',
  'facets.json',
  'facets.bin',
  'documents.bin',
  'rows.bin',
  'lexical.json',
  'lexical.terms',
  'lexical.postings',
  'forward.json',
  'forward.tokens',
  'forward.offsets',
  'forward.pairs',
  'references.json',
  'references.bin',
] as const
export type ArtifactFile = (typeof ARTIFACT_FILES)[number]

const fileSchema = z.strictObject({ bytes: z.int().nonnegative(), sha256: z.string().regex(/^[0-9a-f]{64}$/) })

const prefixSchema = z.string().max(BOUNDS.embeddingPrefixCharactersMax).default('')

/** Reads stored spaces of every release: a field that `storedSpace` leaves out gets its default. */
export const embeddingSpaceSchema = z
  .strictObject({
    provider: z.enum(['local', 'openai']),
    model: z.string().min(1).max(BOUNDS.embeddingModelCharactersMax),
    dimensions: z.int().min(BOUNDS.embeddingDimensionsMin).max(BOUNDS.embeddingDimensionsMax),
    /** Written before each query, before it is embedded. */
    query_prefix: prefixSchema,
    passage_prefix: prefixSchema,
    /** Whether the endpoint is asked for this number of dimensions, which shortens the vectors of some models. */
    requests_dimensions: z.boolean().optional(),
  })
  .transform((space) => ({
    ...space,
    requests_dimensions: space.requests_dimensions ?? requestsDimensionsByDefault(space.provider),
  }))
/** The embedding space. Query and passages must share it exactly. */
export type EmbeddingSpace = z.infer<typeof embeddingSpaceSchema>

/** Release 0.2.0 sent `dimensions` in every request. */
function requestsDimensionsByDefault(provider: 'local' | 'openai'): boolean {
  return provider === 'openai'
}

/**
 * Returns a space as it is stored: without fields at their default. An earlier release reads the spaces that it can
 * reproduce, and refuses the others because of a field that it does not know.
 */
export function storedSpace(space: EmbeddingSpace): z.input<typeof embeddingSpaceSchema> {
  const { query_prefix, passage_prefix, requests_dimensions, ...always } = space
  return {
    ...always,
    ...(query_prefix === '' ? {} : { query_prefix }),
    ...(passage_prefix === '' ? {} : { passage_prefix }),
    ...(requests_dimensions === requestsDimensionsByDefault(space.provider) ? {} : { requests_dimensions }),
  }
}

const manifestFields = {
  projection_id: z.uuid(),
  version_id: z.uuid(),
  passages: z.int().positive(),
  documents: z.int().positive(),
  embedding: embeddingSpaceSchema,
  index: z.strictObject({
    metric: z.literal('cos'),
    scalar: z.literal('i8'),
    /** Components of a head; see `vectors/layout.ts`. */
    head: z.int().positive(),
    cells: z.int().positive(),
    /** See `Reach` in `vectors/layout.ts`. */
    reach: z.strictObject({ near: z.number().positive(), far: z.number().positive() }),
  }),
  /** SHA-256 over the sorted SHA-256 values of the source snapshots. */
  snapshots_digest: z.string().regex(/^[0-9a-f]{64}$/),
  files: z.record(z.enum(ARTIFACT_FILES), fileSchema),
}

export const manifestSchema = z
  .discriminatedUnion('format', [
    z.strictObject({
      format: z.literal(ARTIFACT_FORMAT),
      ...manifestFields,
      /** See `cosineStatisticsSchema`. */
      cosines: cosineStatisticsSchema,
    }),
    z.strictObject({
      format: z.literal(ARTIFACT_FORMAT_WITHOUT_STATISTICS),
      ...manifestFields,
      cosines: z.undefined().optional(),
    }),
  ])
  .refine(
    ({ cosines, embedding }) =>
      cosines === undefined || Buffer.from(cosines.mean, 'base64').length === embedding.dimensions * 4,
    'the mean vector has another number of dimensions than the space',
  )
export type Manifest = z.infer<typeof manifestSchema>

/** The format of an artifact with or without statistics of its cosines. */
export function formatOf(cosines: Manifest['cosines']): Manifest['format'] {
  return cosines === undefined ? ARTIFACT_FORMAT_WITHOUT_STATISTICS : ARTIFACT_FORMAT
}

/** The text of manifest.json, which is signed. */
export function manifestText(manifest: Manifest): string {
  return canonicalJson({ ...manifest, embedding: storedSpace(manifest.embedding) })
}

/** Ed25519 (RFC 8032) signature, 64 bytes. `privateKeyDer` is PKCS #8. */
export function signManifest(manifestBytes: Uint8Array, privateKeyDer: Buffer): Buffer {
  return sign(null, manifestBytes, createPrivateKey({ key: privateKeyDer, format: 'der', type: 'pkcs8' }))
}

/** The public key (SPKI, DER) of a private one (PKCS #8, DER). */
export function publicKeyOf(privateKeyDer: Buffer): Buffer {
  const privateKey = createPrivateKey({ key: privateKeyDer, format: 'der', type: 'pkcs8' })
  return createPublicKey(privateKey).export({ format: 'der', type: 'spki' })
}

/** Several keys are accepted while the key is rotated: versions are served that earlier keys signed. Keys are SPKI. */
export function manifestSignatureHolds(
  manifestBytes: Uint8Array,
  signature: Uint8Array,
  publicKeysDer: readonly Uint8Array[],
): boolean {
  return publicKeysDer.some((key) =>
    verify(null, manifestBytes, createPublicKey({ key: Buffer.from(key), format: 'der', type: 'spki' }), signature),
  )
}
