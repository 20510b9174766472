import { BOUNDS } from '#core/platform/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { weighableWords } from '#core/domain/word-weights.ts'
import type { WordWeights } from '#core/domain/word-weights.ts'
import type { SearchResult } from '#core/domain/search.ts'
import { askSystems } from '#jobs/evaluate/ask.ts'
import type { AskContext, AskedFor } from '#jobs/evaluate/ask.ts'
import { foldsOf } from '#jobs/evaluate/calibration/folds.ts'
import type { RankingFigures } from '#jobs/evaluate/metrics/ranking.ts'
import { outcomeOf } from '#jobs/evaluate/outcomes.ts'
import type { QueryWithQrels } from '#jobs/evaluate/query-with-qrels.ts'
import { rankingUnder, ranksBetter, sampleWithQrels } from '#jobs/evaluate/ranking-under.ts'
import { fitWordWeights } from './fit.ts'
import { trainingList } from './lists.ts'
import type { TrainingList } from './lists.ts'

/** Least questions with a word that gets a weight. */
const WORD_QUESTIONS_MIN = 3
/** A weight that is nearer to 1 changes next to nothing and is left out. */
const CHANGE_MIN = 0.05
const DECIMALS = 1_000

export interface LearnedWordWeights {
  /** Null: the questions taught none. */
  readonly weights: WordWeights | null
  /** Weights that questions of other folds taught, for measuring by the question; null: none. */
  readonly heldOut: (question: AskedFor) => WordWeights | null
}

const NONE: LearnedWordWeights = { weights: null, heldOut: () => null }

/**
 * Learns weights of words from a question set, and keeps them if they rank it better: each question is ranked by
 * weights that the other folds taught, and the difference in nDCG@10 to the ranking without weights must lie above zero
 * with its whole interval. Fewer than `comparedQuestionsMin` questions with qrels, and a profile that fuses by ranks,
 * learn none. A re-ranker is left out.
 * @throws OperatorError where a search node sends no score parts.
 */
export async function learnWordWeights(
  questions: readonly QueryWithQrels[],
  context: AskContext,
): Promise<LearnedWordWeights> {
  const profile = { ...context.profile, reranker: null }
  const asking = { ...context, profile }
  const sample = sampleWithQrels(questions, BOUNDS.wordWeightQuestionsMax)
  if (sample.length < BOUNDS.comparedQuestionsMin || profile.fusion.method !== 'weighted') return NONE
  const words = frequentWords(sample)
  const { lists, figures } = await askForLists(sample, words, asking)
  const learn = async (from: readonly QueryWithQrels[]): Promise<WordWeights> => {
    const { dense_weight: denseWeight } = profile.fusion
    const options = { words: words.length, denseWeight, signal: context.signal }
    const own = from.flatMap((question) => lists.get(question) ?? [])
    return differing(words, await fitWordWeights(own, options))
  }
  const crossFitted = await crossFit(questions, sample, learn)
  const heldOut = (question: AskedFor): WordWeights | null => crossFitted.get(question) ?? null
  const ranked = await rankingUnder(profile, sample, BOUNDS.wordWeightPassages, { ...asking, wordWeightsOf: heldOut })
  return ranksBetter(ranked, figures) ? { weights: await learn(sample), heldOut } : NONE
}

/** Words of at least `WORD_QUESTIONS_MIN` questions, the most frequent first. */
function frequentWords(questions: readonly QueryWithQrels[]): readonly string[] {
  const counts = new Map<string, number>()
  for (const { text } of questions)
    for (const word of weighableWords(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  return [...counts]
    .filter(([, count]) => count >= WORD_QUESTIONS_MIN)
    .sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1))
    .slice(0, BOUNDS.wordWeightsMax)
    .map(([word]) => word)
}

interface AskedLists {
  readonly lists: ReadonlyMap<QueryWithQrels, TrainingList>
  /** Figures without weights, by question id. */
  readonly figures: ReadonlyMap<string, RankingFigures>
}

async function askForLists(
  questions: readonly QueryWithQrels[],
  words: readonly string[],
  context: AskContext,
): Promise<AskedLists> {
  const numberOf = new Map(words.map((word, number) => [word, number]))
  const lists = new Map<QueryWithQrels, TrainingList>()
  const figures = new Map<string, RankingFigures>()
  const options = {
    systems: ['hybrid'],
    limit: BOUNDS.wordWeightPassages,
    withoutText: true,
    withScoreParts: true,
  } as const
  await askSystems(questions, { ...context, ...options }, (_, _system, reply, question) => {
    const outcome = outcomeOf(question, reply)
    if (outcome.figures !== undefined) figures.set(question.id, outcome.figures)
    const list = listOf(question, reply, numberOf)
    if (list !== undefined) lists.set(question, list)
  })
  return { lists, figures }
}

/** A record with the question's own id is left out, as in the figures. */
function listOf(
  { id, text, qrels }: QueryWithQrels,
  { passages, scoreParts }: SearchResult,
  numberOf: ReadonlyMap<string, number>,
): TrainingList | undefined {
  if (scoreParts === undefined)
    throw new OperatorError(
      'A search node does not say what its scores are made of: update the search nodes, then build again.',
    )
  const relevant = passages.map(({ sourceId }) => (sourceId === id ? undefined : (qrels.get(sourceId) ?? 0) > 0))
  const own = weighableWords(text).flatMap((word) => {
    const number = numberOf.get(word)
    return number === undefined ? [] : [[word, number] as const]
  })
  return trainingList(scoreParts, relevant, new Map(own))
}

/** Returns for each question the weights that the sampled questions of the other folds teach. */
async function crossFit(
  questions: readonly QueryWithQrels[],
  sample: readonly QueryWithQrels[],
  learn: (from: readonly QueryWithQrels[]) => Promise<WordWeights>,
): Promise<ReadonlyMap<AskedFor, WordWeights>> {
  const folds = foldsOf(questions)
  const learned = new Map<AskedFor, WordWeights>()
  for (const fold of new Set(folds.values())) {
    const weights = await learn(sample.filter((question) => folds.get(question) !== fold))
    for (const question of questions) if (folds.get(question) === fold) learned.set(question, weights)
  }
  return learned
}

/** The weights that differ from 1, rounded. */
function differing(words: readonly string[], weights: Float64Array): WordWeights {
  return Object.fromEntries(
    words.flatMap((word, number) => {
      const weight = Math.round((weights[number] ?? 1) * DECIMALS) / DECIMALS
      return Math.abs(weight - 1) < CHANGE_MIN ? [] : [[word, weight] as const]
    }),
  )
}
