import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
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

async function profileWith(weights: object | null): Promise<string> {
  const slug = `base-${randomUUID()}`
  await insertKnowledgeBase(owner, randomUUID(), slug, 'Rules')
  const { profile } = await insertVersion(owner, { slug, state: 'active', passages: 1 })
  await owner.query('update retrieval_profiles set word_weights = $2 where id = $1', [profile, JSON.stringify(weights)])
  return profile
}

/** The gateway's connection, which fails as long as it is told to, with the profiles that were read. */
function counting(): { readonly database: Pick<Database, 'query'>; readonly read: string[]; failing: boolean } {
  const counted = {
    read: [] as string[],
    failing: false,
    database: {
      query: async (statement: { readonly values: readonly string[] }) => {
        counted.read.push(statement.values[0] ?? '')
        if (counted.failing) throw new Error('no connection')
        return await gateway.query(statement as never)
      },
    } as unknown as Pick<Database, 'query'>,
  }
  return counted
}

test('the weights of a profile are read once, as the gateway may, however many ask at once', async () => {
  const [weighted, plain] = [await profileWith({ ensure: 0, firm: 1.5 }), await profileWith(null)]
  const { database: counted, read } = counting()
  const weightsOf = createWordWeightsCache(counted)
  const all = await Promise.all([weightsOf(weighted), weightsOf(weighted), weightsOf(plain)])
  expect(all).toEqual([{ ensure: 0, firm: 1.5 }, { ensure: 0, firm: 1.5 }, null])
  expect(await weightsOf(weighted)).toBe(all[0])
  expect(read).toEqual([weighted, plain])
})

test('a failure is not kept', async () => {
  const weighted = await profileWith({ ensure: 0 })
  const counted = counting()
  const weightsOf = createWordWeightsCache(counted.database)
  counted.failing = true
  await expect(weightsOf(weighted)).rejects.toThrow('no connection')
  counted.failing = false
  expect(await weightsOf(weighted)).toEqual({ ensure: 0 })
})

test('no more profiles are kept than the bound', async () => {
  const weighted = await profileWith({ ensure: 0 })
  const { database: counted, read } = counting()
  const weightsOf = createWordWeightsCache(counted)
  await weightsOf(weighted)
  await Promise.all(Array.from({ length: BOUNDS.wordWeightProfilesMax }, () => weightsOf(randomUUID())))
  await weightsOf(weighted)
  expect(read.filter((id) => id === weighted)).toHaveLength(2)
})
