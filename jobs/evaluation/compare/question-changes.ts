import { canonicalJson } from '#core/platform/digest.ts'
import type { QueryWithQrels } from '#jobs/evaluation/query-with-qrels.ts'
import type { NamedChange } from './changes-file.ts'

type Questions = readonly QueryWithQrels[]

/**
 * Yields the questions of the active version's set that the candidate's set lacks, alters or adds.
 * @param before undefined: the active version has no question set, so there is nothing to lose. @param after undefined:
 * the candidate has none.
 */
export function* questionChanges(before: Questions | undefined, after: Questions | undefined): Generator<NamedChange> {
  if (before === undefined) return
  if (after === undefined) {
    yield { kind: 'questions_changed', question: null, before: null, after: null }
    return
  }
  const [own, other] = [byId(before), byId(after)]
  for (const question of [...new Set([...own.keys(), ...other.keys()])].toSorted()) {
    const [left, right] = [own.get(question) ?? null, other.get(question) ?? null]
    if (canonicalJson(left) !== canonicalJson(right))
      yield { kind: left === null ? 'questions_added' : 'questions_changed', question, before: left, after: right }
  }
}

interface QuestionFields {
  readonly text: string
  readonly relevant: readonly string[]
  readonly filters: string
}

function byId(questions: Questions): ReadonlyMap<string, QuestionFields> {
  return new Map(
    questions.map(({ id, text, qrels, filters }) => [
      id,
      { text, relevant: [...qrels.keys()].toSorted(), filters: canonicalJson(filters ?? {}) },
    ]),
  )
}
