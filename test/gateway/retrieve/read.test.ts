import { describe, expect, test } from 'vitest'
import { DEFAULT_CHAT_READER_CALIBRATION } from '#core/domain/default-calibration.ts'
import type { ReaderParameters } from '#core/domain/retrieval-profile.ts'
import { ReaderError } from '#core/reading/reader.ts'
import type { Reader } from '#core/reading/reader.ts'
import { decide } from '#gateway/retrieve/decide.ts'
import { read } from '#gateway/retrieve/read.ts'
import type { ReaderUse } from '#gateway/retrieve/read.ts'
import type { Evidence } from '#gateway/retrieve/search.ts'
import { measured } from '#test/support/evaluation.ts'
import { context, foundPassage, pinnedRequest } from './pinned.ts'

const CHAT: ReaderParameters = {
  kind: 'chat',
  model: 'm',
  prompt_sha256: 'a'.repeat(64),
  on_failure: 'refuse',
  calibration: DEFAULT_CHAT_READER_CALIBRATION,
}
const slot = { whileReleased: <T>(work: () => Promise<T>): Promise<T> => work() }

function found(count: number): Evidence {
  const passages = Array.from({ length: count }, (_, row) => foundPassage(row))
  return { passages, predictors: measured(), unsupported: [] }
}

interface Asked {
  readonly use: ReaderUse
  readonly rows: number[][]
  readonly evidence: Promise<Evidence>
}

function reading(
  reader: ReaderParameters | null,
  list: Evidence,
  read_: () => readonly number[],
  signal = new AbortController().signal,
  reranker: { model: string; candidates: number } | null = null,
): Asked {
  const use: ReaderUse = { result: null, tokens: null }
  const rows: number[][] = []
  const opened: Reader = {
    read: async (_, passages) => {
      rows.push(passages.map(({ row }) => row))
      return await Promise.resolve().then(() => ({ scores: read_(), tokens: 7 }))
    },
  }
  const pinned = pinnedRequest({ parameters: { reader, reranker } })
  return { use, rows, evidence: read(() => opened, context(signal), { pinned, slot }, list, use) }
}

function failing(): readonly number[] {
  throw new ReaderError('too slow', 5)
}

describe('the reader of a profile', () => {
  test('reads the first five passages, and its best score decides under its own calibration and signal', async () => {
    const asked = reading(CHAT, found(8), () => [0.1, 0.9, 0, 0, 0])
    const evidence = await asked.evidence
    expect(asked.rows).toEqual([[0, 1, 2, 3, 4]])
    expect(asked.use).toEqual({ result: 'read', tokens: 7 })
    const { decision, signal, threshold, observed_value } = decide(
      pinnedRequest({ parameters: { reader: CHAT } }),
      evidence,
    )
    expect({ decision, signal, threshold }).toEqual({
      decision: 'answer',
      signal: 'evidence_probability_with_reader',
      threshold: 0.5,
    })
    expect(observed_value).toBeCloseTo(1 / (1 + Math.exp(-4)), 12)
  })

  test('is not asked without one, and not about an empty list', async () => {
    for (const [reader, list] of [
      [null, found(3)],
      [CHAT, found(0)],
    ] as const) {
      const asked = reading(reader, list, () => [])
      expect(await asked.evidence).toBe(list)
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
    const gone = reading(reader, list, failing, AbortSignal.abort())
    await expect(gone.evidence).rejects.toMatchObject({ code: 'RETRIEVAL_UNAVAILABLE' })
  })

  test('as a cross-encoder that re-ranked the passages, is not asked again', async () => {
    const reader: ReaderParameters = { ...CHAT, kind: 'cross-encoder', prompt_sha256: null }
    const list = {
      ...found(2),
      rerankScores: new Map([
        ['chk_0', 3],
        ['chk_1', -2],
      ]),
    }
    const same = reading(reader, list, () => [0, 0], undefined, { model: 'm', candidates: 5 })
    expect((await same.evidence).read).toEqual([3, -2])
    expect([same.rows, same.use]).toEqual([[], { result: 'read', tokens: null }])
    const other = reading(reader, list, () => [0, 0], undefined, { model: 'another', candidates: 5 })
    expect((await other.evidence).read).toEqual([0, 0])
    expect(other.rows).toEqual([[0, 1]])
  })
})
