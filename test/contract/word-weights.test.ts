import { expect, test } from 'vitest'
import { weighableWords } from '#core/domain/word-weights.ts'
import { ANSWERED_QUERY } from '#test/support/caller.ts'
import { showingProfile } from '#test/support/contract/profiles.ts'
import { createCaller } from '#test/support/contract/service.ts'

test('learned weights of words order the passages of a reply and leave its decision as it is', async () => {
  const caller = await createCaller({ limits: { max_top_k: 20, max_response_bytes: 2_000_000 } })
  const plain = await showingProfile(caller)
  const words = weighableWords(ANSWERED_QUERY)
  const weighted = await showingProfile(
    caller,
    {},
    Object.fromEntries(words.map((word, at) => [word, at < words.length / 2 ? 0.1 : 3])),
  )
  const alike = await showingProfile(caller, {}, { word: 3, 'of no question': 0.1 })
  const asked = async (profile: string): Promise<readonly [ids: readonly string[], observed: unknown]> => {
    const { results, abstention } = (await caller.ask({ query: ANSWERED_QUERY, profile })).retrieved()
    return [results.map(({ chunk_id: id }) => id), abstention.observed_value]
  }
  const [[ids, observed], [others, same], unchanged] = [await asked(plain), await asked(weighted), await asked(alike)]
  expect(ids).toHaveLength(20)
  expect(others).not.toEqual(ids)
  expect(same).toBe(observed)
  expect(unchanged).toEqual([ids, observed])
})
