import { sha256 } from '#core/artifact/manifest.ts'
import type { PassageRecord } from '#core/artifact/passage.ts'
import { BOUNDS } from '#core/bounds.ts'
import type { Question } from './questions.ts'

const SENTENCE_CHARACTERS_MIN = 40
const SENTENCE_CHARACTERS_MAX = 300

/** A question made from a passage, and the text that answers it. */
export interface KnownItem {
  readonly question: Question
  readonly text: string
}

/**
 * Known-item questions for a version without a question set: a sample of at most 200 passages in force, each asked for by its heading and
 * one sentence of its own text. This tells whether the version finds what it holds, not how well it understands questions. The sample
 * follows from `seed` and the passages alone: those whose hash under the seed is smallest.
 */
export async function sampleKnownItems(passages: AsyncIterable<PassageRecord>, seed: string, day: string): Promise<readonly KnownItem[]> {
  const chosen: { readonly rank: string; readonly item: KnownItem }[] = []
  for await (const passage of passages) {
    const rank = sha256(`${seed}:${passage.chunk_id}`).toString('hex')
    const last = chosen.at(-1)
    if (!isServed(passage, day) || (chosen.length === BOUNDS.evaluationSampleMax && last !== undefined && rank >= last.rank)) continue
    const sentence = sentenceOf(passage.text)
    if (sentence === undefined) continue
    const at = chosen.findIndex((other) => rank < other.rank)
    const question = { id: passage.chunk_id, text: questionOf(passage.heading, sentence), relevant: [passage.source_id], filters: undefined }
    chosen.splice(at === -1 ? chosen.length : at, 0, { rank, item: { question, text: passage.text } })
    if (chosen.length > BOUNDS.evaluationSampleMax) chosen.pop()
  }
  return chosen.map(({ item }) => item)
}

function isServed(passage: PassageRecord, day: string): boolean {
  return passage.metadata.verification_status === 'verified' && passage.in_force_from <= day && (passage.in_force_to === null || day < passage.in_force_to)
}

/** Heading first, as people name what they look for; cut to the length a caller may send. */
function questionOf(heading: string, sentence: string): string {
  return [...`${heading} ${sentence}`.trim()].slice(-BOUNDS.queryCharactersMax).join('')
}

const segmenter = new Intl.Segmenter('und', { granularity: 'sentence' })

/** The longest sentence of usual length, so that the question says something; undefined where the passage has none. */
function sentenceOf(text: string): string | undefined {
  const sentences = [...segmenter.segment(text)].map(({ segment }) => segment.trim())
  const usual = sentences.filter((sentence) => sentence.length >= SENTENCE_CHARACTERS_MIN && sentence.length <= SENTENCE_CHARACTERS_MAX)
  return usual.toSorted((a, b) => b.length - a.length)[0]
}
