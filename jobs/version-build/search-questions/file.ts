import { z } from 'zod'
import type { QueryExpansion } from '#core/index/query-expansions/layout.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { BUILD_BOUNDS } from '#jobs/version-build/bounds.ts'
import { linesOf } from '#law/import/record/lines.ts'
import { repeatsKey } from '#law/import/record/record-json.ts'
import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import type { ArtifactStore } from '#core/index/format/store.ts'
import { captureSources } from '#law/sources/capture.ts'

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
export async function readSearchQuestions(path: string, name: string, signal?: AbortSignal) {
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

/**
 * Captures a file of JSON lines, so that a run reads the bytes that were checked.
 * @param what begins a sentence.
 * @returns the SHA-256 (hex) under which the store holds it.
 * @throws OperatorError for a file that cannot be read or is too large.
 */
export async function captureLines(path: string, store: ArtifactStore, what: string, bytesMax: number) {
  const found = await stat(path).catch(() => undefined)
  if (found === undefined || !found.isFile())
    throw new OperatorError(`${what} ${path} is not a file that can be read: name a JSONL file.`)
  if (found.size > bytesMax)
    throw new OperatorError(`${what} ${path} is larger than ${bytesMax} bytes: take fewer of its lines.`)
  const [captured] = await captureSources(store, [
    { root: dirname(path), path, sourceName: basename(path), mediaType: 'application/x-ndjson' },
  ])
  if (captured === undefined)
    throw new OperatorError(`${what} ${path} could not be captured: see whether the artifact store can be written to.`)
  return captured.sha256
}

/** @throws OperatorError as `captureLines`, and for a faulty line. */
export async function captureSearchQuestions(path: string, store: ArtifactStore): Promise<string> {
  const sha256 = await captureLines(path, store, 'The file of search questions', BUILD_BOUNDS.searchQuestionsBytesMax)
  await readSearchQuestions(store.snapshotFile(sha256), basename(path))
  return sha256
}
