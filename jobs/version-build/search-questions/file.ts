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
import { analyze } from '#core/index/analysis/analyzer.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { passagesIn } from '#core/index/passages/records.ts'
import type { PlacedExpansion } from '#core/index/query-expansions/writer.ts'
import { passagesFile } from '#jobs/version-build/sort.ts'
import type { BuildContext } from '#jobs/version-build/context.ts'

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

function lineRefused(name: string, line: number, fault: string): OperatorError {
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
  await readSearchQuestions(await store.fetch(store.snapshotFile(sha256)), basename(path))
  return sha256
}

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
  const byId = await readSearchQuestions(await store.fetch(store.snapshotFile(sha256)), NAME, signal)
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
