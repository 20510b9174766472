import { foldKey } from '#core/identity/fold.ts'
import WORDS from './warnings.json' with { type: 'json' }

const CURRENCIES = WORDS.currencies
const FIGURE = String.raw`\d[\d.,\u202f\u00a0']*(?<=\d)`
const AMOUNT = String.raw`(?:${FIGURE} ?|(?<!\p{L})(?:\p{L}+[ \u00a0-]){1,2})`

/** What changes the sense of a rule in English, German and French, though few letters differ. */
const KINDS: readonly (readonly [name: string, pattern: RegExp])[] = [
  [
    'A deadline changes',
    new RegExp(String.raw`(?:(?<![\p{L}\p{N}])[\p{L}\p{N}]+[ \u00a0-]){1,2}(?:${WORDS.units})(?![\p{L}\p{N}])`, 'giu'),
  ],
  ['A sum changes', new RegExp(`(?:${CURRENCIES}) ?${FIGURE}|${AMOUNT}(?:${CURRENCIES})(?!\\p{L}| ?\\d)`, 'giu')],
  ['A number changes', new RegExp(FIGURE, 'gu')],
  ['A negation changes', word(WORDS.negations)],
  ['A modal verb changes', word(WORDS.modal_verbs)],
]

function word(alternatives: string): RegExp {
  return new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${alternatives})(?![\p{L}\p{N}])`, 'giu')
}

/**
 * Names what a lawyer reads first of two texts of one rule: deadlines, sums and other numbers, negations and modal verbs
 * that one of them has more often.
 */
export function warningsOf(before: string, after: string): readonly string[] {
  const warnings: string[] = []
  let [left, right] = [before, after]
  for (const [name, pattern] of KINDS) {
    const [lost, gained] = [beyond(left, right, pattern), beyond(right, left, pattern)]
    if (lost.length + gained.length > 0) warnings.push(`${name}: ${listed(lost)} → ${listed(gained)}`)
    // The figure of a deadline is no sum, and that of a sum no other number.
    left = left.replaceAll(pattern, ' ')
    right = right.replaceAll(pattern, ' ')
  }
  return warnings
}

/** What the pattern finds more often in a text than in the other one. */
function beyond(text: string, other: string, pattern: RegExp): readonly string[] {
  const held = new Map<string, number>()
  for (const [found] of other.matchAll(pattern)) held.set(foldKey(found), (held.get(foldKey(found)) ?? 0) + 1)
  const more: string[] = []
  for (const [found] of text.matchAll(pattern)) {
    const left = held.get(foldKey(found)) ?? 0
    if (left > 0) held.set(foldKey(found), left - 1)
    else more.push(found)
  }
  return more
}

function listed(found: readonly string[]): string {
  return found.length === 0 ? 'none' : found.map((each) => `“${each}”`).join(', ')
}
