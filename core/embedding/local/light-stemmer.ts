const STEM_LENGTH_MIN = 3

/**
 * Inflections of English, German and French, tried in this order; at most one falls off, and never so that fewer than
 * the given letters are left.
 */
const INFLECTIONS: readonly (readonly [suffix: string, lettersLeftMin: number])[] = [
  ['ed', 3],
  ['ing', 3],
  ['en', 4],
  ['ern', 4],
  ['er', 4],
  ['em', 4],
  ['es', 3],
  ['e', 3],
  ['n', 5],
]

/**
 * Folds the inflections of one word of `words()` together, whatever its language: `notifies`, `notified`, `notify`;
 * `Vertrag`, `Verträge`, `Vertrages`; `demande`, `demandés`. Deliberately light, since query and passage pass through
 * the same rules and a rule too many joins strangers.
 */
export function lightStem(word: string): string {
  if (word.length <= STEM_LENGTH_MIN || /[^a-z]/.test(word)) return word
  let rest = withoutPlural(word)
  if (rest.endsWith('ie') && rest.length >= 5) rest = `${rest.slice(0, -2)}y`
  for (const [suffix, lettersLeftMin] of INFLECTIONS) {
    if (rest.length - suffix.length >= lettersLeftMin && rest.endsWith(suffix)) {
      rest = rest.slice(0, -suffix.length)
      break
    }
  }
  if (rest.length > STEM_LENGTH_MIN && rest.at(-1) === rest.at(-2) && !/[aeiouls]$/.test(rest)) rest = rest.slice(0, -1)
  if (rest.length > STEM_LENGTH_MIN && rest.endsWith('y')) rest = `${rest.slice(0, -1)}i`
  return rest.length > STEM_LENGTH_MIN && rest.endsWith('e') ? rest.slice(0, -1) : rest
}

function withoutPlural(word: string): string {
  return word.endsWith('s') && !word.endsWith('ss') && word.length > STEM_LENGTH_MIN ? word.slice(0, -1) : word
}
