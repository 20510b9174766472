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

/** Controls of direction, and characters that do not show within a word; no text of most languages needs them. */
const HIDDEN =
  /[\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]|(?<=\p{L})(?!\u00ad)[\p{Cf}\u115f\u1160\u3164\uffa0]+(?=\p{L})/u
/** Languages that are written from the right, or with joiners. */
const NEEDING_CONTROLS = new Set('ar az bn ckb dv fa gu he hi ku ml mr my ne pa ps sd si ta te ug ur yi'.split(' '))

/** Returns what a text holds that does not show, or undefined. @param language BCP 47. */
export function hiddenIn(text: string, language: string): string | undefined {
  const found = NEEDING_CONTROLS.has(language.split('-', 1)[0] ?? '') ? null : HIDDEN.exec(text)
  if (found === null) return undefined
  const code = (found[0].codePointAt(0) ?? 0).toString(16).padStart(4, '0')
  return `has a character that does not show (U+${code})`
}

/** Returns the reason why a string cannot be stored unchanged, or undefined. */
export function unstorable(text: string): string | undefined {
  if (text.includes('\0')) return 'contains a NUL character'
  if (!text.isWellFormed()) return 'contains a lone surrogate'
  return undefined
}
