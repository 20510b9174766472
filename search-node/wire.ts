import { z } from 'zod'
import { BOUNDS } from '#core/platform/bounds.ts'
import { NodeError } from './node-error.ts'
import type { SearchInput } from './search/pipeline.ts'

/** Requests as they are believed: parsed once, here. Messages name the field, never its value. */

const projectionId = z.uuid()
const values = z.array(z.string().max(BOUNDS.filterValueCharactersMax)).max(BOUNDS.searchFilterValuesMax)
const bytes = z.instanceof(Buffer)

const dayOrAny = z.union([z.literal(''), z.iso.date()])

const filtersSchema = z.object({
  languages: values,
  jurisdictions: values,
  subjects: values,
  any_subject: z.boolean(),
  verification_statuses: values,
  in_force_on: dayOrAny,
  documents: values,
})

const searchSchema = z.object({
  projection_id: projectionId,
  query_vector: bytes,
  query_text: z.string().refine((text) => text.length <= 2 * BOUNDS.queryCharactersMax && text.isWellFormed()),
  limit: z.int().min(1).max(BOUNDS.searchLimitMax),
  filters: filtersSchema,
  entitled: filtersSchema.nullish(),
  without_text: z.boolean(),
  only_rows: bytes,
  ranking: z.object({
    expansion: z.int().min(0).max(BOUNDS.searchExpansionMax),
    fusion: z.enum(['weighted', 'rrf']),
    dense_weight: z.number().min(0).max(1),
    rrf_k: z.int().min(1).max(1_000),
    per_document_max: z.int().min(0).max(BOUNDS.searchLimitMax),
    collapse_revisions_on: dayOrAny,
  }),
})

const prepareSchema = z.object({
  projection_id: projectionId,
  manifest_digest: bytes.refine((digest) => digest.length === 32),
})
const releaseSchema = z.object({ projection_id: projectionId })

export interface ParsedSearch {
  readonly projectionId: string
  readonly input: SearchInput
}

/** @throws NodeError INVALID_ARGUMENT. */
export function parseSearch(request: unknown): ParsedSearch {
  const {
    projection_id,
    query_vector,
    query_text: text,
    limit,
    filters,
    entitled,
    ranking,
    without_text,
    only_rows,
  } = parse(searchSchema, request)
  const vector = query_vector.length === 0 ? undefined : parseVector(query_vector)
  if (vector === undefined && text.trim() === '') throw invalid('query_text')
  const expansion = ranking.expansion === 0 ? BOUNDS.searchExpansionDefault : ranking.expansion
  return {
    projectionId: projection_id,
    input: {
      vector,
      text,
      limit,
      filters,
      entitled: entitled ?? filters,
      ranking: { ...ranking, expansion },
      withoutText: without_text,
      onlyRows: only_rows.length === 0 ? undefined : new Uint8Array(only_rows),
    },
  }
}

export function parsePrepare(request: unknown): { readonly projectionId: string; readonly digest: Buffer } {
  const { projection_id, manifest_digest } = parse(prepareSchema, request)
  return { projectionId: projection_id, digest: manifest_digest }
}

export function parseRelease(request: unknown): string {
  return parse(releaseSchema, request).projection_id
}

/** usearch answers a query with a NaN or without direction with arbitrary rows, so neither gets that far. */
function parseVector(encoded: Buffer): Float32Array {
  if (encoded.length % 4 !== 0) throw invalid('query_vector')
  const vector = new Float32Array(encoded.length / 4)
  new Uint8Array(vector.buffer).set(encoded)
  let squares = 0
  for (const value of vector) squares += value * value
  if (!Number.isFinite(squares) || squares === 0) throw invalid('query_vector')
  return vector
}

/** @throws NodeError INVALID_ARGUMENT if the query lives in another space. */
export function assertDimensions(vector: Float32Array, dimensions: number): void {
  if (vector.length !== dimensions)
    throw new NodeError(
      'INVALID_ARGUMENT',
      `The query vector has ${vector.length} dimensions and the projection ${dimensions}; embed the ` +
        'query as the passages were.',
    )
}

function parse<T>(schema: z.ZodType<T>, request: unknown): T {
  const parsed = schema.safeParse(request)
  if (!parsed.success) throw invalid(parsed.error.issues[0]?.path.join('.') ?? '')
  return parsed.data
}

function invalid(field: string): NodeError {
  return new NodeError(
    'INVALID_ARGUMENT',
    `The field ${field} does not match the proto's description; correct it before sending it again.`,
  )
}
