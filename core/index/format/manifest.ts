import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto'
import { lstat, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { ArtifactError } from '#core/index/artifact-error.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { canonicalJson, sha256 } from '#core/platform/digest.ts'
import { parsedJson } from '#core/platform/json.ts'
import { cosineStatisticsSchema } from '#core/index/vectors/cosine-statistics.ts'
import { descriptionSchema } from './description.ts'
import { engineSchema } from '#core/index/engine/description.ts'
import { ivfSchema } from '#core/index/vectors/ivf-layout.ts'
import { QUERY_EXPANSION_FILES } from '#core/index/query-expansions/layout.ts'

export const ARTIFACT_FORMAT = 1
export const MANIFEST_FILE = 'manifest.json'
export const SIGNATURE_FILE = 'manifest.sig'

const fileSchema = z.strictObject({ bytes: z.int().nonnegative(), sha256: z.string().regex(/^[0-9a-f]{64}$/) })

/** The layout file of each part (`facets`, `lexical`, …) describes its files. */
const filesSchema = z.strictObject({
  'passages.jsonl': fileSchema,
  'passages.offsets': fileSchema,
  'passages.sha256': fileSchema,
  'passages.leaves': fileSchema,
  'sources.jsonl': fileSchema,
  'facets.json': fileSchema,
  'facets.bin': fileSchema,
  'documents.bin': fileSchema,
  'rows.bin': fileSchema,
  'lexical.json': fileSchema,
  'lexical.terms': fileSchema,
  'lexical.postings': fileSchema.optional(),
  'forward.json': fileSchema,
  'forward.tokens': fileSchema,
  'forward.offsets': fileSchema,
  'forward.pairs': fileSchema,
  'grams.json': fileSchema,
  'grams.frequencies': fileSchema,
  'grams.words': fileSchema.optional(),
  'grams.offsets': fileSchema.optional(),
  'references.json': fileSchema,
  'references.bin': fileSchema,
  'vectors.f32': fileSchema.optional(),
  'vectors.sq4': fileSchema.optional(),
  'clusters.u32': fileSchema.optional(),
  'centroids.sq4': fileSchema.optional(),
  'graph.usearch': fileSchema.optional(),
  'search-questions.jsonl': fileSchema.optional(),
  'search-questions.rows': fileSchema.optional(),
  'search-questions.json': fileSchema.optional(),
  'search-questions.terms': fileSchema.optional(),
  'search-questions.postings': fileSchema.optional(),
})
/** Only of a version with vectors that is searched in its own files. */
const SEARCHED_VECTOR_FILES = ['vectors.sq4', 'clusters.u32', 'centroids.sq4', 'graph.usearch'] as const

export const prefixSchema = z.string().max(INDEX_BOUNDS.embeddingPrefixCharactersMax)

export const modelDigestSchema = z.string().regex(/^[0-9a-f]{64}$/)

export const embeddingSpaceSchema = z.strictObject({
  /** `local`: the embedder of an earlier release, whose versions can be read and not asked by vector. */
  provider: z.enum(['local', 'openai']),
  model: z.string().min(1).max(INDEX_BOUNDS.embeddingModelCharactersMax),
  dimensions: z.int().min(INDEX_BOUNDS.embeddingDimensionsMin).max(INDEX_BOUNDS.embeddingDimensionsMax),
  /** Written before each query, before it is embedded. */
  query_prefix: prefixSchema,
  passage_prefix: prefixSchema,
  /** Whether the endpoint is asked for this number of dimensions, which shortens the vectors of some models. */
  requests_dimensions: z.boolean(),
  /** SHA-256 of the model's files in hex, where the endpoint tells it with each reply. */
  model_digest: modelDigestSchema.optional(),
  /** Vectors of the probes of `core/embedding/probes.ts`, base64 of one signed byte a dimension. */
  probes: z.array(z.base64().max(INDEX_BOUNDS.probeCharactersMax)).max(INDEX_BOUNDS.probesMax).optional(),
})
/** The embedding space. Query and passages must share it exactly. */
export type EmbeddingSpace = z.infer<typeof embeddingSpaceSchema>

export const manifestSchema = z
  .strictObject({
    format: z.literal(ARTIFACT_FORMAT),
    version_id: z.uuid(),
    passages: z.int().positive(),
    documents: z.int().positive(),
    /** Absent in a version without vectors, which is searched by words alone. */
    embedding: embeddingSpaceSchema.optional(),
    /** SHA-256 over the sorted SHA-256 values of the source snapshots. */
    snapshots_digest: z.string().regex(/^[0-9a-f]{64}$/),
    /** Root of the Merkle tree over the passages in row order (RFC 6962), from `passages.leaves`. */
    merkle_root: z.string().regex(/^[0-9a-f]{64}$/),
    clusters: ivfSchema.optional(),
    /** See `cosineStatisticsSchema`. */
    cosines: cosineStatisticsSchema.optional(),
    /** Number of query expansions; absent in a version without any. */
    search_questions: z.int().positive().optional(),
    /** What a rewriter is told of the version; absent in one without a rewriter. */
    description: descriptionSchema.optional(),
    /** Day on which a passage must be in force to be served; absent: the day of the request. */
    as_of: z.iso.date().optional(),
    /** Absent in a version that is searched in its own files. */
    engine: engineSchema.optional(),
    files: filesSchema,
  })
  .refine(
    ({ cosines, embedding }) =>
      cosines === undefined || Buffer.from(cosines.mean, 'base64').length === (embedding?.dimensions ?? 0) * 4,
    'the mean vector has another number of dimensions than the space',
  )
  .refine(
    ({ files, embedding, cosines }) =>
      [cosines, files['vectors.f32']].every((part) => (part === undefined) === (embedding === undefined)),
    'the embedding space, the cosines and the vectors do not come together',
  )
  .refine(
    ({ files, embedding, clusters, engine }) =>
      (files['lexical.postings'] === undefined) === (engine !== undefined) &&
      [clusters, ...SEARCHED_VECTOR_FILES.map((name) => files[name])].every(
        (part) => (part === undefined) === (embedding === undefined || engine !== undefined),
      ),
    'a version with an engine has no files to be searched in, and any other has all of them',
  )
  .refine(
    ({ files, search_questions: questions }) =>
      QUERY_EXPANSION_FILES.every((name) => (files[name] === undefined) === (questions === undefined)),
    'the number of search questions and their files do not come together',
  )
export type Manifest = z.infer<typeof manifestSchema>

export const ARTIFACT_FILES = filesSchema.keyof().options
export type ArtifactFile = (typeof ARTIFACT_FILES)[number]

export interface NamedFile {
  readonly name: ArtifactFile
  readonly bytes: number
  /** Lower-case hex. */
  readonly sha256: string
}

/** The files of an artifact, always in the same order. */
export function filesOf({ files }: Pick<Manifest, 'files'>): readonly NamedFile[] {
  return ARTIFACT_FILES.flatMap((name) => {
    const file = files[name]
    return file === undefined ? [] : [{ name, ...file }]
  })
}

/** The text of manifest.json, which is signed. */
export function manifestText(manifest: Manifest): string {
  return canonicalJson(manifest)
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

const MANIFEST_BYTES_MAX = 64 * 1024

/** What a manifest must be: its SHA-256, and the keys of which one signed it (SPKI). */
export interface Signed {
  readonly digest: Uint8Array
  readonly publicKeysDer: readonly Uint8Array[]
}

/**
 * Verifies the manifest alone: digest, signature and schema, and returns it with its SHA-256. The other files are not
 * checked. Every reader of a manifest reads it here.
 * @param expectedDigest `unrecorded`: a build finds an artifact that an earlier attempt wrote.
 */
export async function readSignedManifest(
  folder: string,
  publicKeysDer: readonly Uint8Array[],
  expectedDigest: Uint8Array | 'unrecorded',
) {
  const bytes = await readSmall(folder, MANIFEST_FILE)
  if (expectedDigest !== 'unrecorded' && !sha256(bytes).equals(expectedDigest))
    throw new ArtifactError('The manifest has another digest than the one asked for.')
  if (!manifestSignatureHolds(bytes, await readSmall(folder, SIGNATURE_FILE), publicKeysDer))
    throw new ArtifactError(
      'The signature of the manifest holds under no key of MANIFEST_PUBLIC_KEY: add the key that signed it, or build ' +
        'the version again.',
    )
  return { manifest: parseManifest(bytes), digest: sha256(bytes) }
}

/** Reads a manifest whose signature is verified elsewhere. */
export async function readManifest(folder: string): Promise<Manifest> {
  return parseManifest(await readSmall(folder, MANIFEST_FILE))
}

function parseManifest(bytes: Buffer): Manifest {
  const parsed = manifestSchema.safeParse(parsedJson(bytes.toString('utf8')))
  if (!parsed.success || manifestText(parsed.data) !== bytes.toString('utf8'))
    throw new ArtifactError(
      'The manifest does not have the form that this version of the service reads; build the artifact again.',
    )
  return parsed.data
}

async function readSmall(folder: string, name: string): Promise<Buffer> {
  try {
    const { size } = await lstat(join(folder, name))
    if (size > MANIFEST_BYTES_MAX) throw new ArtifactError(`${name} is larger than ${MANIFEST_BYTES_MAX} bytes.`)
    return await readFile(join(folder, name))
  } catch (error) {
    if (error instanceof ArtifactError) throw error
    throw new ArtifactError(`The artifact has no readable ${name}; copy it to the artifact store or build it again.`, {
      cause: error,
      absent: true,
    })
  }
}
