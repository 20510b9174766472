import { basename } from 'node:path'
import { z } from 'zod'
import { SEARCH_BOUNDS } from '#core/domain/bounds.ts'
import { OperatorError } from '#core/platform/errors.ts'
import { EVALUATION_BOUNDS } from '#jobs/evaluation/bounds.ts'
import type { Qrels } from '#jobs/evaluation/metrics/ranking.ts'
import { parseRecordJson, scalarsOf } from '#law/import/record/record-json.ts'
import { lineFault, textLines, type TaskFiles, type TextLine } from './text-lines.ts'
import { foldKey } from '#core/identity/fold.ts'

/** One question of a data set, with everything it is judged by. */
export interface TaskQuestion {
  readonly id: string
  /** At most `queryCharactersMax` characters, the limit of a caller. */
  readonly text: string
  /** Relevance by record id; empty where the question has no relevant record. */
  readonly qrels: Qrels
  /** Undefined: the question is not part of the abstention figures. */
  readonly answerable: boolean | undefined
  /** The value that confines it; undefined: the whole corpus. */
  readonly limitedTo: string | undefined
  /** UTC day of the question; undefined: today. */
  readonly asOf: string | undefined
}

export type Task = Awaited<ReturnType<typeof readTask>>

const identifier = z.union([z.string(), z.number()]).transform(String)
const querySchema = z.object({
  id: identifier.optional(),
  _id: identifier.optional(),
  text: z.string().refine((text) => text.trim() !== '' && !text.includes('\0') && text.isWellFormed()),
  metadata: z.record(z.string(), z.unknown()).nullish(),
})

/**
 * Reads a data set's questions with their qrels and labels. Questions with a relevant record or a label are asked. A
 * question labelled unanswerable counts only for abstention; one labelled partial is not counted.
 * @param limitTo metadata field that every asked question must then have.
 * @returns `notes`: questions left out or changed, one sentence each.
 * @throws OperatorError for the first invalid line, a repeated id, or a set without judged questions.
 */
export async function readTask(files: TaskFiles, limitTo: string | undefined, signal?: AbortSignal) {
  const allQrels = await readQrels(files.qrels, signal)
  const labels =
    files.answerability === undefined
      ? new Map<string, Answerability>()
      : await readAnswerability(files.answerability, signal)
  const questions: TaskQuestion[] = []
  const ids = new Set<string>()
  const counts = { unjudged: 0, partial: 0, shortened: 0 }
  for await (const line of textLines(files.queries, signal)) {
    const query = queryOf(files.queries, line)
    if (ids.has(query.id)) throw lineFault(files.queries, line.number, 'repeats the id of an earlier line')
    ids.add(query.id)
    const label = labels.get(query.id)
    const qrels =
      label === 'unanswerable' ? new Map<string, number>() : (allQrels.get(query.id) ?? new Map<string, number>())
    const hasRelevant = [...qrels.values()].some((score) => score > 0)
    if (label === 'partial') counts.partial++
    else if (!hasRelevant && label === undefined) counts.unjudged++
    if (label === 'partial' || (!hasRelevant && label === undefined)) continue
    const limitedTo = limitTo === undefined ? undefined : query.metadata.get(`metadata.${limitTo}`)
    if (limitTo !== undefined && limitedTo === undefined)
      throw lineFault(files.queries, line.number, 'lacks the metadata field that --limit-to names')
    if (questions.length === EVALUATION_BOUNDS.evaluationQuestionsMax)
      throw new OperatorError(
        `${basename(files.queries)} has more than ${EVALUATION_BOUNDS.evaluationQuestionsMax} judged questions: ` +
          'take a sample and evaluate again.',
      )
    const text = shortened(query.text)
    if (text !== query.text) counts.shortened++
    const answerable = label === undefined ? undefined : label === 'answerable'
    questions.push({
      id: query.id,
      text,
      qrels,
      answerable,
      limitedTo,
      asOf: z.iso.date().safeParse(query.metadata.get('metadata.as_of')).data,
    })
  }
  if (!questions.some(({ qrels }) => qrels.size > 0))
    throw new OperatorError(
      `No question of ${basename(files.queries)} has a relevant record in ${basename(files.qrels)}: ` +
        'name files that belong together.',
    )
  const strangers = [...new Set([...allQrels.keys(), ...labels.keys()])].filter((id) => !ids.has(id)).length
  return { questions, notes: notesOf(counts, strangers) }
}

function queryOf(path: string, { text, number }: TextLine) {
  const parsed = querySchema.safeParse(parseRecordJson(text))
  const id = parsed.data?.id ?? parsed.data?._id ?? ''
  if (!parsed.success || id === '')
    throw lineFault(path, number, 'is not a JSON object with "id" or "_id" and a "text" that is not blank')
  return { id, text: parsed.data.text, metadata: scalarsOf('metadata', parsed.data.metadata ?? {}) }
}

/** Cuts a text to the length that a caller may send. */
function shortened(text: string): string {
  return text.length <= SEARCH_BOUNDS.queryCharactersMax
    ? text
    : [...text].slice(0, SEARCH_BOUNDS.queryCharactersMax).join('')
}

function notesOf(
  counts: { readonly unjudged: number; readonly partial: number; readonly shortened: number },
  strangers: number,
): readonly string[] {
  const notes: readonly (readonly [number, string])[] = [
    [counts.unjudged, 'without a relevant record and without a label: not asked'],
    [counts.partial, 'labelled partial: not asked'],
    [counts.shortened, `longer than ${SEARCH_BOUNDS.queryCharactersMax} characters: asked by their beginning`],
    [strangers, 'judged or labelled, but not among the questions'],
  ]
  return notes.filter(([count]) => count > 0).map(([count, what]) => `questions ${what}: ${count}`)
}

const LABELS = ['answerable', 'unanswerable', 'partial'] as const
/** Whether the corpus holds what a question needs; `partial` is neither and is left out of every figure. */
type Answerability = (typeof LABELS)[number]

/**
 * Yields what `parse` reads of each line. A header line is optional.
 * @throws OperatorError with the fault for another line of which it reads nothing.
 */
async function* rowsOf<Row extends object>(
  path: string,
  parse: (text: string) => Row | undefined,
  fault: string,
  signal?: AbortSignal,
) {
  let first = true
  for await (const { text, number } of textLines(path, signal)) {
    const row = parse(text)
    if (row === undefined && !first) throw lineFault(path, number, fault)
    first = false
    if (row !== undefined) yield { ...row, number }
  }
}

/**
 * Reads judgments by question: `query-id corpus-id score` separated by tabs, or TREC's `query-id iteration corpus-id
 * score` separated by white space.
 * @throws OperatorError for a line of neither form, or a pair with two different judgments.
 */
async function readQrels(path: string, signal?: AbortSignal): Promise<ReadonlyMap<string, Qrels>> {
  const qrels = new Map<string, Map<string, number>>()
  const fault = 'is not a query id, a corpus id and a whole number as score, separated by tabs'
  for await (const { query, record, score, number } of rowsOf(path, judgmentOf, fault, signal)) {
    const known = qrels.get(query) ?? new Map<string, number>()
    if ((known.get(record) ?? score) !== score) throw lineFault(path, number, 'judges a pair again, and differently')
    qrels.set(query, known.set(record, score))
  }
  return qrels
}

function judgmentOf(line: string) {
  const tabbed = line.split('\t').map((part) => part.trim())
  const parts = tabbed.length >= 3 ? tabbed : line.trim().split(/\s+/)
  const [query = '', record = '', score = ''] =
    parts.length === 4 ? [parts[0], parts[2], parts[3]] : parts.length === 3 ? parts : []
  if (query === '' || record === '' || !/^[+-]?\d{1,9}(?:\.0+)?$/.test(score)) return undefined
  return { query, record, score: Number(score) }
}

/**
 * Reads labels by question: `query-id label`, separated by tabs. Further columns are ignored.
 * @throws OperatorError for a line without a known label, or a question with two different labels.
 */
async function readAnswerability(path: string, signal?: AbortSignal): Promise<ReadonlyMap<string, Answerability>> {
  const labels = new Map<string, Answerability>()
  const fault = `is not a query id and one of ${LABELS.join(', ')}, separated by a tab`
  for await (const { id, label, number } of rowsOf(path, labelOf, fault, signal)) {
    if ((labels.get(id) ?? label) !== label) throw lineFault(path, number, 'labels a question again, and differently')
    labels.set(id, label)
  }
  return labels
}

function labelOf(line: string) {
  const [id = '', written = ''] = line.split('\t').map((part) => part.trim())
  const label = LABELS.find((each) => each === foldKey(written))
  return label === undefined || id === '' ? undefined : { id, label }
}
