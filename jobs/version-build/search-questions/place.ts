import { analyze } from '#core/index/analysis/analyzer.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import type { PlacedExpansion } from '#core/index/query-expansions/writer.ts'
import { passagesFile } from '#jobs/version-build/sort.ts'
import type { BuildContext } from '#jobs/version-build/context.ts'
import { lineRefused, readSearchQuestions, type QuestionLine } from './file.ts'

const NAME = 'The file of search questions'

/**
 * Gives the search questions of a build to its passages. Of a record that was cut, a question belongs to the part that
 * shares most words with it, so that no two parts are found by one question. Each revision of a record has all of them.
 * @returns rows ascending; empty for a build without search questions.
 * @throws OperatorError naming the first line whose passage the version does not hold.
 */
export async function placeSearchQuestions(
  context: Pick<BuildContext, 'parameters' | 'store' | 'workFolder' | 'signal'>,
): Promise<readonly PlacedExpansion[]> {
  const { store, workFolder, signal } = context
  const { search_questions_sha256: sha256 } = context.parameters
  if (sha256 === undefined) return []
  const byId = await readSearchQuestions(store.snapshotFile(sha256), NAME, signal)
  const placed: PlacedExpansion[] = []
  const left = new Map(byId)
  for await (const record of recordsIn(passagesFile(workFolder))) {
    placed.push(...placedIn(record, byId.get(record.id) ?? []))
    left.delete(record.id)
  }
  const [unknown] = [...left.values()].flat().toSorted((a, b) => a.line - b.line)
  if (unknown === undefined) return placed
  throw lineRefused(
    NAME,
    unknown.line,
    `names ${JSON.stringify(unknown.id)}, which no passage of the version has as its id`,
  )
}

/** The parts of one revision of a record, which stand in rows one after the other. */
interface Parts {
  readonly id: string
  readonly revision: string
  readonly firstRow: number
  readonly passages: PassageRecord[]
}

async function* recordsIn(path: string): AsyncGenerator<Parts> {
  let row = 0
  let parts: Parts | undefined
  for await (const passage of passagesIn(path)) {
    const { source_id: id, document } = passage
    if (parts?.id === id && parts.revision === document.revision_id) parts.passages.push(passage)
    else {
      if (parts !== undefined) yield parts
      parts = { id, revision: document.revision_id, firstRow: row, passages: [passage] }
    }
    row += 1
  }
  if (parts !== undefined) yield parts
}

function placedIn({ id, firstRow, passages }: Parts, lines: readonly QuestionLine[]): readonly PlacedExpansion[] {
  if (lines.length === 0) return []
  const words =
    passages.length === 1 ? [] : passages.map(({ text, metadata }) => new Set(analyze(text, metadata.language)))
  return lines
    .map(({ lang, q }) => ({ row: firstRow + bestPart(words, analyze(q, lang)), id, lang, q }))
    .sort((a, b) => a.row - b.row)
}

/** The part that shares most words; of several the first. */
function bestPart(parts: readonly ReadonlySet<string>[], question: readonly string[]): number {
  const shared = parts.map((words) => question.filter((word) => words.has(word)).length)
  return Math.max(0, shared.indexOf(Math.max(...shared)))
}
