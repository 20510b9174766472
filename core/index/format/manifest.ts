import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { canonicalJson } from '#core/platform/digest.ts'
import { cosineStatisticsSchema } from '#core/index/vectors/cosine-statistics.ts'
import { cellsSchema } from '#core/index/vectors/cells.ts'
import type { CellsDescription } from '#core/index/vectors/cells.ts'

/**
 * Formats 3 and 4 hold the vectors in projections, which are no longer read; format 3 also lacks `cosines`, and its
 * cosines count as they are.
 */
export const ARTIFACT_FORMAT = 5
export const MANIFEST_FILE = 'manifest.json'
export const SIGNATURE_FILE = 'manifest.sig'

const fileSchema = z.strictObject({ bytes: z.int().nonnegative(), sha256: z.string().regex(/^[0-9a-f]{64}$/) })

/** The files of every format. The layout file of each part (`facets`, `lexical`, …) describes them. */
const commonFiles = {
  'vectors.f32': fileSchema,
  'passages.jsonl': fileSchema,
  'passages.offsets': fileSchema,
  'facets.json': fileSchema,
  'facets.bin': fileSchema,
  'documents.bin': fileSchema,
  'rows.bin': fileSchema,
  'lexical.json': fileSchema,
  'lexical.terms': fileSchema,
  'lexical.postings': fileSchema,
  'forward.json': fileSchema,
  'forward.tokens': fileSchema,
  'forward.offsets': fileSchema,
  'forward.pairs': fileSchema,
  'references.json': fileSchema,
  'references.bin': fileSchema,
} as const
const filesSchema = z.strictObject({
  ...commonFiles,
  'vectors.i4': fileSchema,
  'cells.u32': fileSchema.optional(),
  'cells.i4': fileSchema.optional(),
  'graph.usearch': fileSchema.optional(),
})
/** Only of a version with cells. */
export const CELL_FILES = ['cells.u32', 'cells.i4', 'graph.usearch'] as const
const formerFilesSchema = z.strictObject({ ...commonFiles, 'vectors.i8': fileSchema, 'cells.bin': fileSchema })

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

/** Whether a vector is a sum of features of words, as the local embedder makes it; see decision 0001. */
export function hashesWords({ provider, model }: EmbeddingSpace): boolean {
  return provider === 'local' && model.startsWith('hashed-words-')
}

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
  /** SHA-256 over the sorted SHA-256 values of the source snapshots. */
  snapshots_digest: z.string().regex(/^[0-9a-f]{64}$/),
}

const formerFields = {
  ...manifestFields,
  index: z.strictObject({
    metric: z.literal('cos'),
    scalar: z.literal('i8'),
    head: z.int().positive(),
    cells: z.int().positive(),
    reach: z.strictObject({ near: z.number().positive(), far: z.number().positive() }),
  }),
  files: formerFilesSchema,
}

export const manifestSchema = z
  .discriminatedUnion('format', [
    z.strictObject({
      format: z.literal(ARTIFACT_FORMAT),
      ...manifestFields,
      index: z.strictObject({
        metric: z.literal('cos'),
        /** Absent in a small version. */
        cells: cellsSchema.optional(),
      }),
      /** See `cosineStatisticsSchema`; absent if no queries were at hand. */
      cosines: cosineStatisticsSchema.optional(),
      files: filesSchema,
    }),
    z.strictObject({ format: z.literal(4), ...formerFields, cosines: cosineStatisticsSchema }),
    z.strictObject({ format: z.literal(3), ...formerFields, cosines: z.undefined().optional() }),
  ])
  .refine(
    ({ cosines, embedding }) =>
      cosines === undefined || Buffer.from(cosines.mean, 'base64').length === embedding.dimensions * 4,
    'the mean vector has another number of dimensions than the space',
  )
  .refine(
    (manifest) =>
      manifest.format !== ARTIFACT_FORMAT ||
      CELL_FILES.every((name) => (manifest.files[name] === undefined) === (manifest.index.cells === undefined)),
    'the cells and their files do not come together',
  )
export type Manifest = z.infer<typeof manifestSchema>
/** A manifest as builds write it. */
export type WrittenManifest = Extract<Manifest, { readonly format: typeof ARTIFACT_FORMAT }>

/** The files that an artifact of the present format may have. */
export const ARTIFACT_FILES = filesSchema.keyof().options
const ALL_FILES = [...new Set([...ARTIFACT_FILES, ...formerFilesSchema.keyof().options])]
export type ArtifactFile = (typeof ALL_FILES)[number]

/** A file that a manifest names. */
export interface NamedFile {
  readonly name: ArtifactFile
  readonly bytes: number
  /** Lower-case hex. */
  readonly sha256: string
}

/** The files of an artifact, always in the same order. */
export function filesOf(manifest: Pick<Manifest, 'files'>): readonly NamedFile[] {
  const files: { readonly [Name in ArtifactFile]?: z.infer<typeof fileSchema> | undefined } = manifest.files
  return ALL_FILES.flatMap((name) => {
    const file = files[name]
    return file === undefined ? [] : [{ name, ...file }]
  })
}

/** The cells of an artifact; undefined if it has none that are read. */
export function cellsOf(manifest: Manifest): CellsDescription | undefined {
  return manifest.format === ARTIFACT_FORMAT ? manifest.index.cells : undefined
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
