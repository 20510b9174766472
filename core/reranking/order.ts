import type { FoundPassage } from '#core/domain/search.ts'

/**
 * Passages in the order of a re-ranker's scores; those beyond the scores stay behind. What the query names by its
 * reference stays in front, and ties keep their places. A re-ranker's scores have no common scale, so a passage's score
 * becomes the reciprocal of its place: it orders the reply, strictly, and means nothing more.
 * @param scores of the first passages, in their order.
 */
export function reordered(passages: readonly FoundPassage[], scores: readonly number[]): readonly FoundPassage[] {
  const order = passages
    .map((passage, at) => ({ passage, score: scores[at] ?? Number.NEGATIVE_INFINITY }))
    .sort((a, b) => Number(b.passage.cited) - Number(a.passage.cited) || (a.score === b.score ? 0 : b.score - a.score))
  return order.map(({ passage }, at) => ({ ...passage, score: 1 / (at + 1) }))
}

/** What the re-ranker reads of a passage. */
export function rerankedText({ document, citation, text }: FoundPassage): string {
  return `${document.title}\n${citation.label}\n${text}`
}
