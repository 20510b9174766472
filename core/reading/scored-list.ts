import { READ_PASSAGES_MAX, decides, orders, type ReaderParameters } from '#core/domain/retrieval-profile.ts'
import type { FoundPassage } from '#core/domain/search.ts'

type Scoring = Pick<ReaderParameters, 'scores' | 'passages'>

export interface ScoredList {
  readonly passages: readonly FoundPassage[]
  /** Positions in the list of the search; absent where scores do not order. */
  readonly order?: readonly number[]
  /** Scores of the first passages; absent where they do not decide, or nothing was read. */
  readonly read?: readonly number[]
}

/** Returns the text of a passage that a cross-encoder reads. */
export function readText({ document, citation, text }: FoundPassage): string {
  return `${document.title}\n${citation.label}\n${text}`
}

/** Returns the passages that a reader is asked about; none where its scores could change nothing. */
export function passagesToRead(reader: Scoring, found: readonly FoundPassage[]): readonly FoundPassage[] {
  const first = found.slice(0, decides(reader) && !orders(reader) ? READ_PASSAGES_MAX : reader.passages)
  return decides(reader) || first.length > 1 ? first : []
}

/**
 * Applies the scores of a reader to the list of a search.
 * @param scores of the first passages, in their order.
 * @param topK passages that are served.
 */
export function scoredList(
  reader: Scoring,
  found: readonly FoundPassage[],
  scores: readonly number[],
  topK: number,
): ScoredList {
  const list = orders(reader) ? reordered(found, scores) : { passages: found, inOrder: scores, order: undefined }
  const read = list.inOrder.slice(0, Math.min(topK, READ_PASSAGES_MAX)).filter((score) => score !== undefined)
  return {
    passages: list.passages.slice(0, topK),
    ...(list.order === undefined ? {} : { order: list.order }),
    ...(decides(reader) && read.length > 0 ? { read } : {}),
  }
}

/**
 * Returns passages in the order of scores; those without a score follow. Passages that a reference of the query names
 * stay first, in their order. Ties keep their order. Scores have no common scale, so a passage's score becomes the
 * reciprocal of its rank. It orders the reply strictly and has no other meaning.
 */
function reordered(passages: readonly FoundPassage[], scores: readonly number[]) {
  const ranked = passages
    .map((passage, at) => ({ passage, at, rank: passage.named ? 0 : (scores[at] ?? Number.NEGATIVE_INFINITY) }))
    .sort((a, b) => Number(b.passage.named) - Number(a.passage.named) || (a.rank === b.rank ? 0 : b.rank - a.rank))
  return {
    passages: ranked.map(({ passage }, at) => ({ ...passage, score: 1 / (at + 1) })),
    order: ranked.map(({ at }) => at),
    inOrder: ranked.map(({ at }) => scores[at]),
  }
}
