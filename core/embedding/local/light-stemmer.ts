const STEM_LENGTH_MIN = 3

/**
 * Inflections of English, German and French, tried in this order. At most one is removed, and only if at least the
 * given number of letters remains.
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
 * Maps the inflections of one word of `words()` to one stem, in any language: `notifies`, `notified`, `notify`;
 * `Vertrag`, `Verträge`, `Vertrages`; `demande`, `demandés`. The rules are few, because query and passage share them,
 * and a rule too many joins unrelated words.
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
