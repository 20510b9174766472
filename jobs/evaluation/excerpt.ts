/**
 * Returns the beginning of a text in one line, cut at a space where one is within the bounds.
 * @param bounds least and most UTF-16 units of a text that is cut.
 */
export function excerptOf(text: string, { min, max }: { readonly min: number; readonly max: number }): string {
  const plain = text.replaceAll(/\s+/gu, ' ').trim()
  if (plain.length <= max) return plain
  const space = plain.lastIndexOf(' ', max)
  return plain.slice(0, space < min ? max : space).toWellFormed()
}
