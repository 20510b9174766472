const ALPHABET = 26
const REPEATED_MAX = 30

/** `a` to `z`, then `aa`, `bb`. */
function letters(count: number, isUpper: boolean): string {
  if (count < 1) return ''
  const letter = String.fromCodePoint((isUpper ? 65 : 97) + ((count - 1) % ALPHABET))
  return letter.repeat(Math.min(REPEATED_MAX, Math.ceil(count / ALPHABET)))
}

const VALUES = [1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1] as const
const LOWER = ['m', 'cm', 'd', 'cd', 'c', 'xc', 'l', 'xl', 'x', 'ix', 'v', 'iv', 'i'] as const
const UPPER = ['M', 'CM', 'D', 'CD', 'C', 'XC', 'L', 'XL', 'X', 'IX', 'V', 'IV', 'I'] as const
const ROMAN_MAX = 32_767

function roman(count: number, isUpper: boolean): string {
  let [rest, found] = [Math.min(count, ROMAN_MAX), '']
  for (const [index, value] of VALUES.entries())
    for (; rest >= value; rest -= value) found += (isUpper ? UPPER : LOWER)[index] ?? ''
  return found
}

/** A count in the figures of a style, which its first one names: `a`, `A`, `i`, `I`, `01`, `none` or `1`. */
export function counted(count: number, style = '1'): string {
  if (style === 'none') return ''
  if (style === '01') return String(count).padStart(2, '0')
  if (/^a$/i.test(style)) return letters(count, style === 'A')
  return /^i$/i.test(style) ? roman(count, style === 'I') : String(count)
}

const ROMAN_VALUES: Readonly<Record<string, number>> = { i: 1, v: 5, x: 10, l: 50, c: 100 }

/** The value of a Roman numeral in small letters; undefined for other letters. */
export function romanOf(written: string): number | undefined {
  if (!/^[ivxlc]+$/.test(written)) return undefined
  const values = Array.from(written, (sign) => ROMAN_VALUES[sign] ?? 0)
  return values.reduce((sum, value, index) => sum + (value < (values[index + 1] ?? 0) ? -value : value), 0)
}
