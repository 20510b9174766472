import type { PassageRecord } from '#core/index/passages/record.ts'
import { sha256 } from '#core/platform/digest.ts'
import type { QueryWithQrels } from './questions.ts'

/**
 * Returns the answerable questions without their evidence: rows of a relevant passage, of an equal text, and of the same
 * provision in other revisions are left out of the search. No passage answers them.
 * @param passages of the version in row order; they are read twice.
 */
export async function maskedQuestions<Q extends QueryWithQrels>(
  questions: readonly Q[],
  passages: () => AsyncIterable<PassageRecord>,
) {
  const answerable = questions.filter((question) => question.answerable === true)
  const relevant = new Set(answerable.flatMap(({ qrels }) => [...qrels.keys()]))
  /** By the id of a relevant passage, what it is known by. */
  const keysOf = new Map<string, string[]>()
  let rows = 0
  for await (const passage of passages()) {
    rows += 1
    if (!relevant.has(passage.source_id)) continue
    keysOf.set(passage.source_id, [...(keysOf.get(passage.source_id) ?? []), ...keysIn(passage)])
  }
  const rowsOf = new Map([...keysOf.values()].flat().map((key) => [key, new Set<number>()]))
  let row = 0
  for await (const passage of passages()) {
    for (const key of keysIn(passage)) rowsOf.get(key)?.add(row)
    row += 1
  }
  return answerable.map((question) => {
    const onlyRows = Buffer.alloc(Math.ceil(rows / 8), 255)
    for (const source of question.qrels.keys())
      for (const key of keysOf.get(source) ?? [])
        for (const at of rowsOf.get(key) ?? []) onlyRows[at >> 3] = (onlyRows[at >> 3] ?? 0) & ~(1 << (at & 7))
    return { ...question, onlyRows }
  })
}

function keysIn({ source_id: source, provision, text }: PassageRecord): readonly string[] {
  return [`id ${source}`, `provision ${provision}`, `text ${sha256(text).toString('hex')}`]
}
