import { describe, expect, test } from 'vitest'
import { DEFAULT_CHAT_READER_CALIBRATION } from '#core/domain/default-calibration.ts'
import type { ReaderParameters } from '#core/domain/retrieval-profile.ts'
import { ReaderError, type Reader } from '#core/reading/reader.ts'
import { decide } from '#gateway/retrieve/decide.ts'
import { read, readersOf, type ReaderUse } from '#gateway/retrieve/read.ts'
import type { Evidence } from '#gateway/retrieve/search.ts'
import { measured } from '#test/support/evaluation.ts'
import { deciding, ordering } from '#test/support/reader-endpoint.ts'
import { context, foundPassage, pinnedRequest } from './pinned.ts'

const CHAT = deciding({
  model: 'm',
  prompt_sha256: 'a'.repeat(64),
  on_failure: 'refuse',
  calibration: DEFAULT_CHAT_READER_CALIBRATION,
})
const { reader: ORDERING } = ordering('m', 3)
const BOTH: ReaderParameters = { ...ORDERING, scores: 'both', calibration: DEFAULT_CHAT_READER_CALIBRATION }
const slot = { whileReleased: <T>(work: () => Promise<T>): Promise<T> => work() }

function found(count: number): Evidence {
  const passages = Array.from({ length: count }, (_, row) => foundPassage(row))
  return { passages, allowed: count, predictors: measured(), unsupported: [] }
}
const rowsOf = ({ passages }: Pick<Evidence, 'passages'>): number[] => passages.map(({ row }) => row)

function reading(
  reader: ReaderParameters | null,
  list: Evidence,
  scores: () => readonly number[],
  { signal = new AbortController().signal, topK = 4 } = {},
) {
  const use: ReaderUse = { result: null, tokens: null }
  const rows: number[][] = []
  const opened: Reader = {
    read: async (_, passages) => {
      rows.push(rowsOf({ passages }))
      return await Promise.resolve().then(() => ({ scores: scores(), tokens: 7 }))
    },
  }
  const pinned = pinnedRequest({ parameters: { reader }, request: { top_k: topK } })
  return { use, rows, evidence: read(() => opened, context(signal), { pinned, slot }, list, use) }
}

function failing(): readonly number[] {
  throw new ReaderError('too slow', 5)
}

describe('a reader that decides', () => {
  test('reads the first five passages, and its best score decides under its own calibration and signal', async () => {
    const asked = reading(CHAT, found(8), () => [0.1, 0.9, 0, 0, 0], { topK: 8 })
    const evidence = await asked.evidence
    expect([asked.rows, asked.use]).toEqual([[[0, 1, 2, 3, 4]], { result: 'read', tokens: 7 }])
    const decided = decide(pinnedRequest({ parameters: { reader: CHAT } }), evidence)
    expect(decided).toMatchObject({ decision: 'answer', signal: 'evidence_probability_with_reader', threshold: 0.5 })
    expect(decided.observed_value).toBeCloseTo(1 / (1 + Math.exp(-4)), 12)
  })

  test('is not asked without one, and not about an empty list', async () => {
    for (const [reader, list] of [
      [null, found(3)],
      [CHAT, found(0)],
    ] as const) {
      const asked = reading(reader, list, () => [])
      expect(await asked.evidence).toEqual(list)
      expect([asked.rows, asked.use.result]).toEqual([[], null])
    }
  })

  test('fails the request when it fails, with the tokens counted', async () => {
    const asked = reading(CHAT, found(3), failing)
    await expect(asked.evidence).rejects.toMatchObject({ code: 'RETRIEVAL_UNAVAILABLE' })
    expect(asked.use).toEqual({ result: 'failed', tokens: 5 })
  })

  test('leaves the decision to the calibration without it where the profile says so, marked as failed', async () => {
    const reader = { ...CHAT, on_failure: 'decide_without' } as const
    const list = found(3)
    const asked = reading(reader, list, failing)
    expect(await asked.evidence).toBe(list)
    expect(asked.use).toEqual({ result: 'failed', tokens: 5 })
    const pinned = pinnedRequest({ parameters: { reader } })
    expect(decide(pinned, list)).toEqual(decide(pinnedRequest(), list))
    const gone = reading(reader, list, failing, { signal: AbortSignal.abort() })
    await expect(gone.evidence).rejects.toMatchObject({ code: 'RETRIEVAL_UNAVAILABLE' })
  })
})

describe('a reader that orders', () => {
  test('reads the first passages and returns them by score, truncated to top_k, decided as without it', async () => {
    const list = found(5)
    const asked = reading(ORDERING, list, () => [0.1, 0.9, 0.5])
    const evidence = await asked.evidence
    expect([asked.rows, rowsOf(evidence), evidence.order]).toEqual([[[0, 1, 2]], [1, 2, 0, 3], [1, 2, 0, 3, 4]])
    const pinned = pinnedRequest({ parameters: { reader: ORDERING } })
    expect(decide(pinned, evidence)).toEqual(decide(pinnedRequest(), list))
  })

  test('is not asked about fewer than two passages', async () => {
    for (const count of [0, 1]) {
      const asked = reading(ORDERING, found(count), () => [])
      expect([rowsOf(await asked.evidence), asked.rows]).toEqual([rowsOf(found(count)), []])
    }
  })

  test('fails the request when it fails, and on a gateway without an endpoint: it was evaluated with it', async () => {
    await expect(reading(ORDERING, found(3), failing).evidence).rejects.toMatchObject({ code: 'RETRIEVAL_UNAVAILABLE' })
    const settings = { READER_API_KEY: undefined, READER_FORMAT: 'cohere', READER_TIMEOUT_MS: 100 } as const
    const none = readersOf({ ...settings, READER_BASE_URL: undefined })
    const pinned = pinnedRequest({ parameters: { reader: ORDERING } })
    const asked = read(none, context(), { pinned, slot }, found(3), { result: null, tokens: null })
    await expect(asked).rejects.toMatchObject({ code: 'RETRIEVAL_UNAVAILABLE' })
    const some = readersOf({ ...settings, READER_BASE_URL: 'http://127.0.0.1:9/v1' })
    expect(some(ORDERING)).toBe(some(BOTH))
  })

  test('decides by the scores of the passages that are served where it does both, with one call', async () => {
    const asked = reading(BOTH, found(5), () => [0.1, 0.9, 0.5], { topK: 2 })
    const evidence = await asked.evidence
    expect([asked.rows, rowsOf(evidence), evidence.read]).toEqual([[[0, 1, 2]], [1, 2], [0.9, 0.5]])
    const pinned = pinnedRequest({ parameters: { reader: BOTH } })
    expect(decide(pinned, evidence).signal).toBe('evidence_probability_with_reader')
  })
})
