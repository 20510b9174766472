const ALPHABET = 26
const REPEATED_MAX = 30

/** `a` to `z`, then `aa`, `bb`. */
export function letters(count: number, isUpper: boolean): string {
  if (count < 1) return ''
  const letter = String.fromCodePoint((isUpper ? 65 : 97) + ((count - 1) % ALPHABET))
  return letter.repeat(Math.min(REPEATED_MAX, Math.ceil(count / ALPHABET)))
}

const VALUES = [1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1] as const
const NUMERALS = ['m', 'cm', 'd', 'cd', 'c', 'xc', 'l', 'xl', 'x', 'ix', 'v', 'iv', 'i'] as const
const ROMAN_MAX = 32_767

export function roman(count: number, isUpper: boolean): string {
  let [rest, found] = [Math.min(count, ROMAN_MAX), '']
  for (const [index, value] of VALUES.entries()) for (; rest >= value; rest -= value) found += NUMERALS[index] ?? ''
  return isUpper ? found.toUpperCase() : found
}
