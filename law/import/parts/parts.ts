import { listsOf } from './enumerated-lists.ts'
import { segmenter } from './segmenter.ts'
import { splitText } from './split.ts'
import { codePointsOf, isLongerThan } from '#law/readers/text.ts'

/** A part of a text that is too long for one passage, or the whole text. */
export interface TextPart {
  /** The part of the source, trimmed. */
  readonly own: string
  /** Offset of `own` in the text, in UTF-16 units. */
  readonly at: number
  /** What is served: the lead-in, a line `[…]`, and the part; or the part alone. */
  readonly text: string
  /** Whether the part begins in a list whose introduction another part has. */
  readonly leadIn: 'none' | 'repeated' | 'not repeated'
  /** Whether another part has the words that end the sentence of its list. */
  readonly isUnclosed: boolean
}

const LEAD_IN_CHARACTERS_MAX = 1_000
/** Stands between a lead-in and its part: what is left out there. */
export const GAP = '\n[…]\n'

/** Whether a text is what a part of a source says: the part alone, or a lead-in, a line `[…]` and the part. */
export function isTextWith(text: string, own: string): boolean {
  return own !== '' && (text === own || text.endsWith(`${GAP}${own}`))
}

/**
 * Cuts a text as `splitText` does. A part that begins within a list repeats the introductions of the list and of those
 * around it, so that no condition, prohibition or negation stands in another part alone.
 */
export function partsOf(text: string, language: string, charactersMax: number): readonly TextPart[] {
  const whole = text.trim()
  if (codePointsOf(whole) <= charactersMax)
    return [{ own: whole, at: text.length - text.trimStart().length, text: whole, leadIn: 'none', isUnclosed: false }]
  const lists = listsOf(text)
  const shares = [0, LEAD_IN_CHARACTERS_MAX / 4, LEAD_IN_CHARACTERS_MAX / 2, LEAD_IN_CHARACTERS_MAX]
  for (const share of shares) {
    const owns = splitText(text, language, charactersMax - share - (share > 0 ? GAP.length : 0))
    const parts = withLeadIns(text, language, lists, owns)
    if (parts.every((part) => !isLongerThan(part.text, charactersMax))) return parts
  }
  throw new Error('a lead-in is longer than its bound')
}

function withLeadIns(
  text: string,
  language: string,
  { leadInsAt, closings }: ReturnType<typeof listsOf>,
  owns: readonly string[],
): readonly TextPart[] {
  let at = 0
  return owns.map((own, index) => {
    const start = text.indexOf(own, at)
    const chain = index === 0 ? [] : leadInsAt(start)
    at = start + own.length
    const isUnclosed = closings.some((each) => start < each.at && each.from < at && at <= each.at)
    const place = { own, at: start, isUnclosed }
    if (chain.length === 0) return { ...place, text: own, leadIn: 'none' }
    const repeated = bounded(chain, language)
    if (repeated === undefined) return { ...place, text: own, leadIn: 'not repeated' }
    return { ...place, text: `${repeated}${GAP}${own}`, leadIn: 'repeated' }
  })
}

/** Joins lead-ins; long ones are shortened to their last sentence. */
function bounded(chain: readonly string[], language: string): string | undefined {
  for (const shorten of [(text: string) => text, (text: string) => lastSentence(text, language)]) {
    const joined = chain.map(shorten).join('\n')
    // Readers find the lead-in by the first gap.
    if (codePointsOf(joined) <= LEAD_IN_CHARACTERS_MAX && !joined.includes(GAP.trim())) return joined
  }
  return undefined
}

function lastSentence(text: string, language: string): string {
  return [...segmenter(language, 'sentence').segment(text.replaceAll('\n', ' '))].at(-1)?.segment.trim() ?? text
}
