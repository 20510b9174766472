import { truncateSync } from 'node:fs'
import { join } from 'node:path'
import { status } from '@grpc/grpc-js'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { PREDICTORS } from '#core/domain/predictors.ts'
import { isGrpcError } from '#core/rpc/search-client.ts'
import type { SearchQuery, SearchResult } from '#core/domain/search.ts'
import { GATEWAY_BOUNDS } from '#gateway/bounds.ts'
import { EVERYTHING, requestOf } from '#test/support/search.ts'
import { nodeEnvironment } from '#test/support/search-node.ts'
import { queryNear, questionOn, seededRandom, wordedRows } from '#test/support/passages.ts'
import { buildTestArtifact } from '#test/support/artifact.ts'
import { signingKeys } from '#test/support/secrets.ts'
import { CALL_TIMEOUT_MS, expectEventually } from '#test/support/until.ts'
import { openNode } from '#test/support/fixtures.ts'
import { folderOfFile } from '#test/support/folder.ts'
import { processCpuMs } from '#test/bench/cpu.ts'

const keys = signingKeys()
const SEED = 77
const store = folderOfFile()

const rows = wordedRows({
  rows: 2_000,
  dimensions: 16,
  seed: SEED,
  clusters: 40,
  traits: (n) => ({
    language: n % 5 === 0 ? 'de' : 'en',
    references: n % 2 === 0 ? [`rulebook:bee#${n % 7}/${n}`] : [],
  }),
})
const acts = [{ id: 'rulebook:bee', aliases: ['BEE', 'b', '§'] }]
const artifact = await buildTestArtifact({ store, rows, acts, privateKeyDer: keys.privateKeyDer })
const { node, client } = await openNode(nodeEnvironment(store, keys.publicKeyDer, { LOG_LEVEL: 'debug' }))

await client.prepareVersion(artifact, CALL_TIMEOUT_MS)

const search = (change: Partial<SearchQuery>): Promise<SearchResult> =>
  client.search(requestOf({ versionId: artifact.versionId, ...change }), CALL_TIMEOUT_MS)

/** As `search`; fails where it takes more processor time than an attempt has. */
async function searchInTime(change: Partial<SearchQuery>): Promise<SearchResult> {
  const beforeMs = processCpuMs(node.child.pid ?? 0)
  const result = await search(change)
  expect(processCpuMs(node.child.pid ?? 0) - beforeMs).toBeLessThan(GATEWAY_BOUNDS.searchAttemptTimeoutMs)
  return result
}

/** Pieces that could break the reference parser or the analyzer, repeated many times. */
const PIECES = '§|§§ |(|)|((((|1.|1)|1(a)|12 CFR 1003.|Article |Art. 5 |BEE 6.|Rule 1.2(|and |, | to |-|–|a|ß|İ'.split(
  '|',
)
const CHARACTERS = SEARCH_BOUNDS.queryCharactersMax
const cut = (text: string): string => [...text.toWellFormed()].slice(0, CHARACTERS).join('')
const anyText = fc
  .oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: CHARACTERS, size: 'max' }),
    fc.string({ unit: 'grapheme', minLength: 1, maxLength: CHARACTERS, size: 'max' }),
    fc
      .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: CHARACTERS, size: 'max' })
      .map((pieces) => pieces.join('')),
    fc.constantFrom(...PIECES).map((piece) => piece.repeat(CHARACTERS)),
    fc
      .tuple(fc.constantFrom(...PIECES), fc.constantFrom(...PIECES))
      .map((pieces) => pieces.join('').repeat(CHARACTERS)),
    fc
      .nat({ max: 1_000 })
      .map((from) =>
        Array.from({ length: CHARACTERS }, (_, n) => questionOn((from + n) % 40, seededRandom(from + n))).join(' '),
      ),
  )
  .map(cut)

test(
  'whatever is asked in up to 4,000 characters, a node answers within the processor time of an attempt, with as many ' +
    'passages as a vector finds, and lives',
  async () => {
    const vector = queryNear(artifact.rows, 9, seededRandom(SEED))
    await fc.assert(
      fc.asyncProperty(anyText, fc.boolean(), async (text, filtered) => {
        fc.pre(text.trim() !== '')
        const change = {
          text,
          filters: filtered ? { ...EVERYTHING, languages: ['de'] } : EVERYTHING,
          entitled: EVERYTHING,
        }
        const { passages } = await searchInTime(change)
        expect(passages.length).toBeLessThanOrEqual(5)
        const both = await searchInTime({ ...change, vector })
        expect(both.passages).toHaveLength(5)
        expect(both.predictors).toHaveLength(PREDICTORS.length)
        expect(both.predictors.every(Number.isFinite)).toBe(true)
      }),
      { numRuns: 80 },
    )
    expect(node.child.exitCode).toBeNull()
  },
)

function endingOf(reply: Promise<SearchResult>) {
  return reply.then(
    () => ({ code: status.OK, told: '' }),
    (error: unknown) => ({ code: isGrpcError(error) ? error.code : status.UNKNOWN, told: String(error) }),
  )
}

test('no word of a query comes into the log, however the search ends', async () => {
  const secret = 'quenelliferous'
  const text = `What of ${secret} under BEE 99.${secret} and § 433 ${secret}?`
  const vector = queryNear(artifact.rows, 3, seededRandom(SEED))
  const damaged = await buildTestArtifact({
    store,
    rows: artifact.rows,
    privateKeyDer: keys.privateKeyDer,
    name: 'shortened',
  })
  await client.prepareVersion(damaged, CALL_TIMEOUT_MS)
  // The file is read, not mapped: a read past the new end is an error, which the thread reports.
  truncateSync(join(damaged.folder, 'passages.jsonl'), 0)

  expect((await search({ text, vector })).passages).toHaveLength(5)
  const calls = [
    search({ text }),
    search({ text, limit: 0 }),
    search({ text: text.repeat(SEARCH_BOUNDS.queryCharactersMax) }),
    search({ text, vector: vector.subarray(4) }),
    search({ text, filters: { ...EVERYTHING, inForceOn: secret } }),
    search({ text, filters: { ...EVERYTHING, languages: [secret] } }),
    search({ text, versionId: secret }),
    search({ text, versionId: '00000000-0000-4000-8000-000000000009' }),
    search({ text, vector, versionId: damaged.versionId }),
    client.search(requestOf({ versionId: artifact.versionId, text }), 0),
  ]
  const endings = await Promise.all(calls.map(endingOf))
  expect(endings.map(({ code }) => code)).toEqual([
    status.OK,
    status.INVALID_ARGUMENT,
    status.INVALID_ARGUMENT,
    status.INVALID_ARGUMENT,
    status.INVALID_ARGUMENT,
    status.OK,
    status.INVALID_ARGUMENT,
    status.FAILED_PRECONDITION,
    status.DATA_LOSS,
    status.DEADLINE_EXCEEDED,
  ])
  expect(endings.map(({ told }) => told).join(' ')).not.toContain(secret)
  await expectEventually(() => node.output(), expect.stringContaining('damaged version unloaded'))
  await client.releaseVersion(damaged.versionId, CALL_TIMEOUT_MS)
  expect(node.output().toLowerCase()).not.toContain(secret)
})
