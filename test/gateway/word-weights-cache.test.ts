import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { insertKnowledgeBase } from '#core/db/knowledge-bases.ts'
import { openDatabase } from '#core/db/pool.ts'
import type { Database } from '#core/db/pool.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { createLog } from '#core/platform/log.ts'
import { createWordWeightsCache } from '#gateway/word-weights-cache.ts'
import { openTestDatabase } from '#test/support/database.ts'
import type { TestDatabase } from '#test/support/database.ts'
import { insertVersion } from '#test/support/operator/version-rows.ts'

let database: TestDatabase
let owner: Database
let gateway: Database
beforeAll(async () => {
  database = await openTestDatabase()
  const log = createLog('test', 'silent')
  owner = openDatabase(database.ownerUrl, log, 1)
  gateway = openDatabase(database.gatewayUrl, log, 1)
})
afterAll(async () => {
  await owner.end()
  await gateway.end()
  await database.drop()
})

afterEach(() => {
  vi.restoreAllMocks()
})

async function profileWith(weights: object | null): Promise<string> {
  const slug = `base-${randomUUID()}`
  await insertKnowledgeBase(owner, randomUUID(), slug, 'Rules')
  const { profile } = await insertVersion(owner, { slug, state: 'active', passages: 1 })
  await owner.query('update retrieval_profiles set word_weights = $2 where id = $1', [
    profile,
    weights && JSON.stringify(weights),
  ])
  return profile
}

test('the weights of a profile are read once, as the gateway may, however many ask at once', async () => {
  const [weighted, other] = [await profileWith({ ensure: 0.1, firm: 1.5 }), await profileWith({})]
  const reads = vi.spyOn(gateway, 'query')
  const weightsOf = createWordWeightsCache(gateway)
  const all = await Promise.all([weightsOf(weighted), weightsOf(weighted), weightsOf(other)])
  expect(all).toEqual([{ ensure: 0.1, firm: 1.5 }, { ensure: 0.1, firm: 1.5 }, {}])
  expect(await weightsOf(weighted)).toBe(all[0])
  expect(reads).toHaveBeenCalledTimes(2)
})

test('a failure is not kept', async () => {
  const weighted = await profileWith({ ensure: 0.1 })
  const weightsOf = createWordWeightsCache(gateway)
  await owner.query('alter table retrieval_profiles rename word_weights to hidden')
  await expect(weightsOf(weighted)).rejects.toThrow('word_weights')
  await owner.query('alter table retrieval_profiles rename hidden to word_weights')
  expect(await weightsOf(weighted)).toEqual({ ensure: 0.1 })
})

test('a profile without weights, or that does not exist, is a failure', async () => {
  const weightsOf = createWordWeightsCache(gateway)
  await expect(weightsOf(await profileWith(null))).rejects.toThrow('word_weights')
  await expect(weightsOf(randomUUID())).rejects.toThrow()
})

test('no more profiles are kept than the bound', async () => {
  const weighted = await profileWith({ ensure: 0.1 })
  const reads = vi.spyOn(gateway, 'query')
  const weightsOf = createWordWeightsCache(gateway)
  await weightsOf(weighted)
  for (let other = 0; other < BOUNDS.wordWeightProfilesMax; other++) await weightsOf(await profileWith({}))
  reads.mockClear()
  await weightsOf(weighted)
  expect(reads).toHaveBeenCalledOnce()
})
