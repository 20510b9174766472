/** Returns the number of code points of a well-formed string; the contract calls them characters. */
export function codePointsOf(text: string): number {
  let low = 0
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index)
    if (unit >= 0xdc00 && unit <= 0xdfff) low += 1
  }
  return text.length - low
}

/** True if a well-formed string has more code points; a text within the number of code units is not counted. */
export function isLongerThan(text: string, charactersMax: number): boolean {
  return text.length > charactersMax && codePointsOf(text) > charactersMax
}

/** True if a text holds only white space, separators and format characters. */
export function isBlank(text: string): boolean {
  return /^[\s\p{Z}\p{Cf}]*$/u.test(text)
}

/** Returns a text without white space; two texts that differ in nothing else give the same. */
export function withoutSpace(text: string): string {
  return text.replaceAll(/\s+/g, '')
}

/** True if two texts differ in white space alone. */
export function sameApartFromSpace(one: string, other: string): boolean {
  return one === other || withoutSpace(one) === withoutSpace(other)
}

/** Returns the reason why a string cannot be stored unchanged, or undefined. */
export function unstorable(text: string): string | undefined {
  if (text.includes('\0')) return 'contains a NUL character'
  if (!text.isWellFormed()) return 'contains a lone surrogate'
  return undefined
}
