import { decides, orders, type ProfileParameters, type ReaderParameters } from '#core/domain/retrieval-profile.ts'
import { evenlySpaced } from '#core/index/vectors/blocks.ts'
import { EVALUATION_BOUNDS } from './bounds.ts'
import { foldsOf } from './calibration/fit.ts'
import type { QueryWithQrels } from './questions.ts'
import { askRecords, embedOnce, servedMode, type AskRecordsContext } from './ask.ts'
import { compareRankings, type RankingFigures } from './metrics/ranking.ts'
import { outcomeOf } from './outcomes.ts'

/** Under the first, words alone rank: vectors only order passages that words score alike, within about a hundredth. */
export const FUSION_WEIGHTS = [0.007, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8] as const
const [WORDS_ALONE] = FUSION_WEIGHTS
/** Passages of each list, the depth of nDCG@10. */
const LIMIT = 10

/**
 * Fits the ranking to a question set: the weight of the vectors, then the order of a reader if it ranks better. Known
 * items are not fitted, since they are found by their own words.
 * @param reader to try; null: none.
 */
export async function fitRanking(
  reader: ReaderParameters | null,
  questions: readonly QueryWithQrels[],
  context: AskRecordsContext,
): Promise<ProfileParameters> {
  const asking = { ...context, embedder: context.embedder && embedOnce(context.embedder) }
  return await tryOrder(reader, questions, { ...asking, profile: await fitFusion(questions, asking) })
}

/** Returns the reader with scores that only decide; null where they would do nothing. */
export function withoutOrder(reader: ReaderParameters | null): ReaderParameters | null {
  return reader !== null && decides(reader) ? { ...reader, scores: 'decide' } : null
}

type FiguresById = ReadonlyMap<string, RankingFigures>

/**
 * Returns the profile with the weight of the vectors that ranks a question set best, if it beats words alone. Each
 * question is ranked by the weight that is best on the other folds, so that no question chooses its own weight. The
 * difference in nDCG@10 between these rankings and those of words alone must lie above zero with its whole interval;
 * else words rank alone. Fewer than `comparedQuestionsMin` questions with qrels leave the profile as it is, and so does a
 * version without vectors.
 */
export async function fitFusion(questions: readonly QueryWithQrels[], context: AskRecordsContext) {
  const { profile } = context
  const sample = sampleWithQrels(questions, EVALUATION_BOUNDS.comparedQuestionsMax)
  if (context.embedder === undefined || sample.length < EVALUATION_BOUNDS.comparedQuestionsMin) return profile
  const byWeight = new Map<number, FiguresById>()
  for (const weight of FUSION_WEIGHTS)
    byWeight.set(weight, await rankingUnder(withWeight(profile, weight), sample, LIMIT, context))
  const wordsAlone = byWeight.get(WORDS_ALONE) ?? new Map<string, RankingFigures>()
  const isBetter = ranksBetter(crossFit(sample, byWeight), wordsAlone)
  return withWeight(profile, isBetter ? bestWeight(sample, byWeight) : WORDS_ALONE)
}

function withWeight(profile: ProfileParameters, weight: number): ProfileParameters {
  return { ...profile, dense_weight: weight }
}

/** Returns the figures of each question under the weight that is best on the other folds. */
function crossFit(sample: readonly QueryWithQrels[], byWeight: ReadonlyMap<number, FiguresById>): FiguresById {
  const folds = foldsOf(sample)
  const figures = new Map<string, RankingFigures>()
  for (const fold of new Set(folds.values())) {
    const others = sample.filter((question) => folds.get(question) !== fold)
    const ranked = byWeight.get(bestWeight(others, byWeight))
    for (const question of sample) {
      const own = folds.get(question) === fold ? ranked?.get(question.id) : undefined
      if (own !== undefined) figures.set(question.id, own)
    }
  }
  return figures
}

/** Returns the weight with the highest mean nDCG@10; of equal ones the lowest. */
function bestWeight(questions: readonly QueryWithQrels[], byWeight: ReadonlyMap<number, FiguresById>): number {
  let best: { readonly weight: number; readonly sum: number } = { weight: WORDS_ALONE, sum: -1 }
  for (const [weight, figures] of byWeight) {
    const sum = questions.reduce((total, { id }) => total + (figures.get(id)?.['ndcg@10'] ?? 0), 0)
    if (sum > best.sum) best = { weight, sum }
  }
  return best.weight
}

/**
 * Returns the profile with a reader that orders, if the whole interval of the difference in nDCG@10 lies above zero.
 * Published results show that re-rankers can degrade regulatory search, so a gain on this question set is required.
 */
export async function tryOrder(
  reader: ReaderParameters | null,
  questions: readonly QueryWithQrels[],
  context: AskRecordsContext,
): Promise<ProfileParameters> {
  const { profile } = context
  const sample = sampleWithQrels(questions, EVALUATION_BOUNDS.orderedQuestionsMax)
  if (!orders(reader) || sample.length < EVALUATION_BOUNDS.comparedQuestionsMin) return profile
  const tried = { ...profile, reader }
  const own = await rankingUnder(profile, sample, LIMIT, context)
  return ranksBetter(await rankingUnder(tried, sample, LIMIT, context), own) ? tried : profile
}

/**
 * Returns questions with qrels in the order of their ids, an evenly spaced sample. The same questions in any order give
 * the same sample.
 */
export function sampleWithQrels(questions: readonly QueryWithQrels[], countMax: number): readonly QueryWithQrels[] {
  const withQrels = questions.filter(({ qrels }) => qrels.size > 0).sort((a, b) => (a.id < b.id ? -1 : 1))
  return [...evenlySpaced(withQrels.length, countMax)].flatMap((at) => withQrels[at] ?? [])
}

/** Returns the figures by question id under a profile. @param limit passages of each list. */
export async function rankingUnder(
  profile: ProfileParameters,
  questions: readonly QueryWithQrels[],
  limit: number,
  context: AskRecordsContext,
): Promise<ReadonlyMap<string, RankingFigures>> {
  const found = new Map<string, RankingFigures>()
  await askRecords(
    questions,
    { ...context, profile, modes: [servedMode(context)], limit },
    (_, _mode, reply, question) => {
      const { figures } = outcomeOf(question, reply)
      if (figures !== undefined) found.set(question.id, figures)
    },
  )
  return found
}

/** Whether the difference in nDCG@10 lies above zero with its whole interval. @param tried figures by question id. */
function ranksBetter(tried: ReadonlyMap<string, RankingFigures>, known: ReadonlyMap<string, RankingFigures>): boolean {
  const difference = compareRankings(tried, known)?.metrics['ndcg@10']
  return difference !== undefined && difference.ci[0] > 0
}
