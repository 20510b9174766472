import type { FoundPassage } from '#core/domain/search.ts'

export interface Reordered {
  readonly passages: readonly FoundPassage[]
  /** Positions in the list that was given. */
  readonly order: readonly number[]
}

/**
 * Returns passages in the order of a re-ranker's scores; those without a score follow. Passages that a reference of the
 * query names stay first, in their order. Ties keep their order. Scores of a re-ranker have no common scale, so a
 * passage's score becomes the reciprocal of its rank. It orders the reply strictly and has no other meaning.
 * @param scores of the first passages, in their order.
 */
export function reordered(passages: readonly FoundPassage[], scores: readonly number[]): Reordered {
  const ranked = passages
    .map((passage, at) => ({ passage, at, score: passage.named ? 0 : (scores[at] ?? Number.NEGATIVE_INFINITY) }))
    .sort((a, b) => Number(b.passage.named) - Number(a.passage.named) || (a.score === b.score ? 0 : b.score - a.score))
  return {
    passages: ranked.map(({ passage }, rank) => ({ ...passage, score: 1 / (rank + 1) })),
    order: ranked.map(({ at }) => at),
  }
}

/** Returns the text of a passage that the re-ranker reads. */
export function rerankedText({ document, citation, text }: FoundPassage): string {
  return `${document.title}\n${citation.label}\n${text}`
}
