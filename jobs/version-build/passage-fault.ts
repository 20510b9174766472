import { EmbeddingError } from '#core/embedding/embedder.ts'
import type { PassageRecord } from '#core/index/passages/record.ts'

/** Characters of a title or id that a message holds. */
const NAMED_CHARACTERS = 120

interface Sent {
  readonly passage: Pick<PassageRecord, 'source_id' | 'document'>
}

/** Returns the error of an embedder with the names of the passages that it is about, never with their text. */
export function passageFault(error: unknown, batch: readonly Sent[]): unknown {
  if (!(error instanceof EmbeddingError)) return error
  const { first, count } = error.texts ?? { first: 0, count: batch.length }
  const [from, to] = [batch[first], batch[first + count - 1]]
  if (from === undefined || to === undefined) return error
  const which =
    count === 1 ? `passage ${nameOf(from)}` : `one of ${count} passages, from ${nameOf(from)} to ${nameOf(to)},`
  return new EmbeddingError(`${which} could not be embedded: ${error.message}`, { permanent: error.permanent })
}

function nameOf({ passage: { source_id: id, document } }: Sent): string {
  return `${shortened(id)} of "${shortened(document.title)}"`
}

function shortened(text: string): string {
  return text.length <= NAMED_CHARACTERS ? text : `${text.slice(0, NAMED_CHARACTERS)}…`
}
