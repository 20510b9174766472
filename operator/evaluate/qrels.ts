import { foldKey } from '#core/identity/fold.ts'
import type { Qrels } from '#jobs/evaluation/metrics/ranking.ts'
import { lineFault, textLines } from './text-lines.ts'

const LABELS = ['answerable', 'unanswerable', 'partial'] as const
/** Whether the corpus holds what a question needs; `partial` is neither and is left out of every figure. */
export type Answerability = (typeof LABELS)[number]

/**
 * Reads judgments by question: `query-id corpus-id score` separated by tabs, or TREC's `query-id iteration corpus-id
 * score` separated by white space. A header line is optional.
 * @throws OperatorError for a line of neither form, or a pair with two different judgments.
 */
export async function readQrels(path: string, signal?: AbortSignal): Promise<ReadonlyMap<string, Qrels>> {
  const qrels = new Map<string, Map<string, number>>()
  let first = true
  for await (const { text, number } of textLines(path, signal)) {
    const judgment = judgmentOf(text)
    if (judgment === undefined && !first)
      throw lineFault(path, number, 'is not a query id, a corpus id and a whole number as score, separated by tabs')
    first = false
    if (judgment === undefined) continue
    const { query, record, score } = judgment
    const known = qrels.get(query) ?? new Map<string, number>()
    if ((known.get(record) ?? score) !== score) throw lineFault(path, number, 'judges a pair again, and differently')
    qrels.set(query, known.set(record, score))
  }
  return qrels
}

function judgmentOf(
  line: string,
): { readonly query: string; readonly record: string; readonly score: number } | undefined {
  const tabbed = line.split('\t').map((part) => part.trim())
  const parts = tabbed.length >= 3 ? tabbed : line.trim().split(/\s+/)
  const [query, record, score] = parts.length === 4 ? [parts[0], parts[2], parts[3]] : parts.length === 3 ? parts : []
  if (
    query === undefined ||
    record === undefined ||
    score === undefined ||
    query === '' ||
    record === '' ||
    !/^[+-]?\d{1,9}(?:\.0+)?$/.test(score)
  )
    return undefined
  return { query, record, score: Number(score) }
}

/**
 * Reads labels by question: `query-id label`, separated by tabs. Further columns are ignored; a header line is
 * optional.
 * @throws OperatorError for a line without a known label, or a question with two different labels.
 */
export async function readAnswerability(
  path: string,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, Answerability>> {
  const labels = new Map<string, Answerability>()
  let first = true
  for await (const { text, number } of textLines(path, signal)) {
    const [id = '', written = ''] = text.split('\t').map((part) => part.trim())
    const label = LABELS.find((each) => each === foldKey(written))
    if ((label === undefined || id === '') && !first)
      throw lineFault(path, number, `is not a query id and one of ${LABELS.join(', ')}, separated by a tab`)
    first = false
    if (label === undefined || id === '') continue
    if ((labels.get(id) ?? label) !== label) throw lineFault(path, number, 'labels a question again, and differently')
    labels.set(id, label)
  }
  return labels
}
