import { beforeAll, describe, expect, test } from 'vitest'
import type { Abstention } from '#gateway/retrieve/schema.ts'
import { ANSWERED_QUERY, type Caller } from '#test/support/caller.ts'
import { showingProfile } from './profiles.ts'
import { createCaller } from './service.ts'

// The demo rulebook has COB-M 2.1 (cooling-off, HS-M, conduct) and DPR-F 2.1 (breaches, HS-F, data-protection), and no
// rule 99.9 anywhere.
const HELD = 'COB-M 2.1'
const NORMALIZED = 'rulebook:cob-m#2/1'
const NOT_HELD = { text: 'COB-M 99.9', normalized: 'rulebook:cob-m#99/9', reason: 'not_in_corpus' }

let caller: Caller
let ofHarbour: Caller
beforeAll(async () => {
  caller = await createCaller()
  ofHarbour = await createCaller({ jurisdictions: ['HS-F'] })
})

async function abstentionOf(asking: Caller, query: string, further: object = {}): Promise<Abstention> {
  return (await asking.ask({ query, ...further })).retrieved().abstention
}

describe('A provision that the query names and the rulebook holds', () => {
  test.each([
    `What does ${HELD} say about cancelling?`,
    'How long is the cooling-off period under rule 2.1 of COB-M?',
    'Under Rule COB-M 2.1, how many days does a retail client have to cancel a distance contract?',
  ])('comes first and is answered: %s', async (query) => {
    const { results, abstention } = (await caller.ask({ query })).retrieved()
    expect(abstention).toMatchObject({ decision: 'answer', unsupported_explicit_references: [] })
    expect(results[0]?.citation.label).toBe(HELD)
  })

  test('comes first however much better another answers the words', async () => {
    const asking = await createCaller()
    const profile = await showingProfile(asking)
    const first = async (query: string): Promise<string | undefined> =>
      (await asking.ask({ query, profile })).retrieved().results[0]?.citation.label
    expect(await first(ANSWERED_QUERY)).toBe(HELD)
    expect(await first(`${ANSWERED_QUERY} See DPR-F 2.1.`)).toBe('DPR-F 2.1')
  })

  test('is no answer to a question about something else', async () => {
    for (const query of [`${ANSWERED_QUERY} See DPR-F 2.1.`, `Does ${HELD} mention pizza and helicopters?`])
      expect(await abstentionOf(caller, query), query).toMatchObject({
        decision: 'abstain',
        unsupported_explicit_references: [],
      })
    expect(await abstentionOf(caller, `What does ${HELD} say?`)).toMatchObject({ decision: 'answer' })
  })

  test('is supported under filters that leave it', async () => {
    const { results, abstention } = (
      await caller.ask({ query: `${ANSWERED_QUERY} (${HELD})`, filters: { jurisdiction: ['HS-M'] } })
    ).retrieved()
    expect(abstention).toMatchObject({ decision: 'answer', unsupported_explicit_references: [] })
    expect(results[0]?.citation.label).toBe(HELD)
  })
})

describe('unsupported_explicit_references', () => {
  test('is empty where nothing is named: numbers, dates and amounts are no provisions', async () => {
    const query = 'On 1 June 2025, may version 2.1 of a form cost 75,000 crowns or 3.5 % within 30 days?'
    expect(await abstentionOf(caller, query)).toMatchObject({ unsupported_explicit_references: [] })
  })

  test('names a provision that does not exist: not_in_corpus, and the decision is abstain', async () => {
    expect(await abstentionOf(caller, 'What does COB-M 99.9 require?')).toMatchObject({
      decision: 'abstain',
      unsupported_explicit_references: [NOT_HELD],
    })
  })

  test('text is as the query has it, normalized is canonical', async () => {
    const query = 'Was verlangt  Rule COB-M  99.9, und was Art. 6 Abs. 1 DSGVO?'
    const { unsupported_explicit_references: unsupported } = await abstentionOf(caller, query)
    expect(unsupported.map(({ normalized }) => normalized)).toEqual([NOT_HELD.normalized, 'celex:32016R0679#6/1'])
    expect(unsupported.map(({ text }) => text)).toEqual(['COB-M  99.9', 'Art. 6 Abs. 1 DSGVO'])
  })

  test('names a provision that the own filters of the request exclude: outside_filters', async () => {
    for (const filters of [
      { jurisdiction: ['HS-F'] },
      { subject: ['data-protection'] },
      { jurisdiction: ['HS-M'], subject: ['prudential'] },
    ])
      expect(await abstentionOf(caller, `What does ${HELD} say?`, { filters })).toMatchObject({
        decision: 'abstain',
        unsupported_explicit_references: [{ text: HELD, normalized: NORMALIZED, reason: 'outside_filters' }],
      })
  })

  test('names a provision outside the entitlement: not_in_corpus, like an unknown one, with any filters', async () => {
    for (const further of [{}, { filters: { jurisdiction: ['HS-F'] } }]) {
      const [held, made] = [
        await abstentionOf(ofHarbour, 'COB-M 2.1', further),
        await abstentionOf(ofHarbour, 'COB-M 2.7', further),
      ]
      expect(held.unsupported_explicit_references).toEqual([
        { text: 'COB-M 2.1', normalized: NORMALIZED, reason: 'not_in_corpus' },
      ])
      expect(made.unsupported_explicit_references).toEqual([
        { text: 'COB-M 2.7', normalized: 'rulebook:cob-m#2/7', reason: 'not_in_corpus' },
      ])
      expect(held.decision).toBe(made.decision)
    }
  })

  test('names a provision that no request may see: a draft is not in the corpus, whatever the filters', async () => {
    for (const further of [{}, { filters: { jurisdiction: ['HS-M'] } }])
      expect(await abstentionOf(caller, 'TKD-F 1.1', further)).toMatchObject({
        unsupported_explicit_references: [
          { text: 'TKD-F 1.1', normalized: 'rulebook:tkd-f#1/1', reason: 'not_in_corpus' },
        ],
      })
  })

  test('lists every unsupported provision once, in the order of the query, each with its own reason', async () => {
    const query = `Compare COB-M 99.9, DPR-F 2.1, ${HELD} and again COB-M 99.9.`
    const { unsupported_explicit_references: unsupported } = await abstentionOf(caller, query, {
      filters: { jurisdiction: ['HS-F'] },
    })
    expect(unsupported).toEqual([NOT_HELD, { text: HELD, normalized: NORMALIZED, reason: 'outside_filters' }])
  })

  test('the decision is answer only if it is empty, however good the evidence for the rest', async () => {
    const [without, withOne] = [
      await caller.ask(),
      await caller.ask({ query: `${ANSWERED_QUERY} And what does COB-M 99.9 add?` }),
    ]
    expect(without.retrieved().abstention.decision).toBe('answer')
    const { abstention, results } = withOne.retrieved()
    expect(abstention).toMatchObject({ decision: 'abstain', unsupported_explicit_references: [NOT_HELD] })
    expect(abstention.observed_value).toBeGreaterThanOrEqual(abstention.threshold)
    expect(results).toEqual([])
  })

  test('not even a threshold of 0 makes an answer of it', async () => {
    const other = await createCaller()
    const profile = await showingProfile(other)
    expect(await abstentionOf(other, 'COB-M 99.9', { profile })).toMatchObject({ decision: 'abstain', threshold: 0 })
    expect(await abstentionOf(other, 'Any rule on anything?', { profile })).toMatchObject({ decision: 'answer' })
  })

  test('naming many costs neither a failure nor an entry beyond the bound', async () => {
    const query = Array.from({ length: 60 }, (_, n) => `COB-M 50.${n + 1}`).join(', ')
    const { unsupported_explicit_references: unsupported } = await abstentionOf(caller, query)
    expect(unsupported).toHaveLength(32)
  })
})

describe('Filters and the decision', () => {
  test.each([
    {},
    { jurisdiction: ['HS-F'] },
    { jurisdiction: ['HS-M'] },
    { subject: ['conduct'] },
    { language: ['en'], subject: ['data-protection', 'prudential'] },
  ])('never change signal or threshold: %j', async (filters) => {
    const plain = await abstentionOf(caller, ANSWERED_QUERY)
    for (const query of [ANSWERED_QUERY, HELD, 'COB-M 99.9'])
      expect(await abstentionOf(caller, query, { filters })).toMatchObject({
        signal: plain.signal,
        threshold: plain.threshold,
      })
  })

  test('a filter that leaves all that is entitled changes nothing', async () => {
    const all = { language: ['en'], jurisdiction: ['HS-M', 'HS-F'] }
    for (const query of [ANSWERED_QUERY, `What does ${HELD} say?`, 'COB-M 99.9']) {
      const [filtered, plain] = [
        (await caller.ask({ query, filters: all })).retrieved(),
        (await caller.ask({ query })).retrieved(),
      ]
      expect([filtered.abstention, filtered.results]).toEqual([plain.abstention, plain.results])
    }
  })
})
