import type { Rewriter } from './rewriter.ts'
import { REWRITING_BOUNDS } from './bounds.ts'

/** Questions that a rewriter is asked at the build and every day after: a model may change under its name. */
const CANARIES = [
  'My landlord keeps the money that I left with him when I moved in. What can I do?',
  'Wie lange darf ich etwas zurückgeben, das ich im Internet gekauft habe?',
  'Qui dois-je prévenir si les données de mes clients ont été volées ?',
  'May I record a meeting without telling the others?',
] as const

/** @returns the queries for each of `CANARIES`. @throws RewriterError */
export async function askCanaries(rewriter: Rewriter, knowledgeBase: object, signal: AbortSignal): Promise<string[][]> {
  const asked: string[][] = []
  for (const question of CANARIES) {
    const { queries } = await rewriter.rewrite(question, knowledgeBase, REWRITING_BOUNDS.rewriterTimeoutMaxMs, signal)
    asked.push([...queries])
  }
  return asked
}

/**
 * How far a rewriter's queries are from those on record: 1 less the mean share of common words (Jaccard index) of each
 * canary's queries. 0: the same words; 1: no word in common.
 * @param wordsOf the words of a text, in the form in which they are compared.
 */
export function driftOf(
  recorded: readonly (readonly string[])[],
  now: readonly (readonly string[])[],
  wordsOf: (text: string) => readonly string[],
): number {
  const shares = recorded.map((queries, at) => {
    const [before, after] = [new Set(queries.flatMap(wordsOf)), new Set((now[at] ?? []).flatMap(wordsOf))]
    const common = [...before].filter((word) => after.has(word)).length
    const all = before.size + after.size - common
    return all === 0 ? 1 : common / all
  })
  return shares.length === 0 ? 0 : 1 - shares.reduce((sum, share) => sum + share, 0) / shares.length
}
