/** Capitals that may number a paragraph: `§ 823 I BGB`. */
export const ROMAN_PARAGRAPH = /^[IVX]{1,5}$/

const ROMAN = /^(?=[ivxl])(?:xl|l?x{0,3})(?:ix|iv|v?i{0,3})$/

export function isRoman(text: string): boolean {
  return ROMAN.test(text)
}

/** `xiv` → 14. */
export function romanValue(text: string): number {
  const values: Readonly<Record<string, number>> = { i: 1, v: 5, x: 10, l: 50 }
  let sum = 0
  let largest = 0
  for (const letter of [...text].toReversed()) {
    const value = values[letter] ?? 0
    sum += value < largest ? -value : value
    largest = Math.max(largest, value)
  }
  return sum
}
