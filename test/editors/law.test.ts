import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '#test/support/postgres.ts'
import { caseSeed, runCase, type ActiveLaw } from './cases.ts'
import { runInnocent } from './innocent.ts'
import { openLaboratory, type Laboratory } from './laboratory.ts'
import { activateAll } from './actives.ts'
import { ownCorpora } from './sources.ts'

const SEED = 20_261
const CASES = 40
/** The small ones. */
const CORPORA = 2

let database: TestDatabase
let laboratory: Laboratory
let actives: readonly ActiveLaw[]

beforeAll(async () => {
  database = await openTestDatabase()
  laboratory = await openLaboratory(database)
  actives = await activateAll(laboratory, ownCorpora().slice(0, CORPORA))
})
afterAll(async () => {
  await laboratory.close()
  await database.drop()
})

test(`the alterations of ${CASES} hostile editors are refused or named`, async () => {
  for (let number = 0; number < CASES; number++) {
    const { violations, ...drawn } = await runCase(laboratory, actives, caseSeed(SEED, number))
    expect({ ...drawn, violations }).toEqual({ ...drawn, violations: [] })
  }
})

test('honest work is not refused, and is listed as what it is', async () => {
  for (const { editor, ...result } of await runInnocent(laboratory, actives, { seed: SEED, draws: 1 }))
    expect({ name: editor.name, ...result }).toMatchObject({ refused: undefined, unexpected: [] })
})
