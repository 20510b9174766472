import { z } from 'zod'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { EVIDENCE_SIGNALS } from '#core/domain/retrieval-profile.ts'
import { INDEX_BOUNDS } from '#core/index/bounds.ts'
import { VERIFICATION_STATUSES } from '#core/index/passages/record.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { ERROR_REASONS, ServiceError, type ErrorCode, type ErrorDetail } from '#core/platform/errors.ts'

/** Whether the text has at most `charactersMax` Unicode code points, which is how the contract counts characters. */
export function hasAtMostCharacters(charactersMax: number, text: string): boolean {
  // A code point takes one or two UTF-16 units.
  if (text.length <= charactersMax) return true
  if (text.length > 2 * charactersMax) return false
  let count = 0
  for (const character of text) if (character !== '') count++
  return count <= charactersMax
}

/**
 * Any string is well-formed here; a value outside the entitlement is refused later as FILTER_FORBIDDEN. The length is
 * checked before the values, because a body has room for thousands of wrong values, and each would be an issue.
 */
const filterValues = z
  .custom<unknown>(
    (value) => !Array.isArray(value) || value.length <= SEARCH_BOUNDS.filterValuesMax,
    `must hold at most ${SEARCH_BOUNDS.filterValuesMax} values`,
  )
  .pipe(z.array(z.string()).min(1).max(SEARCH_BOUNDS.filterValuesMax))

const PROFILE_FAULT = 'must be active or a UUID'
export const retrievalRequestSchema = z.strictObject({
  query: z
    .string()
    .refine(
      (text) => hasAtMostCharacters(SEARCH_BOUNDS.queryCharactersMax, text),
      `must hold at most ${SEARCH_BOUNDS.queryCharactersMax} characters`,
    )
    .refine((text) => text.trim() !== '', 'must not be blank')
    .refine((text) => !text.includes('\0') && text.isWellFormed(), 'must be well-formed Unicode without NUL')
    .meta({
      description: 'The question, in Unicode code points at most the plan allows; not stored.',
      maxLength: SEARCH_BOUNDS.queryCharactersMax,
      minLength: 1,
    }),
  knowledge_base: z.string().meta({ description: 'Slug of an entitled knowledge base.' }),
  filters: z
    .strictObject({
      language: filterValues.optional().meta({ description: 'BCP 47 codes within the entitlement; alternatives.' }),
      jurisdiction: filterValues
        .optional()
        .meta({ description: 'Jurisdiction codes within the entitlement; alternatives.' }),
      subject: filterValues.optional().meta({ description: 'Subject slugs of the knowledge base; alternatives.' }),
    })
    .optional(),
  top_k: z
    .int()
    .min(1)
    .max(SEARCH_BOUNDS.topKSchemaMax)
    .optional()
    .meta({ description: 'Clamped to the cap of the plan; absent means the cap.' }),
  profile: z
    .union([z.literal('active'), z.uuid(PROFILE_FAULT)], PROFILE_FAULT)
    .optional()
    .meta({ description: 'active, or the id of an explicitly entitled retrieval profile.' }),
})
export type RetrievalRequest = z.infer<typeof retrievalRequestSchema>

/** @param path where the fault is, as `ErrorDetail` says. */
export function invalid(path: string, message: string): ServiceError {
  return new ServiceError('INVALID_REQUEST', { details: [{ path, message }] })
}

/** Zod's issues as error details: where, and a message without values that the caller sent. */
export function detailsOf(error: z.ZodError): readonly ErrorDetail[] {
  return error.issues
    .flatMap((issue) =>
      issue.code === 'unrecognized_keys'
        ? issue.keys.map((key) => ({
            path: pointer([...issue.path, key]),
            message: 'is not a field of the request',
            reason: 'unknown_field' as const,
          }))
        : { path: pointer(issue.path), message: messageOf(issue) },
    )
    .slice(0, GATEWAY_BOUNDS.errorDetailsMax)
}

/** A JSON pointer (RFC 6901) of bounded length in ASCII: names of fields are the caller's. */
export function pointer(path: readonly PropertyKey[]): string {
  if (path.length === 0) return '(body)'
  return path
    .map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .slice(0, GATEWAY_BOUNDS.errorPathCharactersMax)
}

function messageOf(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `must be of type ${issue.expected}`
    case 'too_small':
      return `must be or hold at least ${issue.minimum}`
    case 'too_big':
      return `must be or hold at most ${issue.maximum}`
    default:
      return issue.message
  }
}

const requestId = z.string().regex(/^req_[0-9a-f-]{36}$/)
const traceId = z.string().regex(/^ret_[0-9a-f-]{36}$/)
const timestamp = z.iso.datetime({ precision: 3 })

export const resultSchema = z.strictObject({
  chunk_id: z.string().regex(/^chk_[0-9a-f]+$/),
  text: z.string().meta({ description: `At most ${INDEX_BOUNDS.passageCharactersMax} characters.` }),
  score: z.number().min(0).max(1).meta({ description: 'Orders one reply; not comparable across queries.' }),
  document: z.strictObject({
    id: z.uuid(),
    revision_id: z.uuid(),
    title: z.string(),
    authority: z.string(),
    canonical_url: z.url(),
    published_at: timestamp,
    effective_at: timestamp,
  }),
  citation: z.strictObject({
    label: z.string(),
    source_anchor: z.url(),
    source_snapshot_id: z.uuid().meta({
      description:
        'The captured source. Where the operator publishes a source trace, it resolves at ' +
        '{trace}/{knowledge_base}/snapshots/{source_snapshot_id}, as a page and with .json as data; version resolves ' +
        'at {trace}/{knowledge_base}/versions/{version}. {trace}/verify-reply.mjs proves or refutes a saved reply.',
    }),
  }),
  metadata: z.strictObject({
    language: z.string(),
    jurisdiction: z.string(),
    verification_status: z.enum(VERIFICATION_STATUSES).meta({
      description:
        'verified: the text was found again in the captured bytes of its source, and reviewers signed the version. ' +
        'source-declared: only the source says so. Other states are those of the source.',
    }),
  }),
})
export type Result = z.infer<typeof resultSchema>

const decisionMeta = {
  description:
    'answer iff a passage remains, unsupported_explicit_references is empty and observed_value >= threshold.',
}
export const signalSchema = z.enum(EVIDENCE_SIGNALS).meta({ description: 'What observed_value rests on.' })
export const unsupportedReasonSchema = z.enum(['not_in_corpus', 'outside_filters', 'withdrawn']).meta({
  description:
    'outside_filters: the filters of this request exclude what is held. withdrawn: what would support it is ' +
    'withdrawn from service. not_in_corpus: anything else.',
})

const abstentionSchema = z.strictObject({
  decision: z.enum(['answer', 'abstain']).meta(decisionMeta),
  signal: signalSchema,
  threshold: z.number(),
  observed_value: z.number().meta({ description: '0 when no passage remains.' }),
  unsupported_explicit_references: z.array(
    z.strictObject({ text: z.string(), normalized: z.string(), reason: unsupportedReasonSchema }),
  ),
})
export type Abstention = z.infer<typeof abstentionSchema>

export const retrievalResponseSchema = z.strictObject({
  request_id: requestId,
  knowledge_base: z.string(),
  version: z.uuid(),
  retrieval_profile: z.uuid(),
  results: z.array(resultSchema),
  trace_id: traceId,
  abstention: abstentionSchema,
  usage: z.strictObject({
    query_embedding_tokens: z
      .int()
      .nonnegative()
      .nullable()
      .meta({ description: 'As the provider reported them; null when it does not.' }),
    result_count: z.int().nonnegative(),
    top_k: z
      .int()
      .positive()
      .meta({ description: 'Passages asked for at most: top_k, clamped to the cap of the plan.' }),
    dropped_for_size: z
      .int()
      .nonnegative()
      .meta({ description: 'Passages left out at the end, because the reply would exceed the bytes of the plan.' }),
    response_bytes: z.int().positive().meta({ description: 'Exact length of this body in bytes.' }),
  }),
})
export type RetrievalResponse = z.infer<typeof retrievalResponseSchema>

/** A reply as the contract has it: `results` go with the decision. */
export const answerSchema = retrievalResponseSchema.extend({
  results: z.array(resultSchema).min(1).meta({ description: 'Best first.' }),
  abstention: abstentionSchema.extend({ decision: z.enum(['answer']).meta(decisionMeta) }),
})
export const abstainSchema = retrievalResponseSchema.extend({
  results: z.array(resultSchema).max(0).meta({ description: 'No passage.' }),
  abstention: abstentionSchema.extend({ decision: z.enum(['abstain']).meta(decisionMeta) }),
})
export const replySchema = z.union([answerSchema, abstainSchema])

export const errorReasonSchema = z.enum(ERROR_REASONS).meta({ description: 'For programs.' })
export const errorDetailSchema = z.strictObject({
  path: z.string().meta({ description: 'A JSON pointer into the body, the name of a header, (body) or (plan).' }),
  message: z.string(),
  reason: errorReasonSchema.optional(),
  scope: z
    .string()
    .optional()
    .meta({ description: 'Of exposure: knowledge_base, or document: and its id; other documents are served.' }),
  access_grows_at: timestamp
    .optional()
    .meta({ description: 'Of exposure: when more is served again, the start of a UTC day.' }),
})

/** Builds the body schema of an error reply for a set of codes. */
export function errorResponseSchema(codes: readonly [ErrorCode, ...ErrorCode[]]): z.ZodType {
  return z.strictObject({
    error: z.strictObject({
      code: z.enum(codes),
      message: z.string(),
      retryable: z.boolean(),
      details: z.array(errorDetailSchema).optional(),
      original_request_id: requestId.optional(),
    }),
    request_id: requestId,
    trace_id: traceId,
  })
}
