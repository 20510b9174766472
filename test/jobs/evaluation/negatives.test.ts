import { expect, test } from 'vitest'
import { DEFAULT_CALIBRATION, DEFAULT_MODEL_CALIBRATION } from '#core/domain/default-calibration.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import { standardisedByNegatives } from '#jobs/evaluation/negatives.ts'
import { asking, measured, replyWith } from '#test/support/evaluation.ts'
import type { Asking } from '#test/support/evaluation.ts'

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
