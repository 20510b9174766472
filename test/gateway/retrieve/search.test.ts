import { describe, expect, test } from 'vitest'
import { PLATFORM_BOUNDS } from '#core/platform/bounds.ts'
import type { FoundPassage, SearchQuery, SearchResult, Withdrawn } from '#core/domain/search.ts'
import { search, type Evidence, type SearchDeps } from '#gateway/retrieve/search.ts'
import { ordering } from '#test/support/reader-endpoint.ts'
import { context, foundPassage, pinnedRequest, type PinnedTraits } from './pinned.ts'

const query = { vector: Float32Array.of(0.6, 0.8), tokens: null }

interface Asked {
  readonly request: SearchQuery
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

function tierSaying(answer: () => SearchResult): { readonly deps: SearchDeps; readonly asked: Asked[] } {
  const asked: Asked[] = []
  const searchTier: SearchDeps['searchTier'] = {
    search: async (request, timeoutMs, signal) => {
      asked.push({ request, timeoutMs, signal })
      return await Promise.resolve().then(() => ({ ...answer(), node: 'node:7070' }))
    },
  }
  return { deps: { searchTier }, asked }
}

function reply(passages: readonly FoundPassage[]): SearchResult {
  return {
    passages,
    rows: [],
    plan: 'exact',
    allowed: 7,
    predictors: [0.5],
    unsupported: [{ text: 'Art. 5', normalized: '*#5', reason: 'not_in_corpus' }],
  }
}

async function searched(passages: readonly FoundPassage[], traits: PinnedTraits = {}): Promise<Evidence> {
  return await search(tierSaying(() => reply(passages)).deps, context(), pinnedRequest(traits), query)
}

describe('what a node is asked', () => {
  test('is the pinned version, filters, entitlement and day, in the ranking of the profile', async () => {
    const now = new Date('2026-03-01T12:00:00.000Z')
    const pinned = pinnedRequest({
      now,
      request: { top_k: 3 },
      parameters: { expansion: 99, per_document_max: 2, dense_weight: 0.5 },
    })
    const { deps, asked } = tierSaying(() => reply([]))
    const { signal } = new AbortController()
    await search(deps, context(signal), pinned, query)
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({ timeoutMs: PLATFORM_BOUNDS.searchTimeoutMs, signal })
    expect(asked[0]?.request).toEqual({
      versionId: pinned.profile.version_id,
      projection: pinned.projection,
      vector: Float32Array.of(0.6, 0.8),
      text: 'capital',
      rewritten: [],
      limit: 3,
      filters: pinned.filters,
      entitled: pinned.entitled,
      withdrawn: [],
      ranking: { rowsScoredMin: 99, denseWeight: 0.5, perDocumentMax: 2, collapseRevisionsOn: '2026-03-01' },
    })
  })

  test('is as many passages as the caller or the reader needs, whichever is more', async () => {
    const limitOf = async (topK: number, candidates: number | undefined): Promise<number | undefined> => {
      const { deps, asked } = tierSaying(() => reply([]))
      const parameters = candidates === undefined ? { reader: null } : ordering('m', candidates)
      await search(deps, context(), pinnedRequest({ request: { top_k: topK }, parameters }), query)
      return asked[0]?.request.limit
    }
    expect([await limitOf(2, undefined), await limitOf(2, 20), await limitOf(4, 3)]).toEqual([2, 20, 4])
  })

  test('names no day where the profile serves every revision beside the others', async () => {
    const { deps, asked } = tierSaying(() => reply([]))
    await search(
      deps,
      context(),
      pinnedRequest({ parameters: { collapse_revisions: false, in_force_only: false } }),
      query,
    )
    expect(asked[0]?.request).toMatchObject({ ranking: { collapseRevisionsOn: '' }, filters: { inForceOn: '' } })
  })
})

describe('what a node answers', () => {
  test('is handed on as it is, with the evidence and what is unsupported', async () => {
    const passages = [
      foundPassage(0, { score: 1 }),
      foundPassage(1, { score: 0.5 }),
      foundPassage(2, { score: 0.5 }),
      foundPassage(3, { score: 0 }),
    ]
    expect(await searched(passages)).toEqual({ ...reply(passages), rewritten: false })
  })

  const best = foundPassage(0)
  test.each<[string, readonly FoundPassage[]]>([
    ['a passage in another language', [{ ...best, metadata: { ...best.metadata, language: 'fr' } }]],
    ['a passage of another jurisdiction', [{ ...best, metadata: { ...best.metadata, jurisdiction: 'XB' } }]],
    ['a passage that is not verified', [{ ...best, metadata: { ...best.metadata, verificationStatus: 'withdrawn' } }]],
    ['more passages than asked for', [foundPassage(0), foundPassage(1), foundPassage(2)]],
    ['scores that rise', [foundPassage(0, { score: 0.4 }), foundPassage(1, { score: 0.5 })]],
    ['a score above 1', [foundPassage(0, { score: 1.01 })]],
    ['a negative score', [foundPassage(0, { score: -0.01 })]],
    ['a score that is no number', [foundPassage(0, { score: Number.NaN })]],
  ])('is refused whole when it holds %s', async (_, passages) => {
    await expect(searched(passages, { request: { top_k: 2 } })).rejects.toMatchObject({
      code: 'RETRIEVAL_UNAVAILABLE',
      cause: expect.any(Error),
    })
  })

  test.each<[string, Partial<Withdrawn>]>([
    ['passage', { chunkId: best.chunkId }],
    ['provision', { provisions: ['prv_other', best.provision] }],
    ['document', { document: best.document.id }],
  ])('is refused whole when it holds a withdrawn %s', async (_, of) => {
    const withdrawn = [{ document: 'other', provisions: ['prv_other'], chunkId: '', ...of }]
    if (of.document !== undefined) withdrawn[0] = { document: of.document, provisions: [], chunkId: '' }
    await expect(searched([best], { withdrawn })).rejects.toMatchObject({ code: 'RETRIEVAL_UNAVAILABLE' })
    const others = withdrawn.map((one) => ({ ...one, document: 'other', provisions: ['prv_other'], chunkId: '' }))
    expect((await searched([best], { withdrawn: others })).passages).toEqual([best])
  })

  const ofAlpha: PinnedTraits = { request: { filters: { subject: ['alpha'] } } }
  const about = (...subjects: readonly string[]): FoundPassage => ({
    ...best,
    metadata: { ...best.metadata, subjects },
  })

  test.each([
    ['has another subject', about('beta')],
    ['has no subject, or none that its node sent', about()],
  ])('is refused whole when subjects are asked for and a passage %s', async (_, passage) => {
    await expect(searched([passage], ofAlpha)).rejects.toMatchObject({ code: 'RETRIEVAL_UNAVAILABLE' })
  })

  test('may hold passages with one of the subjects asked for, and without any where none is asked for', async () => {
    expect((await searched([about('beta', 'alpha')], ofAlpha)).passages).toHaveLength(1)
    expect((await searched([about()])).passages).toHaveLength(1)
  })

  test('is a failed retrieval when no node answers; the time counts as waiting for the search tier', async () => {
    const failure = new Error('all nodes are gone')
    const { deps } = tierSaying(() => {
      throw failure
    })
    const own = context()
    await expect(search(deps, own, pinnedRequest(), query)).rejects.toMatchObject({
      code: 'RETRIEVAL_UNAVAILABLE',
      cause: failure,
    })
    expect(own.timings.waitedMs).toMatchObject({ search: expect.any(Number), provider: 0 })
    expect(own.timings.waitedMs.search).toBeGreaterThan(0)
  })
})
