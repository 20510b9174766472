import { predictorOf, type Predictor } from '#core/domain/predictors.ts'
import { mulberry32 } from '#core/platform/seeded-random.ts'
import { segmenter } from '#law/import/parts/segmenter.ts'
import { askModes, servedMode, type AskContext, type QuestionInput } from './ask.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'
import { mean } from './metrics/ranking.ts'

/** Questions of words of fewer passages are like these passages. */
const PASSAGES_MIN = 8
/** Words of the shortest and the longest question. */
const WORDS = [5, 15] as const
/** Level and spread of this predictor are those of a model in a version. */
const STANDARDISED: Predictor = 'nearest_vector'
/** From so many deviations above the mean of the negatives, nearness speaks for an answer; below, it says nothing. */
const DEVIATIONS = 3.5

/**
 * Standardises what a decision takes from vectors by the version's own negatives: questions of words of any passages,
 * which no passage answers. The nearest passage then counts by how much nearer it is than theirs, in their standard
 * deviations, whatever model made the vectors. So a model that tells little apart leaves the decision to the words.
 * @param items texts of passages of the version.
 * @returns the profile as it is where its calibration does not use the predictor, or the version has too few passages.
 */
export async function standardisedByNegatives(items: readonly { readonly text: string }[], context: AskContext) {
  const { calibration } = context.profile
  const { features, means, scales, floors = features.map(() => null) } = calibration
  const at = features.indexOf(STANDARDISED)
  const values: number[] = []
  const asking = { ...context, modes: [servedMode(context)], limit: 1 }
  await askModes(at === -1 ? [] : negativesOf(items), asking, (question, _mode, { predictors }) => {
    values[question] = predictorOf(predictors, STANDARDISED) ?? 0
  })
  const average = mean(values)
  const deviation = Math.sqrt(mean(values.map((value) => (value - average) ** 2)))
  if (deviation === 0) return context.profile
  const level = average + DEVIATIONS * deviation
  const standardised = {
    means: means.with(at, level),
    scales: scales.with(at, deviation),
    floors: floors.with(at, level),
  }
  return { ...context.profile, calibration: { ...calibration, ...standardised } }
}

/** The same texts give the same questions. */
function negativesOf(items: readonly { readonly text: string }[]): readonly QuestionInput[] {
  const pool = items.map(({ text }) => wordsOf(text)).filter(({ length }) => length > 0)
  if (pool.length < PASSAGES_MIN) return []
  const random = mulberry32(pool.length)
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)]
  return Array.from({ length: EVALUATION_BOUNDS.negatives }, () => {
    const count = Math.round(WORDS[0] * (WORDS[1] / WORDS[0]) ** random())
    const drawn = Array.from({ length: count }, () => pick(pick(pool) ?? []) ?? '')
    return { text: drawn.join(' '), filters: undefined }
  })
}

/** As they are written, because a model reads them; of scripts without spaces, too. */
function wordsOf(text: string): readonly string[] {
  return Array.from(segmenter('und', 'word').segment(text), ({ segment }) => segment).filter((word) =>
    /\p{L}{2}/u.test(word),
  )
}
