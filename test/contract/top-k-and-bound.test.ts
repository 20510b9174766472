import { beforeAll, describe, expect, test } from 'vitest'
import type { Caller } from '#test/support/caller.ts'
import { LONG_TOPIC, OF_MIXED } from './mixed-corpus.ts'
import { showingProfile } from './profiles.ts'
import { createCaller } from './service.ts'

const RESPONSE_BYTES_MAX = 50_000

describe('Limits: top_k', () => {
  const unbounded = { max_response_bytes: 2_000_000 }
  async function countOf(limits: object, topK: number | undefined): Promise<number> {
    const caller = await createCaller({ limits: { ...unbounded, ...limits } })
    const profile = await showingProfile(caller)
    const { usage } = (await caller.ask({ top_k: topK, profile })).retrieved()
    expect([usage.top_k, usage.dropped_for_size]).toEqual([usage.result_count, 0])
    return usage.result_count
  }

  test('absent means the cap of the plan', async () => {
    expect(await countOf({ max_top_k: 3 }, undefined)).toBe(3)
  })

  test('the cap is 5 by default', async () => {
    expect(await countOf({}, undefined)).toBe(5)
  })

  test('above the cap it is clamped to it, which usage.top_k says', async () => {
    expect(await countOf({ max_top_k: 3 }, 100)).toBe(3)
  })

  test('below the cap it counts', async () => {
    expect(await countOf({ max_top_k: 7 }, 6)).toBe(6)
  })

  test('a plan may raise the cap: the plan is authoritative', async () => {
    expect(await countOf({ max_top_k: 40 }, 40)).toBe(40)
  })

  test('it does not touch the decision', async () => {
    const caller = await createCaller()
    const [one, five] = [(await caller.ask({ top_k: 1 })).retrieved(), (await caller.ask({ top_k: 5 })).retrieved()]
    expect(one.abstention).toEqual(five.abstention)
    expect(one.results).toEqual(five.results.slice(0, 1))
  })
})

describe('Limits: response size', () => {
  let caller: Caller
  let asked: { readonly query: string; readonly profile: string }
  beforeAll(async () => {
    caller = await createCaller(OF_MIXED)
    asked = { query: LONG_TOPIC, profile: await showingProfile(caller) }
  })

  test('whole passages are dropped from the end until the reply has at most 50,000 bytes', async () => {
    const roomy = await createCaller({ ...OF_MIXED, limits: { max_response_bytes: 2_000_000 } })
    const profile = await showingProfile(roomy)
    const [bounded, whole] = [await caller.ask(asked), await roomy.ask({ ...asked, profile })]
    expect(whole.bytes.length).toBeGreaterThan(RESPONSE_BYTES_MAX)
    expect(bounded.bytes.length).toBeLessThanOrEqual(RESPONSE_BYTES_MAX)
    const [kept, all] = [bounded.retrieved().results, whole.retrieved().results]
    expect([bounded, whole].map((reply) => reply.retrieved().usage.dropped_for_size)).toEqual([
      all.length - kept.length,
      0,
    ])
    expect(kept).toEqual(all.slice(0, kept.length))
    // One more would not have fitted.
    const next = Buffer.byteLength(JSON.stringify(all[kept.length]))
    expect(bounded.bytes.length + next + 1).toBeGreaterThan(RESPONSE_BYTES_MAX)
  })

  test('a passage of 4,000 characters of three bytes is served whole', async () => {
    const { results } = (await caller.ask({ ...asked, top_k: 1 })).retrieved()
    expect([...(results[0]?.text ?? '')]).toHaveLength(4_000)
    expect(Buffer.byteLength(results[0]?.text ?? '')).toBeGreaterThan(11_000)
  })

  test('the bound of the plan is authoritative', async () => {
    const narrow = await createCaller({ ...OF_MIXED, limits: { max_response_bytes: 20_000 } })
    const reply = await narrow.ask({ ...asked, profile: await showingProfile(narrow) })
    expect(reply.bytes.length).toBeLessThanOrEqual(20_000)
    expect(reply.retrieved().usage.result_count).toBeGreaterThan(0)
  })

  test('dropping passages changes neither the decision nor its value', async () => {
    const [dropped, single] = [
      (await caller.ask(asked)).retrieved(),
      (await caller.ask({ ...asked, top_k: 1 })).retrieved(),
    ]
    expect(dropped.abstention).toEqual(single.abstention)
  })
})
