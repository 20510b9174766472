import { ServiceError } from '#core/platform/errors.ts'
import { errorBody } from './retrieve/reply.ts'

/** One request, and a reply of each status. A test parses them with the schemas of the document. */
const ids = {
  requestId: 'req_8a4d5e0b-2f6c-4c0e-9d55-6a1f3f0c7e21',
  traceId: 'ret_2c9d7a14-90b3-4f5e-8a61-7be0d3c2f519',
}

const served = {
  request_id: ids.requestId,
  knowledge_base: 'hsfa-rulebook',
  version: '0d9c1f4e-6a27-8b1d-a3f0-5c2e7b9d4411',
  retrieval_profile: '5b7e2a90-13cd-8f46-b2d8-90e4c1a6f732',
}

export const REQUEST_EXAMPLE = {
  query: 'How many days does a retail client have to cancel a distance contract?',
  knowledge_base: 'hsfa-rulebook',
  filters: { language: ['en'], jurisdiction: ['HS-M'] },
  top_k: 1,
}

export const ANSWER_EXAMPLE = {
  ...served,
  results: [
    {
      chunk_id: 'chk_4f0c1e8a90b27d3356af1b6c8d9e20a17f43b5c6',
      text: 'A retail client who enters into a distance contract may cancel it within 14 calendar days.',
      score: 0.618,
      document: {
        id: '6f1d2c3b-4a59-8e67-9b80-a1c2d3e4f506',
        revision_id: '7a2e3d4c-5b6a-8f78-8c91-b2d3e4f50617',
        title: 'Conduct of Business Rulebook (Mainland)',
        authority: 'Halden Straits Financial Authority',
        canonical_url: 'https://rules.hsfa.example/mainland/conduct',
        published_at: '2024-04-15T00:00:00.000Z',
        effective_at: '2024-07-01T00:00:00.000Z',
      },
      citation: {
        label: 'COB-M 2.1',
        source_anchor: 'https://rules.hsfa.example/mainland/conduct#cob-m-2-1',
        source_snapshot_id: '8b3f4e5d-6c7b-8a89-9da2-c3e4f5061728',
      },
      metadata: { language: 'en', jurisdiction: 'HS-M', verification_status: 'verified' },
    },
  ],
  trace_id: ids.traceId,
  abstention: {
    decision: 'answer',
    signal: 'evidence_probability',
    threshold: 0.524,
    observed_value: 0.999,
    unsupported_explicit_references: [],
  },
  usage: { query_embedding_tokens: null, result_count: 1, top_k: 1, dropped_for_size: 0, response_bytes: 1274 },
}

export const ABSTENTION_EXAMPLE = {
  ...served,
  results: [],
  trace_id: ids.traceId,
  abstention: {
    decision: 'abstain',
    signal: 'evidence_probability',
    threshold: 0.524,
    observed_value: 0.731,
    unsupported_explicit_references: [
      { text: 'COB-M 99.1', normalized: 'rulebook:cob-m#99/1', reason: 'not_in_corpus' },
    ],
  },
  usage: { query_embedding_tokens: null, result_count: 0, top_k: 5, dropped_for_size: 0, response_bytes: 612 },
}

const error = (...cause: ConstructorParameters<typeof ServiceError>): object =>
  errorBody(ids, new ServiceError(...cause))

export const ERROR_EXAMPLES: Readonly<Record<string, object>> = {
  400: error('INVALID_REQUEST', {
    details: [{ path: '/filters/languages', message: 'is not a field of the request', reason: 'unknown_field' }],
  }),
  401: error('INVALID_API_KEY'),
  403: error('FILTER_FORBIDDEN', {
    details: [
      {
        path: '/filters/language/0',
        message: 'is outside the entitlement, which holds: en, fr',
        reason: 'not_entitled',
      },
    ],
  }),
  404: error('INVALID_REQUEST', { status: 404 }),
  405: error('INVALID_REQUEST', { status: 405 }),
  409: error('REQUEST_ALREADY_PROCESSED', {
    details: [{ path: '(body)', message: 'is another one than the key was first sent with', reason: 'another_body' }],
    originalRequestId: 'req_1e5b7c9d-3f20-4a68-b1c4-0d2e8f6a9b37',
  }),
  413: error('INVALID_REQUEST', { status: 413, details: [{ path: '(body)', message: 'must be at most 16384 bytes' }] }),
  429: error('RATE_LIMITED', {
    details: [{ path: '(plan)', message: 'the requests of the last 60 seconds are used up', reason: 'rate' }],
  }),
  503: error('RETRIEVAL_UNAVAILABLE'),
}
