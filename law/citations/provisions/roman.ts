/** Capitals that may number a paragraph: `§ 823 I BGB`. */
export const ROMAN_PARAGRAPH = /^[IVX]{1,5}$/
const ROMAN = /^(?=[ivxl])(?:xl|l?x{0,3})(?:ix|iv|v?i{0,3})$/
const ROMAN_VALUES: Readonly<Record<string, number>> = { i: 1, v: 5, x: 10, l: 50 }

/** The value of a Roman numeral: `xiv` → 14. Undefined if it is none. */
export function readRoman(text: string): number | undefined {
  if (!ROMAN.test(text)) return undefined
  const values = [...text].map((letter) => ROMAN_VALUES[letter] ?? 0)
  return values.reduce((sum, value, at) => sum + (value < (values[at + 1] ?? 0) ? -value : value), 0)
}
