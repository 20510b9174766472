import { mulberry32 } from '#core/platform/seeded-random.ts'
import type { SearchQuery, SearchResult } from '#core/domain/search.ts'
import { found, measured } from './asking.ts'

/** What each word adds to the score of the answer, and to that of every other passage. */
export interface AddedByWords {
  readonly ensure: readonly [number, number]
  readonly firm: readonly [number, number]
}

/** By words the answer comes last, because every other passage holds "ensure". */
export const MISLED: AddedByWords = { ensure: [0, 0.4], firm: [0.3, 0.1] }

/** The same, more for some questions than for others, so that every fold teaches weights of its own. */
export function misledBy(question: string): AddedByWords {
  const random = mulberry32(Number(question.slice(1)) + 1)
  return { ensure: [0, 0.25 + 0.2 * random()], firm: [0.2 + 0.2 * random(), 0.1] }
}

/** The first word of a text, by which the tests name their questions. */
export const questionOf = ({ text }: SearchQuery): string => text.split(' ')[0] ?? ''

/** Ranks ten passages by words and their weights, without the scale of the greatest score. */
export function rankedByWords(request: SearchQuery, { ensure, firm }: AddedByWords): SearchResult {
  const weightOf = (wanted: string): number =>
    request.ranking.wordWeights.find(({ word }) => word === wanted)?.weight ?? 1
  const [gainOfEnsure, gainOfFirm] = [weightOf('ensure') - 1, weightOf('firm') - 1]
  const passages = Array.from({ length: 10 }, (_, at) => {
    const own = [ensure[at === 0 ? 0 : 1], firm[at === 0 ? 0 : 1]] as const
    const plain = own[0] + own[1] - at / 1_000
    return {
      record: at === 0 ? `${questionOf(request)}-answer` : `r${at}`,
      own,
      plain,
      score: plain + gainOfEnsure * own[0] + gainOfFirm * own[1],
    }
  }).sort((a, b) => b.score - a.score)
  return {
    passages: passages.map(({ record, score }, row) => found(record, score, { row })),
    plan: 'exact',
    allowed: 10,
    predictors: measured(),
    unsupported: [],
    scoreParts:
      request.withScoreParts === true
        ? {
            words: ['ensure', 'firm'],
            shares: [0.45, 0.45],
            byWord: passages.flatMap(({ own }) => own),
            byWords: passages.map(({ plain }) => plain),
            byVector: passages.map(() => 0),
          }
        : undefined,
  }
}
