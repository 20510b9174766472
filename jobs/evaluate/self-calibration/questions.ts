import { isFunctionWord, primaryLanguage } from '#core/index/analysis/analyzer.ts'
import { words } from '#core/index/analysis/words.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'
import { BOUNDS } from '#core/platform/bounds.ts'
import { isServed } from '#jobs/evaluate/known-items.ts'
import { createSmallestIds } from '#jobs/evaluate/smallest-ids.ts'
import { createMasks } from './masks.ts'
import { offTopicQuestions } from './off-topic.ts'

/**
 * Forms of a question that a build makes from a passage: words from its middle, and a few of its content words. `named`
 * is the citation label alone, `beyond` the label with an off-topic question.
 */
export const FORMS = ['middle', 'few words', 'off topic', 'named', 'beyond'] as const
export type Form = (typeof FORMS)[number]

export interface SelfQuestion {
  readonly text: string
  readonly form: Form
  readonly answerable: boolean
  /** The rows that may be found, as a bitset; undefined: every row. */
  readonly onlyRows: Uint8Array | undefined
}

const MIDDLE_WORDS = 14
/** Words at the beginning of a passage from which its questions are made. */
const PASSAGE_WORDS = 60
const FEW_WORDS = 5
/** Every such content word is taken, beginning with the second. */
const FEW_WORDS_STEP = 4

/**
 * Makes questions from the passages in force with the smallest ids, which are hashes of their content. Questions in a
 * passage's words are answerable as they are, and unanswerable when the passage's document is masked. Off-topic
 * questions are in the passage's language, or in English.
 * @param passages in row order.
 * @param sample `count`: most passages; `day`: UTC day of "in force".
 */
export async function selfQuestions(
  passages: AsyncIterable<PassageRecord>,
  { count, day }: { readonly count: number; readonly day: string },
): Promise<readonly SelfQuestion[]> {
  const documents: number[] = []
  const numbers = new Map<string, number>()
  const sample = createSmallestIds<{ readonly id: string; readonly row: number; readonly record: PassageRecord }>(count)
  for await (const record of passages) {
    const row = documents.length
    const number = numbers.get(record.document.id) ?? numbers.size
    numbers.set(record.document.id, number)
    documents.push(number)
    if (sample.takes(record.chunk_id) && isServed(record, day) && isLong(record))
      sample.add({ id: record.chunk_id, row, record })
  }
  const maskOf = createMasks(Uint32Array.from(documents))
  return sample.items
    .flatMap(({ row, record }, at) => [...inOwnWords(record.text, maskOf(row)), ...byLabel(record, at)])
    .filter(({ text }) => text.length <= BOUNDS.queryCharactersMax)
}

function isLong({ text }: PassageRecord): boolean {
  return [...text].length >= BOUNDS.selfQuestionCharactersMin
}

/**
 * Questions in the words of a passage: of all rows, and of those that its mask leaves. A text with few spaces gives
 * none: it is short, or its script has no spaces.
 */
function inOwnWords(text: string, mask: Uint8Array): readonly SelfQuestion[] {
  const plain = text.trim().split(/\s+/u).slice(0, PASSAGE_WORDS)
  if (plain.length < MIDDLE_WORDS) return []
  const asked = [
    { form: 'middle', text: middleOf(plain) },
    { form: 'few words', text: fewOf(plain) },
  ] as const
  return asked
    .filter((question) => question.text !== '')
    .flatMap((question) => [
      { ...question, answerable: true, onlyRows: undefined },
      { ...question, answerable: false, onlyRows: mask },
    ])
}

/** Questions by the citation label of a passage, and an off-topic question. @param at turn of the passage. */
function byLabel({ citation: { label }, metadata }: PassageRecord, at: number): readonly SelfQuestion[] {
  const offTopic = offTopicQuestion(metadata.language, at)
  return [
    { form: 'named', text: label, answerable: true, onlyRows: undefined },
    { form: 'beyond', text: `${label}: ${offTopic}`, answerable: false, onlyRows: undefined },
    { form: 'off topic', text: offTopic, answerable: false, onlyRows: undefined },
  ]
}

function middleOf(plain: readonly string[]): string {
  const from = Math.floor((plain.length - MIDDLE_WORDS) / 2)
  return plain.slice(from, from + MIDDLE_WORDS).join(' ')
}

function fewOf(plain: readonly string[]): string {
  return plain
    .filter((word) => words(word).some((folded) => !isFunctionWord(folded)))
    .filter((_, at) => at % FEW_WORDS_STEP === 1)
    .slice(0, FEW_WORDS)
    .join(' ')
}

function offTopicQuestion(language: string, at: number): string {
  const questions = offTopicQuestions(primaryLanguage(language))
  return questions[at % questions.length] ?? ''
}
