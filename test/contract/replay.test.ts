import { createHash, randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { parseServiceSecrets } from '#core/credentials/settings.ts'
import { rotateFingerprints } from '#operator/actions/fingerprints.ts'
import { ANSWERED_QUERY, type Caller } from '#test/support/caller.ts'
import { REVERSING, ordering } from '#test/support/reader-endpoint.ts'
import { MIXED_KNOWLEDGE_BASE, OF_MIXED } from './mixed-corpus.ts'
import { showingProfile } from './profiles.ts'
import { createCaller, service } from './service.ts'
import { expectEventually } from '#test/support/until.ts'

const keptSchema = z.object({
  state: z.string(),
  in_force_on: z.string(),
  fingerprint_epoch: z.number(),
  filters: z.object({ request: z.record(z.string(), z.unknown()), entitlement: z.record(z.string(), z.unknown()) }),
  replay: z
    .strictObject({
      query_vector_digest: z.string().nullable(),
      rewriting_digests: z.array(z.string()),
      passage_sha256: z.array(z.string()),
      rerank_order: z.array(z.number()).nullable(),
    })
    .nullable(),
})

async function keptOf(caller: Caller): Promise<readonly z.infer<typeof keptSchema>[]> {
  const { rows } = await service.owner.query(
    `select state, in_force_on::text, fingerprint_epoch, filters, replay from reservations
     where entitlement_id = $1 order by admitted_at`,
    [caller.entitlementId],
  )
  return z.array(keptSchema).parse(rows)
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

describe('A settled reservation keeps what a later replay needs', () => {
  test('the filters of the request and of the entitlement, and the SHA-256 of each passage in order', async () => {
    const caller = await createCaller({ knowledgeBase: MIXED_KNOWLEDGE_BASE, jurisdictions: ['XA', 'XB'] })
    const profile = await showingProfile(caller)
    const reply = (await caller.ask({ profile, filters: { jurisdiction: ['xa'] } })).retrieved()
    const [kept] = await keptOf(caller)
    expect(kept?.filters.request).toMatchObject({ jurisdictions: ['XA'], inForceOn: kept?.in_force_on })
    expect(kept?.filters.entitlement).toMatchObject({ jurisdictions: ['XA', 'XB'] })
    expect(reply.results.length).toBeGreaterThan(0)
    expect(kept?.replay?.passage_sha256).toEqual(reply.results.map(({ text }) => sha256(text)))
    expect(kept?.replay?.rerank_order).toBeNull()
  })

  test('a keyed digest of the query vector: the same for the same vector and key, and for no other', async () => {
    const mixed = OF_MIXED
    const [caller, stranger] = [await createCaller(mixed), await createCaller(mixed)]
    const secrets = parseServiceSecrets(service.settings.secrets.SERVICE_SECRET)
    await caller.ask()
    await caller.ask()
    await caller.ask({ query: `${ANSWERED_QUERY} And otherwise?` })
    await stranger.ask()
    await rotateFingerprints(service.operator, { organization: caller.organization, serviceSecrets: secrets })
    await expectEventually(async () => {
      await caller.ask()
      return (await keptOf(caller)).at(-1)?.fingerprint_epoch
    }, 2)
    const [first, second, other, ...rotated] = (await keptOf(caller)).map(({ replay }) => replay?.query_vector_digest)
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    expect(second).toBe(first)
    for (const different of [other, rotated.at(-1), (await keptOf(stranger))[0]?.replay?.query_vector_digest]) {
      expect(different).toMatch(/^[0-9a-f]{64}$/)
      expect(different).not.toBe(first)
    }
  })

  test('the order that the re-ranker gave to the list of the search', async () => {
    const caller = await createCaller({ limits: { max_top_k: 20, max_response_bytes: 2_000_000 } })
    const profile = await showingProfile(caller, ordering(REVERSING, 20))
    const query = `${ANSWERED_QUERY} (${randomUUID()})`
    const { results } = (await caller.ask({ query, profile })).retrieved()
    const [kept] = await keptOf(caller)
    expect(kept?.replay?.rerank_order).toEqual(results.map((_, at) => results.length - 1 - at))
  })

  test('of a request that delivered nothing, the filters', async () => {
    const caller = await createCaller()
    const profile = await showingProfile(caller, ordering('status-400', 5))
    await caller.ask({ profile })
    expect(await keptOf(caller)).toMatchObject([{ filters: { request: { languages: ['en'] } }, replay: null }])
  })
})
