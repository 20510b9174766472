import { z } from 'zod'

const count = z.int().nonnegative()

/** What the embed stage of a build has done, over all its runs. */
export const embeddingCountsSchema = z.strictObject({
  /** Passages that have a vector. */
  passages: count,
  sent: count,
  /** Tokens, as the provider reported them. */
  tokens: count,
  /** Passages that are probably longer than the model's limit. Their end was not embedded, unless in windows. */
  overlong: count,
  /** The endpoint embeds longer texts in windows, to their end. */
  windows: z.literal(true).optional(),
  /** Null: not known, or the stage has ended. */
  seconds_left: count.nullable(),
})
export type EmbeddingCounts = z.infer<typeof embeddingCountsSchema>

const SECONDS_A_MINUTE = 60

/** Returns the counts in one line: `1,200 texts sent, 310,000 tokens, 400 vectors from the cache, about 3 min left`. */
export function embeddingInWords({ passages, sent, tokens, seconds_left: left }: EmbeddingCounts): string {
  const whole = (value: number): string => value.toLocaleString('en')
  const reused = passages - sent
  return [
    `${whole(sent)} texts sent`,
    ...(tokens > 0 ? [`${whole(tokens)} tokens`] : []),
    ...(reused > 0 ? [`${whole(reused)} vectors from the cache`] : []),
    ...(left === null
      ? []
      : [left < 2 * SECONDS_A_MINUTE ? `about ${left} s left` : `about ${minutes(left)} min left`]),
  ].join(', ')
}

function minutes(seconds: number): number {
  return Math.round(seconds / SECONDS_A_MINUTE)
}

/** Returns a sentence for an operator on the passages that were too long; undefined where none was. */
export function overlongWarning({ passages, overlong, windows }: EmbeddingCounts): string | undefined {
  if (overlong === 0) return undefined
  const counted =
    `${overlong.toLocaleString('en')} of ${passages.toLocaleString('en')} passages are probably longer than the ` +
    'embedding model reads'
  return windows === true
    ? `${counted} at once, so each was embedded in windows, to its end`
    : `${counted}, so a search by vector does not see their end: take a model that reads more, or import shorter ` +
        'passages'
}
