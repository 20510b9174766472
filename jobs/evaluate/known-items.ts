import type { PassageRecord } from '#core/artifact/passage.ts'
import { BOUNDS } from '#core/bounds.ts'
import type { Question } from './questions.ts'

const EXTRACT_CHARACTERS_MIN = 40
const EXTRACT_CHARACTERS_MAX = 300

/** A question made from a passage, and the text that answers it. */
export interface KnownItem {
  readonly question: Question
  readonly text: string
}

/**
 * Known-item questions for a version without a question set: a sample of at most 200 passages in force, each asked for by its heading and
 * the opening words of its own text. This tells whether the version finds what it holds, not how well it understands questions. The sample
 * follows from the passages alone: those with the smallest ids, which are hashes of their content.
 */
export async function sampleKnownItems(passages: AsyncIterable<PassageRecord>, day: string): Promise<readonly KnownItem[]> {
  const chosen: KnownItem[] = []
  for await (const passage of passages) {
    const { chunk_id: id, heading, text, source_id: sourceId } = passage
    const last = chosen.at(-1)
    if (!isServed(passage, day) || (chosen.length === BOUNDS.evaluationSampleMax && last !== undefined && id >= last.question.id)) continue
    const extract = extractOf(text)
    if (extract === undefined) continue
    const at = chosen.findIndex((other) => id < other.question.id)
    chosen.splice(at === -1 ? chosen.length : at, 0, { question: { id, text: questionOf(heading, extract), relevant: [sourceId], filters: undefined }, text })
    if (chosen.length > BOUNDS.evaluationSampleMax) chosen.pop()
  }
  return chosen
}

function isServed(passage: PassageRecord, day: string): boolean {
  return passage.metadata.verification_status === 'verified' && passage.in_force_from <= day && (passage.in_force_to === null || day < passage.in_force_to)
}

/** Heading first, as people name what they look for; cut to the length a caller may send. */
function questionOf(heading: string, extract: string): string {
  return [...`${heading} ${extract}`.trim()].slice(-BOUNDS.queryCharactersMax).join('')
}

/** Undefined where the text has too few words to say something. */
function extractOf(text: string): string | undefined {
  const plain = text.replaceAll(/\s+/gu, ' ').trim()
  if (plain.length < EXTRACT_CHARACTERS_MIN) return undefined
  if (plain.length <= EXTRACT_CHARACTERS_MAX) return plain
  const lastSpace = plain.lastIndexOf(' ', EXTRACT_CHARACTERS_MAX)
  return plain.slice(0, lastSpace < EXTRACT_CHARACTERS_MIN ? EXTRACT_CHARACTERS_MAX : lastSpace).toWellFormed()
}
