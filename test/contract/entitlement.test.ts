import { randomUUID } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { addEntitledProfile } from '#operator/actions/entitlements.ts'
import { createKnowledgeBase } from '#operator/actions/organizations.ts'
import type { Result } from '#gateway/retrieve/schema.ts'
import type { Caller } from '#test/support/caller.ts'
import {
  FRENCH_QUERY,
  FUTURE_QUERY,
  LONG_TOPIC,
  MIXED_KNOWLEDGE_BASE,
  NO_SUBJECT_QUERY,
  PROVISIONAL_QUERY,
  SUPERSEDED_QUERY,
  WITHDRAWN_QUERY,
} from './mixed-corpus.ts'
import { addProfile, showingProfile } from './profiles.ts'
import { createCaller, service } from './service.ts'
import { admittedOf } from './counters.ts'
import { outcomeOf, withoutIds } from './replies.ts'

describe('Entitle: the knowledge base is active for this client', () => {
  test(
    'an unknown slug, an inactive one, one of somebody else and one with nothing to serve answer ' +
      'identically, to the byte apart from ids',
    async () => {
      const [caller, inactive] = [await createCaller(), await createCaller({ active: false })]
      const empty = `empty-${randomUUID().slice(0, 8)}`
      await createKnowledgeBase(service.operator, { slug: empty, title: 'Nothing yet' })
      const [mayUseEmpty] = [await createCaller({ knowledgeBase: empty })]
      const answers = [
        await inactive.ask(),
        await caller.ask({ knowledge_base: 'no-such-knowledge-base' }),
        await caller.ask({ knowledge_base: MIXED_KNOWLEDGE_BASE }),
        await caller.ask({ knowledge_base: empty }),
        await mayUseEmpty.ask(),
      ]
      for (const answer of answers) expect(outcomeOf(answer)).toEqual([403, 'ENTITLEMENT_INACTIVE'])
      expect(new Set(answers.map(withoutIds)).size).toBe(1)
    },
  )

  test('an inactive entitlement fails before anything is charged', async () => {
    const inactive = await createCaller({ active: false })
    await inactive.ask()
    expect(await admittedOf(inactive)).toBe(0)
  })
})

describe('Narrow: filters only ever narrow the entitlement', () => {
  let caller: Caller
  let showing: string
  beforeAll(async () => {
    caller = await createCaller({
      knowledgeBase: MIXED_KNOWLEDGE_BASE,
      languages: ['en', 'fr', 'pt-BR'],
      jurisdictions: ['XA', 'XB'],
      subjects: ['alpha', 'beta'],
    })
    showing = await showingProfile(caller)
  })

  test.each([
    ['language outside the entitlement', { language: ['de'] }],
    ['language that is no code', { language: ['english please'] }],
    ['one language inside and one outside', { language: ['en', 'de'] }],
    ['jurisdiction outside the entitlement', { jurisdiction: ['XC'] }],
    ['jurisdiction that no corpus has', { jurisdiction: ['nowhere'] }],
    ['subject outside the entitlement', { subject: ['gamma'] }],
    ['value that is empty', { subject: [''] }],
    ['value that is blank', { jurisdiction: [' '] }],
    ['value with a space at its end', { language: ['en '] }],
    ['value with NUL', { subject: ['alpha\u0000'] }],
    ['value that is very long', { language: ['e'.repeat(10_000)] }],
    ['list of as many values as are allowed', { jurisdiction: Array.from({ length: 64 }, (_unused, n) => `X${n}`) }],
  ])('403 FILTER_FORBIDDEN for a %s', async (_, filters) => {
    expect(outcomeOf(await caller.ask({ filters }))).toEqual([403, 'FILTER_FORBIDDEN'])
  })

  test.each([
    ['subject in another case', { subject: ['Alpha'] }],
    ['jurisdiction in full width', { jurisdiction: ['\uFF38\uFF21'] }],
    ['language in another case', { language: ['PT-br'] }],
  ])('a %s is the value of the entitlement', async (_, filters) => {
    expect((await caller.ask({ filters })).status).toBe(200)
  })

  test('a value outside the entitlement answers identically whether or not the knowledge base holds it', async () => {
    const narrow = await createCaller({
      knowledgeBase: MIXED_KNOWLEDGE_BASE,
      languages: ['en'],
      jurisdictions: ['XA'],
      subjects: ['alpha'],
    })
    const held = [{ language: ['fr'] }, { jurisdiction: ['XB'] }, { subject: ['beta'] }]
    const notHeld = [{ language: ['is'] }, { jurisdiction: ['XZ'] }, { subject: ['omega'] }]
    const answers = await Promise.all([...held, ...notHeld].map((filters) => narrow.ask({ filters })))
    for (const answer of answers) expect(outcomeOf(answer)).toEqual([403, 'FILTER_FORBIDDEN'])
    // One reply for each list: it names the list, and what the entitlement holds.
    expect(answers.slice(0, held.length).map(withoutIds)).toEqual(answers.slice(held.length).map(withoutIds))
    expect(answers.slice(0, held.length).map((answer) => answer.error().error.details)).toEqual(
      [
        ['/filters/language/0', 'en'],
        ['/filters/jurisdiction/0', 'XA'],
        ['/filters/subject/0', 'alpha'],
      ].map(([path, value]) => [
        { path, message: `is outside the entitlement, which holds: ${value}`, reason: 'not_entitled' },
      ]),
    )
  })

  test('every list with a value outside is named', async () => {
    const { error } = (await caller.ask({ filters: { language: ['en', 'de'], subject: ['gamma'] } })).error()
    expect(error.details?.map(({ path }) => path)).toEqual(['/filters/language/1', '/filters/subject/0'])
  })

  test('with every subject entitled, a subject that the knowledge base does not define is forbidden', async () => {
    const every = await createCaller({ knowledgeBase: MIXED_KNOWLEDGE_BASE, jurisdictions: ['XA'], subjects: null })
    expect(outcomeOf(await every.ask({ filters: { subject: ['alfa'] } }))).toEqual([403, 'FILTER_FORBIDDEN'])
    expect(outcomeOf(await every.ask({ filters: { subject: ['alpha'] } }))[0]).toBe(200)
  })

  test.each(['fr', 'FR', 'Fr'])('language codes are compared in canonical form: %s', async (code) => {
    const { results } = (
      await caller.ask({ query: FRENCH_QUERY, profile: showing, filters: { language: [code] } })
    ).retrieved()
    expect(results.map(({ metadata }) => metadata.language)).toEqual(['fr'])
  })

  test.each(['pt-BR', 'PT-br', 'pt-br'])('language codes with a region too: %s', async (code) => {
    expect(outcomeOf(await caller.ask({ filters: { language: [code] } }))[0]).toBe(200)
  })

  test('a language does not stand for its regions, nor a region for its language', async () => {
    expect(outcomeOf(await caller.ask({ filters: { language: ['pt'] } }))).toEqual([403, 'FILTER_FORBIDDEN'])
    expect(outcomeOf(await caller.ask({ filters: { language: ['en-GB'] } }))).toEqual([403, 'FILTER_FORBIDDEN'])
  })

  test.each(['XA', 'xa', 'Xa'])('jurisdiction codes are compared in canonical form: %s', async (code) => {
    const { results } = (
      await caller.ask({ query: FRENCH_QUERY, profile: showing, filters: { jurisdiction: [code] } })
    ).retrieved()
    expect(results.length).toBeGreaterThan(0)
    for (const { metadata } of results) expect(metadata.jurisdiction).toBe('XA')
  })

  test('values within one list are alternatives, lists combine', async () => {
    const found = async (filters: object): Promise<readonly string[]> =>
      (await caller.ask({ query: FRENCH_QUERY, profile: showing, filters }))
        .retrieved()
        .results.map(({ document }) => document.title)
    expect(await found({ language: ['fr', 'pt-BR'] })).toContain('Code des huîtres')
    expect(await found({ language: ['fr'], subject: ['beta'], jurisdiction: ['XA'] })).toEqual(['Code des huîtres'])
    expect(await found({ language: ['fr'], subject: ['alpha'] })).toEqual([])
    expect(await found({ language: ['fr'], jurisdiction: ['XB'] })).toEqual([])
  })

  test('without filters the whole entitlement is searched and nothing else', async () => {
    const french = await createCaller({ knowledgeBase: MIXED_KNOWLEDGE_BASE, languages: ['fr'], jurisdictions: ['XA'] })
    const profile = await showingProfile(french)
    const reply = (await french.ask({ query: LONG_TOPIC })).retrieved()
    expect(reply.abstention.decision).toBe('abstain')
    for (const query of [LONG_TOPIC, FRENCH_QUERY])
      expect(
        (await french.ask({ query, profile })).retrieved().results.map(({ metadata }) => metadata.language),
      ).toEqual(['fr'])
  })

  test('an entitlement of named subjects leaves out passages without one; an entitlement of all has them', async () => {
    const every = await createCaller({ knowledgeBase: MIXED_KNOWLEDGE_BASE, jurisdictions: ['XA'], subjects: null })
    const titles = async (asking: Caller, profile: string): Promise<readonly string[]> =>
      (await asking.ask({ query: NO_SUBJECT_QUERY, profile })).retrieved().results.map(({ document }) => document.title)
    expect(await titles(every, await showingProfile(every))).toContain('Customs of the Tower')
    const named = await titles(caller, showing)
    expect(named.length).toBeGreaterThan(0)
    expect(named).not.toContain('Customs of the Tower')
  })

  test('filters never change the decision rule or its threshold', async () => {
    const [wide, narrow] = [
      (await caller.ask({ query: FRENCH_QUERY })).retrieved(),
      (await caller.ask({ query: FRENCH_QUERY, filters: { language: ['en'] } })).retrieved(),
    ]
    expect([narrow.abstention.threshold, narrow.abstention.signal]).toEqual([
      wide.abstention.threshold,
      wide.abstention.signal,
    ])
  })

  test('a forbidden filter is refused before anything is charged', async () => {
    const fresh = await createCaller()
    await fresh.ask({ filters: { language: ['de'] } })
    expect(await admittedOf(fresh)).toBe(0)
  })
})

describe('Narrow: profile', () => {
  test('the id of an explicitly entitled profile selects it, with its threshold, written in any case', async () => {
    const caller = await createCaller()
    const id = await addProfile('hsfa-rulebook', {}, 1)
    await addEntitledProfile(service.operator, caller.entitlement, id)
    for (const written of [id, id.toUpperCase()]) {
      const reply = (await caller.ask({ profile: written })).retrieved()
      expect([reply.retrieval_profile, reply.abstention.threshold, reply.abstention.decision]).toEqual([
        id,
        1,
        'abstain',
      ])
    }
  })

  test('an unentitled profile, one of another knowledge base and an unknown one are refused alike', async () => {
    const caller = await createCaller()
    const ids = [
      await addProfile('hsfa-rulebook', {}, 0.5),
      await addProfile(MIXED_KNOWLEDGE_BASE, {}, 0.5),
      randomUUID(),
    ]
    const answers = await Promise.all(ids.map((profile) => caller.ask({ profile })))
    for (const answer of answers) expect(outcomeOf(answer)).toEqual([403, 'FILTER_FORBIDDEN'])
    expect(new Set(answers.map(withoutIds)).size).toBe(1)
  })

  test('the active profile is selected by "active", and by the id that the last reply stated', async () => {
    const caller = await createCaller()
    const { retrieval_profile: id } = (await caller.ask()).retrieved()
    for (const profile of ['active', id, id.toUpperCase()])
      expect((await caller.ask({ profile })).retrieved().retrieval_profile).toBe(id)
  })

  test('a refused profile names those that may be asked for', async () => {
    const [caller, other] = [await createCaller(), await createCaller()]
    const { retrieval_profile: active } = (await other.ask()).retrieved()
    const id = await addProfile('hsfa-rulebook', {}, 1)
    await addEntitledProfile(service.operator, caller.entitlement, id)
    const { error } = (await caller.ask({ profile: randomUUID() })).error()
    expect(error.details).toEqual([
      {
        path: '/profile',
        message: `is outside the entitlement, which holds: active, ${active}, ${id}`,
        reason: 'not_entitled',
      },
    ])
  })
})

describe('Only verified passages in force are served', () => {
  const everything = { knowledgeBase: MIXED_KNOWLEDGE_BASE, languages: ['en'], jurisdictions: ['XA'] }
  /** The passages found, independent of the decision; never empty. */
  async function found(query: string): Promise<readonly Result[]> {
    const caller = await createCaller(everything)
    const { results } = (await caller.ask({ query, profile: await showingProfile(caller), top_k: 5 })).retrieved()
    expect(results.length).toBeGreaterThan(0)
    return results
  }

  test.each([
    ['a provisional passage', PROVISIONAL_QUERY, 'Consultation on Seaweed'],
    ['a withdrawn passage', WITHDRAWN_QUERY, 'Whalebone Tariffs'],
    ['a revision that is yet to take effect', FUTURE_QUERY, 'Lighthouse Statute'],
  ])('%s is not served', async (_, query, title) => {
    expect((await found(query)).map(({ document }) => document.title)).not.toContain(title)
  })

  test("the demo's consultation draft is not served either", async () => {
    const caller = await createCaller()
    const query = 'Within how many minutes is a tokenised deposit redeemed at face value?'
    const { results } = (await caller.ask({ query, profile: await showingProfile(caller) })).retrieved()
    expect(results.length).toBeGreaterThan(0)
    for (const { citation } of results) expect(citation.label).not.toMatch(/^TKD-F/)
  })

  test('a superseded revision is not served, its successor is', async () => {
    for (const { text } of await found(SUPERSEDED_QUERY)) expect(text).not.toContain('ancient pilotage ordinance')
    expect((await found('radar, transponder and licensed pilot of a pilot boat'))[0]?.text).toContain('radar')
  })

  test('a profile that says otherwise serves provisional passages, marked so', async () => {
    const caller = await createCaller(everything)
    const id = await addProfile(MIXED_KNOWLEDGE_BASE, { verification_statuses: ['verified', 'provisional'] }, 0)
    await addEntitledProfile(service.operator, caller.entitlement, id)
    const { results } = (await caller.ask({ query: PROVISIONAL_QUERY, profile: id })).retrieved()
    expect(results[0]).toMatchObject({
      document: { title: 'Consultation on Seaweed' },
      metadata: { verification_status: 'provisional' },
    })
  })
})
