import { z } from 'zod'
import type { QueryExpansion } from '#core/index/query-expansions/layout.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { linesOf } from '#law/import/record/lines.ts'
import { repeatsKey } from '#law/import/record/record-json.ts'

/** A line of a file of search questions. */
export interface QuestionLine extends QueryExpansion {
  /** From 1. */
  readonly line: number
}

const { searchQuestionCharactersMax, searchQuestionLineBytesMax, searchQuestionsMax, searchQuestionsPerPassageMax } =
  BUILD_BOUNDS

const lineSchema = z.strictObject({
  id: z.string().min(1),
  /** BCP 47. */
  lang: z.string().regex(/^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/),
  q: z.string().refine((q) => q.trim() !== '' && q.isWellFormed() && [...q].length <= searchQuestionCharactersMax),
})

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/**
 * Reads search questions by the id of their passage.
 * @param name of the file, for refusals.
 * @throws OperatorError naming the first line that is no search question, is too long, repeats one, or is one too many.
 */
export async function readSearchQuestions(
  path: string,
  name: string,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, readonly QuestionLine[]>> {
  const byId = new Map<string, QuestionLine[]>()
  let count = 0
  for await (const { number, bytes } of linesOf(path, searchQuestionLineBytesMax, signal)) {
    const refused = (fault: string): OperatorError => lineRefused(name, number, fault)
    if (bytes === undefined) throw refused(`is longer than ${searchQuestionLineBytesMax} bytes`)
    if (bytes.length === 0) continue
    const question = parsed(bytes, refused)
    const others = byId.get(question.id) ?? []
    if (others.some(({ lang, q }) => lang === question.lang && q === question.q))
      throw refused('repeats a question of its passage')
    if (others.length === searchQuestionsPerPassageMax)
      throw refused(`is question ${searchQuestionsPerPassageMax + 1} of its passage`)
    if (++count > searchQuestionsMax) throw refused(`is question ${searchQuestionsMax + 1}`)
    others.push({ ...question, line: number })
    byId.set(question.id, others)
  }
  if (count > 0) return byId
  throw new OperatorError(`${name} holds no search question: write lines of {"id","lang","q"}.`)
}

function parsed(bytes: Buffer, refused: (fault: string) => OperatorError): QueryExpansion {
  let json: unknown
  try {
    const text = utf8.decode(bytes)
    json = JSON.parse(text)
    if (repeatsKey(text)) throw refused('has a field twice')
  } catch (error) {
    throw error instanceof OperatorError ? error : refused('is not JSON in UTF-8')
  }
  const question = lineSchema.safeParse(json)
  if (question.success) return question.data
  const wrong = question.error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => `unknown ${JSON.stringify(key.slice(0, 40))}`)
      : issue.path.join('.') || 'the line itself',
  )
  throw refused(`is no search question (${[...new Set(wrong)].join(', ')})`)
}

export function lineRefused(name: string, line: number, fault: string): OperatorError {
  return new OperatorError(`${name}, line ${line}, ${fault}: correct the search questions and build again.`)
}
