import { describe, expect, test } from 'vitest'
import { DEFAULT_CALIBRATION } from '#core/domain/default-calibration.ts'
import type { Calibration } from '#core/domain/calibration.ts'
import { profileParametersSchema } from '#core/domain/retrieval-profile.ts'
import type { SearchQuery, SearchResult } from '#core/domain/search.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { REFERENCE_BOUNDARY, SELF_SHIFT_MAX, selfCalibrate } from '#jobs/evaluate/self-calibration/calibrate.ts'
import type { SelfCalibration } from '#jobs/evaluate/self-calibration/calibrate.ts'
import { testPassage } from '#test/support/artifact.ts'
import { asking, measured, replyWith } from '#test/support/jobs/asking.ts'

/** The log odds are the window's coverage. */
const calibration: Calibration = {
  ...DEFAULT_CALIBRATION,
  features: ['window_coverage'],
  means: [0],
  scales: [1],
  coefficients: [1],
  intercept: 0,
}
const profile = profileParametersSchema.parse({ calibration })

const text = (n: number): string =>
  `The keeper of register ${n} shows it to the inspector of the guild, on request. `.repeat(3)

async function* passages(count: number): AsyncGenerator<PassageRecord> {
  for (let n = 0; n < count; n++) yield await Promise.resolve(testPassage(n, { text: text(n) }))
}

/** The decision of a version whose questions have these log odds, with their documents in place and masked. */
async function calibrated(
  odds: { readonly inPlace: number; readonly masked: number },
  count: number = BOUNDS.selfCalibrationPassages,
): Promise<SelfCalibration> {
  return await calibratedBy(
    ({ onlyRows }) =>
      replyWith(['r'], measured({ window_coverage: onlyRows === undefined ? odds.inPlace : odds.masked })),
    count,
  )
}

async function calibratedBy(
  answer: (request: SearchQuery) => SearchResult,
  count: number = BOUNDS.selfCalibrationPassages,
): Promise<SelfCalibration> {
  return await selfCalibrate(passages(count), asking(answer, { profile }).context)
}

const reference = REFERENCE_BOUNDARY.local

describe('the decision of a version without a question set', () => {
  test('moves its intercept alone, by half of what its boundary differs from the reference', async () => {
    const higher = await calibrated({ inPlace: reference + 2, masked: reference - 1 })
    expect(higher.shift).toBeCloseTo(-0.25, 8)
    expect(higher.calibration).toEqual({ ...calibration, intercept: higher.shift })
    const lower = await calibrated({ inPlace: reference + 1, masked: reference - 1.6 })
    expect(lower.shift).toBeCloseTo(0.15, 8)
  })

  test('stays where its boundary is that of the versions that the default was fitted on', async () => {
    const { shift } = await calibrated({ inPlace: reference + 1.5, masked: reference - 1.5 })
    expect(shift).toBeCloseTo(0, 8)
  })

  test.each([
    ['every question is found as well masked as in place, and very well', { inPlace: 12, masked: 12 }, -SELF_SHIFT_MAX],
    ['no question is found well', { inPlace: -12, masked: -12 }, SELF_SHIFT_MAX],
  ])('moves at most by a bound where %s', async (_, odds, bound) => {
    const { shift } = await calibrated(odds)
    expect(shift).toBe(bound)
  })

  test('is the default where fewer than ten questions of a kind are made, whatever they measure', async () => {
    // Each passage gives two questions in its words.
    const few = await calibrated({ inPlace: 12, masked: 12 }, BOUNDS.selfCalibrationQuestionsMin / 2 - 1)
    expect(few).toMatchObject({ calibration, shift: 0 })
    const enough = await calibrated({ inPlace: 12, masked: 12 }, BOUNDS.selfCalibrationQuestionsMin / 2)
    expect(enough.shift).toBe(-SELF_SHIFT_MAX)
  })

  test('is the default where a version serves no passage', async () => {
    expect(await calibrated({ inPlace: 12, masked: 12 }, 0)).toEqual({
      calibration,
      questions: 0,
      shift: 0,
      answered: {},
      masked: {},
    })
  })

  test('does not move by empty lists, unsupported references or named provisions', async () => {
    const high = measured({ window_coverage: 12 })
    const left = [
      replyWith([], high),
      { ...replyWith(['r'], high), unsupported: [{ text: 'x', normalized: 'x', reason: 'not_in_corpus' as const }] },
      replyWith(['r'], measured({ window_coverage: 12, named: 1, named_coverage: 1 })),
    ]
    for (const reply of left) expect((await calibratedBy(() => reply)).shift).toBe(0)
  })

  test('says which share of each form it answers, and of those whose documents are masked', async () => {
    const { answered, masked, questions } = await calibratedBy(({ text: asked, onlyRows }) => {
      // The label alone names a held provision, and off-topic questions find nothing.
      if (/^Rule \d+$/.test(asked)) return replyWith(['r'], measured({ named: 1, named_coverage: 1 }))
      if (asked.startsWith('Rule ')) return replyWith(['r'], measured({ named: 1, named_missing: 20 }))
      if (!asked.includes('register') && !asked.includes('keeper')) return replyWith([])
      return replyWith(['r'], measured({ window_coverage: onlyRows === undefined ? 5 : -3 }))
    })
    expect(questions).toBe(7 * BOUNDS.selfCalibrationPassages)
    expect(answered).toMatchObject({ middle: 1, 'off topic': 0, named: 1, beyond: 0 })
    expect(masked['middle']).toBe(0)
    expect(Object.keys(masked)).toEqual(['middle', 'few words'])
  })
})
