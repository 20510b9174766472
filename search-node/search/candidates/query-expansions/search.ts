import { analyzeQuestion, isFunctionWord } from '#core/index/analysis/analyzer.ts'
import { addRow, bitsetWords, hasRow } from '#core/index/bitset.ts'
import { IMPACT_MAX } from '#core/index/lexical/layout.ts'
import type { QueryExpansionsReader } from '#core/index/query-expansions/reader.ts'
import type { ScoredCandidates } from '#search-node/search/interfaces.ts'
import { SCORE_UNIT, prepareLexical } from '#search-node/search/candidates/words/query.ts'
import { searchLexical } from '#search-node/search/candidates/words/search.ts'

/** The query expansions of a version, compared with one question. A passage has the share of its best one. */
export type ComparedExpansions = ReturnType<typeof compareExpansions>

/** The query expansions of allowed passages, for bitsets that are still in use. */
const allowedQuestions = new WeakMap<Uint32Array, Uint32Array>()

/** @param text the question. It is analysed in every language that query expansions are written in. */
export function compareExpansions({ lexical, rows }: QueryExpansionsReader, text: string) {
  const { words } = analyzeQuestion(text, lexical.description.languages)
  // A function word of one language counts as a word of the others, which would make every share small.
  const query = prepareLexical(
    lexical,
    words.filter(({ word }) => !isFunctionWord(word)),
  )
  const greatest = query.groups.reduce((sum, { weight }) => sum + weight, 0) * IMPACT_MAX * SCORE_UNIT
  /** The best of the allowed query expansions, folded by passage. */
  function folded(allowed: Uint32Array, wanted: number) {
    const shares = new Map<number, number>()
    const { ids, scores } = searchLexical(query, allowed, wanted)
    for (const [at, question] of ids.entries()) {
      const row = rows[question] ?? 0
      if (!shares.has(row)) shares.set(row, ((scores[at] ?? 0) * SCORE_UNIT) / greatest)
    }
    return { shares, all: ids.length < wanted }
  }
  return {
    /** Passages with the best query expansions, best first. @param allowed bitset of rows. */
    best(allowed: Uint32Array, wanted: number): ScoredCandidates {
      const bits = allowedQuestions.get(allowed) ?? questionsOf(rows, allowed)
      allowedQuestions.set(allowed, bits)
      // Several questions of one passage may be among the best, so more questions than passages are looked for.
      let asked = wanted * QUESTIONS_FACTOR
      let found = folded(bits, asked)
      for (; found.shares.size < wanted && !found.all; found = folded(bits, asked)) asked *= QUESTIONS_FACTOR
      const best = [...found.shares].slice(0, wanted)
      return { ids: Uint32Array.from(best, ([row]) => row), scores: Float64Array.from(best, ([, share]) => share) }
    },
    /** In [0, 1], one for each row; 0: no query expansion of the passage shares a word. @param rows ascending. */
    shares(wanted: Uint32Array): Float64Array {
      const bits = new Uint32Array(bitsetWords(rows.length))
      let count = 0
      for (const row of wanted)
        for (let at = firstOf(rows, row); rows[at] === row; at++) {
          addRow(bits, at)
          count += 1
        }
      const { shares } = folded(bits, count)
      return Float64Array.from(wanted, (row) => shares.get(row) ?? 0)
    },
  }
}

const QUESTIONS_FACTOR = 4

function questionsOf(rows: Uint32Array, allowed: Uint32Array): Uint32Array {
  const bits = new Uint32Array(bitsetWords(rows.length))
  for (let at = 0; at < rows.length; at++) if (hasRow(allowed, rows[at] ?? 0)) addRow(bits, at)
  return bits
}

/** Position of the first question of a row, or of the next row that has one. */
function firstOf(rows: Uint32Array, row: number): number {
  let [low, high] = [0, rows.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((rows[middle] ?? 0) < row) low = middle + 1
    else high = middle
  }
  return low
}
