import { z } from 'zod'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { searchNodeService } from '#core/rpc/messages.ts'
import type { SearchQuery, SearchResult } from '#core/domain/search.ts'
import { SEARCH_NODE_BOUNDS } from './bounds.ts'
import { NodeError } from './node-error.ts'

/**
 * Converts the proto's messages to the project's own types; no other file of the node does. Requests are parsed once;
 * an error names the field, never its value.
 */

const versionId = z.uuid()
const values = z
  .array(z.string().max(SEARCH_BOUNDS.filterValueCharactersMax))
  .max(SEARCH_NODE_BOUNDS.searchFilterValuesMax)
const bytes = z.instanceof(Buffer)

const dayOrAny = z.union([z.literal(''), z.iso.date()])

const filtersSchema = z.object({
  languages: values,
  jurisdictions: values,
  subjects: values,
  anySubject: z.boolean(),
  verificationStatuses: values,
  inForceOn: dayOrAny,
  documents: values,
})

const withdrawnSchema = z.object({
  document: z.uuid(),
  provisions: z.array(z.uuid()).max(SEARCH_BOUNDS.withdrawnProvisionsMax),
  chunkId: z.string().max(SEARCH_BOUNDS.filterValueCharactersMax),
})

const searchSchema = z.object({
  versionId,
  projection: bytes.refine(({ length }) => length === 0 || length === 32),
  queryVector: bytes,
  queryText: z.string().refine((text) => text.length <= 2 * SEARCH_BOUNDS.queryCharactersMax && text.isWellFormed()),
  rewritten: z
    .array(
      z
        .string()
        .max(2 * SEARCH_BOUNDS.rewrittenCharactersMax)
        .refine((text) => text.isWellFormed()),
    )
    .max(SEARCH_BOUNDS.rewrittenQueriesMax),
  limit: z.int().min(1).max(SEARCH_BOUNDS.searchLimitMax),
  filters: filtersSchema,
  entitled: filtersSchema.nullish(),
  rowsOnly: z.boolean(),
  onlyRows: bytes,
  withdrawn: z.array(withdrawnSchema).max(SEARCH_BOUNDS.withdrawalsMax),
  ranking: z.object({
    expansion: z.int().min(0).max(SEARCH_BOUNDS.rowsScoredMinMax),
    denseWeight: z.number().min(0).max(1),
    perDocumentMax: z.int().min(0).max(SEARCH_BOUNDS.searchLimitMax),
    collapseRevisionsOn: dayOrAny,
  }),
})

const prepareSchema = z.object({
  versionId,
  manifestDigest: bytes.refine((digest) => digest.length === 32),
  verify: z.boolean(),
})
const releaseSchema = z.object({ versionId })

/** @throws NodeError INVALID_ARGUMENT. */
export function parseSearch(request: unknown): SearchQuery {
  const {
    queryVector,
    queryText: text,
    entitled,
    ranking,
    onlyRows,
    projection,
    ...query
  } = parse(searchSchema, request)
  const vector = queryVector.length === 0 ? undefined : parseVector(queryVector)
  if (vector === undefined && text.trim() === '') throw invalid('queryText')
  const { expansion, ...rest } = ranking
  return {
    ...query,
    projection: projection.length === 0 ? undefined : projection.toString('hex'),
    vector,
    text,
    entitled: entitled ?? query.filters,
    ranking: { ...rest, rowsScoredMin: expansion === 0 ? SEARCH_BOUNDS.rowsScoredMinDefault : expansion },
    onlyRows: onlyRows.length === 0 ? undefined : new Uint8Array(onlyRows),
  }
}

/** @throws NodeError INVALID_ARGUMENT. */
export function parsePrepare(request: unknown): z.output<typeof prepareSchema> {
  return parse(prepareSchema, request)
}

/** @throws NodeError INVALID_ARGUMENT. */
export function parseRelease(request: unknown): string {
  return parse(releaseSchema, request).versionId
}

/** Encodes a `SearchReply`. A scoring thread does this, so that the event loop only forwards bytes. */
export function encodeSearchReply(result: SearchResult): Uint8Array {
  const method = searchNodeService['Search']
  if (method === undefined) throw new Error('the proto names no method Search')
  // A copy: the encoder's buffer is part of a larger one, which would be sent to the event loop as a whole.
  return new Uint8Array(method.responseSerialize(result))
}

/** Refuses vectors that hold NaN or have length 0: usearch returns arbitrary rows for them. */
function parseVector(encoded: Buffer): Float32Array {
  if (encoded.length % 4 !== 0) throw invalid('queryVector')
  const vector = new Float32Array(encoded.length / 4)
  new Uint8Array(vector.buffer).set(encoded)
  let squares = 0
  for (let at = 0; at < vector.length; at++) squares += (vector[at] ?? 0) * (vector[at] ?? 0)
  if (!Number.isFinite(squares) || squares === 0) throw invalid('queryVector')
  return vector
}

/**
 * @param dimensions of the version; undefined: it has no vectors.
 * @throws NodeError INVALID_ARGUMENT if the query vector and the version differ in dimensions.
 */
export function assertDimensions(vector: Float32Array, dimensions: number | undefined): void {
  if (dimensions === undefined)
    throw new NodeError('INVALID_ARGUMENT', 'The version has no vectors; search it by words alone.')
  if (vector.length !== dimensions)
    throw new NodeError(
      'INVALID_ARGUMENT',
      `The query vector has ${vector.length} dimensions and the version ${dimensions}; embed the ` +
        'query as the passages were.',
    )
}

function parse<T>(schema: z.ZodType<T>, request: unknown): T {
  const parsed = schema.safeParse(request)
  if (!parsed.success) throw invalid(parsed.error.issues[0]?.path.join('.') ?? '')
  return parsed.data
}

/** @param field in camel case; the message names it as the proto does. */
function invalid(field: string): NodeError {
  const name = field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return new NodeError(
    'INVALID_ARGUMENT',
    `The field ${name} does not match the proto's description; correct it before sending it again.`,
  )
}
