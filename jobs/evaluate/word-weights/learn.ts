import { BOUNDS } from '#core/platform/bounds.ts'
import { weighableWords } from '#core/domain/word-weights.ts'
import type { WordWeights } from '#core/domain/word-weights.ts'
import { askSystems, embedQuestions } from '#jobs/evaluate/ask.ts'
import type { AskContext, AskedFor } from '#jobs/evaluate/ask.ts'
import { dealFolds } from '#jobs/evaluate/calibration/folds.ts'
import { compareRankings } from '#jobs/evaluate/metrics/comparison.ts'
import type { RankingFigures } from '#jobs/evaluate/metrics/ranking.ts'
import { outcomeOf } from '#jobs/evaluate/outcomes.ts'
import type { QueryWithQrels } from '#jobs/evaluate/query-with-qrels.ts'
import { rankingUnder, sampleWithQrels } from '#jobs/evaluate/ranking-under.ts'
import { fitWordWeights } from './fit.ts'
import { trainingList } from './lists.ts'
import type { TrainingList } from './lists.ts'

/** Least questions with a word that gets a weight. */
const WORD_QUESTIONS_MIN = 3
/** A weight that is nearer to 1 changes next to nothing and is left out. */
const CHANGE_MIN = 0.05
const DECIMALS = 1_000
const FOLDS = 5

export interface LearnedWordWeights {
  /** Null: the questions taught none. */
  readonly weights: WordWeights | null
  /** Weights that were learned without a question, for measuring by it. */
  readonly without: (question: AskedFor) => WordWeights | null
}

const NONE: LearnedWordWeights = { weights: null, without: () => null }

/**
 * Learns weights of words from a question set, and keeps them if they rank it better: each question is ranked by
 * weights that were learned on the other folds, and the difference in nDCG@10 to the ranking without weights must lie
 * above zero with its whole interval. Fewer than `comparedQuestionsMin` questions with qrels, and a profile that fuses
 * by ranks, learn none.
 */
export async function learnWordWeights(
  questions: readonly QueryWithQrels[],
  context: AskContext,
): Promise<LearnedWordWeights> {
  const { profile } = context
  const sample = sampleWithQrels(questions, BOUNDS.wordWeightQuestionsMax)
  if (sample.length < BOUNDS.comparedQuestionsMin || profile.fusion.method !== 'weighted') return NONE
  const asking = { ...context, vectors: await embedQuestions(sample, context) }
  const words = frequentWords(sample)
  const { lists, figures } = await askForLists(sample, words, asking)
  const learn = async (from: readonly QueryWithQrels[]): Promise<WordWeights> => {
    const { dense_weight: weight } = profile.fusion
    return changed(words, await fitWordWeights(listsOf(from, lists), words.length, weight, context.signal))
  }
  const crossFitted = await crossFit(sample, learn)
  const ranked = await rankingUnder(profile, sample, BOUNDS.wordWeightPassages, {
    ...asking,
    wordWeightsOf: (question) => crossFitted.get(question) ?? null,
  })
  const difference = compareRankings(ranked, figures)?.metrics['ndcg@10']
  if (difference === undefined || difference.ci[0] <= 0) return NONE
  const weights = await learn(sample)
  return { weights, without: (question) => crossFitted.get(question) ?? weights }
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
  context: Parameters<typeof rankingUnder>[3],
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
    const relevant = reply.passages.map(({ sourceId }) => (question.qrels.get(sourceId) ?? 0) > 0)
    const list = reply.scoreParts && trainingList(reply.scoreParts, relevant, numberOf)
    if (list !== undefined) lists.set(question, list)
  })
  return { lists, figures }
}

function listsOf(
  questions: readonly QueryWithQrels[],
  lists: ReadonlyMap<QueryWithQrels, TrainingList>,
): readonly TrainingList[] {
  return questions.flatMap((question) => lists.get(question) ?? [])
}

/** Returns for each question the weights that are learned from the other folds. */
async function crossFit(
  questions: readonly QueryWithQrels[],
  learn: (from: readonly QueryWithQrels[]) => Promise<WordWeights>,
): Promise<ReadonlyMap<AskedFor, WordWeights>> {
  const folds = dealFolds(
    questions.map(({ id, group }) => group ?? id),
    FOLDS,
  )
  const learned = new Map<AskedFor, WordWeights>()
  for (const fold of new Set(folds)) {
    const weights = await learn(questions.filter((_, at) => folds[at] !== fold))
    for (const [at, question] of questions.entries()) if (folds[at] === fold) learned.set(question, weights)
  }
  return learned
}

/** The weights that differ from 1, rounded. */
function changed(words: readonly string[], weights: Float64Array): WordWeights {
  return Object.fromEntries(
    words.flatMap((word, number) => {
      const weight = Math.round((weights[number] ?? 1) * DECIMALS) / DECIMALS
      return Math.abs(weight - 1) < CHANGE_MIN ? [] : [[word, weight] as const]
    }),
  )
}
