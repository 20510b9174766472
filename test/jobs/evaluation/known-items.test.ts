import { describe, expect, test } from 'vitest'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { chunkId } from '#core/platform/ids.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import type { QueryWithQrels } from '#jobs/evaluation/questions.ts'
import { sampleKnownItems, withoutKnownItems, createBottomKSample } from '#jobs/evaluation/known-items.ts'
import { testPassage, type PassageTraits } from '#test/support/passages.ts'
import fc from 'fast-check'
import { DEFAULT_CALIBRATION, DEFAULT_MODEL_CALIBRATION } from '#core/domain/default-calibration.ts'
import { standardisedByNegatives } from '#jobs/evaluation/negatives.ts'
import { asking, measured, replyWith, type Asking } from '#test/support/evaluation.ts'

const DAY = '2026-03-01'
const sentence = (n: number): string => `The firm keeps record number ${n} and gives it to the authority on request.`

async function* read(passages: readonly PassageRecord[]): AsyncGenerator<PassageRecord> {
  for (const passage of passages) yield await Promise.resolve(passage)
}

async function sampled(passages: readonly PassageRecord[]): Promise<readonly QueryWithQrels[]> {
  return await sampleKnownItems(() => read(passages), DAY)
}

const passage = (n: number, traits: PassageTraits = {}): PassageRecord =>
  testPassage(n, { text: sentence(n), ...traits })

describe('known items', () => {
  test('ask for a passage by its heading and the opening of its text, and count it alone as relevant', async () => {
    const one = passage(1, { heading: 'Rulebook · Records', text: `  ${sentence(1)}\n\n  Twice   so. ` })
    expect(await sampled([one])).toEqual([
      {
        id: one.chunk_id,
        text: `Rulebook · Records ${sentence(1)} Twice so.`,
        qrels: new Map([[one.source_id, 1]]),
        answerable: undefined,
        group: undefined,
        quoted: true,
        filters: undefined,
        label: 'Rule 1',
      },
    ])
  })

  test('open with at most 300 characters of the text, whole words of it', async () => {
    const long = 'capital '.repeat(100)
    const [question] = await sampled([passage(1, { heading: '', text: long })])
    expect(question?.text).toBe('capital '.repeat(37).trim())
  })

  test('fit the length that a caller may send and are well formed if words are longer than the extract', async () => {
    const [question] = await sampled([passage(1, { heading: '𝔞'.repeat(4_000), text: `x${'𝔟'.repeat(400)}` })])
    expect([...(question?.text ?? '')].length).toBe(SEARCH_BOUNDS.queryCharactersMax)
    expect(question?.text.isWellFormed()).toBe(true)
    expect(question?.text).toMatch(/^𝔞.*x𝔟+/u)
  })

  test('are no passages that a request of the day could not be served, nor such with hardly a word', async () => {
    const outside = [
      passage(1, { status: 'provisional' }),
      passage(2, { status: 'withdrawn' }),
      passage(3, { inForceFrom: '2026-03-02' }),
      passage(4, { inForceTo: DAY }),
      passage(5, { text: 'Too short to say something.' }),
    ]
    const within = [passage(6, { inForceFrom: DAY }), passage(7, { inForceTo: '2026-03-02' })]
    const questions = await sampled([...outside, ...within])
    expect(new Set(questions.map(({ id }) => id))).toEqual(new Set(within.map(({ chunk_id: id }) => id)))
  })

  test('exclude texts that another record repeats, even an unserved one, but not repeats in one record', async () => {
    const repeated = [passage(1, { text: sentence(0) }), passage(2, { text: sentence(0), status: 'withdrawn' })]
    const ownRevisions = [3, 4].map((n) => ({
      ...passage(3, { text: sentence(3) }),
      chunk_id: chunkId([String(n)], sentence(3)),
    }))
    const questions = await sampled([...repeated, ...ownRevisions])
    expect(questions.map(({ qrels }) => [...qrels.keys()])).toEqual([[passage(3).source_id], [passage(3).source_id]])
  })

  test('are those with the smallest ids, at most 200, whatever the order of the passages', async () => {
    const passages = Array.from({ length: 450 }, (_, n) => passage(n))
    const expected = passages.map(({ chunk_id: id }) => id).sort()
    const [forwards, backwards] = [await sampled(passages), await sampled(passages.toReversed())]
    expect(forwards.map(({ id }) => id)).toEqual(expected.slice(0, EVALUATION_BOUNDS.evaluationSampleMax))
    expect(backwards).toEqual(forwards)
  })

  test('ask for short texts where the version holds no long one that is in one record alone', async () => {
    const short = [1, 2].map((n) => passage(n, { heading: 'Bees Order', text: `Every hive has ${n}.` }))
    expect((await sampled(short)).map(({ text }) => text).sort()).toEqual([
      'Bees Order Every hive has 1.',
      'Bees Order Every hive has 2.',
    ])
    expect(await sampled([...short, passage(3)])).toHaveLength(1)
    const repeated = [3, 4].map((n) => passage(n, { text: sentence(0) }))
    expect(await sampled([...short, ...repeated])).toHaveLength(2)
  })

  test.each([
    [
      'nothing in force',
      [passage(1, { inForceFrom: '2026-03-02' }), passage(2, { inForceTo: DAY })],
      /0 are not verified, and 2 not in force/,
    ],
    ['nothing verified', [passage(1, { status: 'provisional' })], /1 are not verified, and 0 not/],
    [
      'only repetitions',
      [1, 2].map((n) => passage(n, { text: 'Omitted.' })),
      /each text of the 2 passages .* several records/,
    ],
  ])('of a version with %s are none, and a sentence says why', async (_what, passages, why) => {
    expect(await sampled(passages)).toEqual([])
    expect(await withoutKnownItems(read(passages), DAY)).toMatch(why)
  })
})

const ids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { maxLength: 60 })

test('a sample holds the items with the smallest ids, sorted, whatever order they come in', () => {
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 20 }), (all, count) => {
      const sample = createBottomKSample<{ readonly id: string }>(count)
      for (const id of all) sample.add({ id })
      expect(sample.items.map(({ id }) => id)).toEqual(all.toSorted().slice(0, count))
    }),
  )
})

test('a sample says beforehand whether it takes an id', () => {
  fc.assert(
    fc.property(ids, fc.integer({ min: 1, max: 20 }), (all, count) => {
      const sample = createBottomKSample<{ readonly id: string }>(count)
      for (const id of all) {
        const takes = sample.takes(id)
        sample.add({ id })
        expect(sample.items.some((item) => item.id === id)).toBe(takes)
      }
    }),
  )
})

const AT = DEFAULT_MODEL_CALIBRATION.features.indexOf('nearest_vector')
const passages = (count: number): readonly { readonly text: string }[] =>
  Array.from({ length: count }, (_, n) => ({ text: `anchor${n} ballast${n} cargo${n}` }))

/** A version whose nearest passage lies at 0.3 for every other question and at 0.2 for the rest. */
async function standardised(
  items: readonly { readonly text: string }[],
  calibration = DEFAULT_MODEL_CALIBRATION,
): Promise<Asking & { readonly calibration: typeof calibration }> {
  let count = 0
  const { context, asked } = asking(() =>
    replyWith(['any'], measured({ nearest_vector: count++ % 2 === 0 ? 0.3 : 0.2 })),
  )
  const profile = { ...context.profile, calibration }
  return { context, asked, ...(await standardisedByNegatives(items, { ...context, profile })) }
}

test('a decision with vectors counts in deviations of questions of words of any passages', async () => {
  const { calibration, asked } = await standardised(passages(30))
  const { means, scales, floors, ...others } = calibration
  expect(means[AT]).toBeCloseTo(0.25 + 3.5 * 0.05, 12)
  expect(scales[AT]).toBeCloseTo(0.05, 12)
  expect(floors).toEqual([null, null, null, null, means[AT]])
  expect(DEFAULT_MODEL_CALIBRATION).toMatchObject(others)
  expect(asked).toHaveLength(EVALUATION_BOUNDS.negatives)
  for (const { text } of asked) {
    const words = text.split(' ')
    expect(words.length).toBeGreaterThanOrEqual(5)
    expect(words.length).toBeLessThanOrEqual(15)
    expect(new Set(words.map((word) => /\d+/.exec(word)?.[0])).size).toBeGreaterThan(1)
  }
})

test('the same version is asked the same questions', async () => {
  const texts = async (): Promise<readonly string[]> =>
    (await standardised(passages(30))).asked.map(({ text }) => text).toSorted()
  expect(await texts()).toEqual(await texts())
})

test('a decision without vectors, and one of a version of few passages, stay as they are', async () => {
  const byWords = await standardised(passages(30), DEFAULT_CALIBRATION)
  expect([byWords.calibration, byWords.asked]).toEqual([DEFAULT_CALIBRATION, []])
  const small = await standardised(passages(7))
  expect([small.calibration, small.asked]).toEqual([DEFAULT_MODEL_CALIBRATION, []])
})
