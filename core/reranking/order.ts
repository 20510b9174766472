import type { FoundPassage } from '#core/domain/search.ts'

/**
 * Returns passages in the order of a re-ranker's scores; those without a score follow. Passages that a reference of the
 * query names stay first, and ties keep their order. Scores of a re-ranker have no common scale, so a passage's score
 * becomes the reciprocal of its rank. It orders the reply strictly and has no other meaning.
 * @param scores of the first passages, in their order.
 */
export function reordered(passages: readonly FoundPassage[], scores: readonly number[]): readonly FoundPassage[] {
  const order = passages
    .map((passage, at) => ({ passage, score: scores[at] ?? Number.NEGATIVE_INFINITY }))
    .sort((a, b) => Number(b.passage.cited) - Number(a.passage.cited) || (a.score === b.score ? 0 : b.score - a.score))
  return order.map(({ passage }, at) => ({ ...passage, score: 1 / (at + 1) }))
}

/** Returns the text of a passage that the re-ranker reads. */
export function rerankedText({ document, citation, text }: FoundPassage): string {
  return `${document.title}\n${citation.label}\n${text}`
}
