/** Elided French articles and pronouns. The part before the apostrophe carries no meaning. */
const ELIDED = new Set(['l', 'd', 'c', 'j', 'm', 'n', 's', 't', 'qu', 'jusqu', 'lorsqu', 'puisqu', 'quoiqu', 'presqu'])

/** A number with the parts that make it a legal reference: `1005.34(a)(1)`, `2016/679`, `5a`, `72`. */
const NUMBER = /\p{N}+\p{L}*(?:[./:,-]\p{N}+\p{L}*)*(?:\([\p{L}\p{N}]{1,4}\))*/u
/** A word with its inner apostrophes and hyphens. */
const WORD = /[\p{L}\p{M}][\p{L}\p{N}\p{M}]*(?:['’-][\p{L}\p{N}\p{M}]+)*/u
/** All other characters are separators. */
const TOKEN = new RegExp(`${NUMBER.source}|${WORD.source}`, 'gu')

const ASCII_ONLY = /^[\0-\x7f]*$/
const MARKS_AND_INVISIBLES = /[\u0300-\u036f\u00ad\u200b-\u200d\ufeff]/g
/**
 * More marks on one letter than any language writes (Stream-Safe Text Format, UAX #15). Normalization sorts them, in
 * time that grows with the square of their number. The sound marks of half-width katakana become marks.
 */
const MARKS_IN_EXCESS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu
/** `18³` is another number than `183`. */
const RAISED_DIGITS = /(?<=\p{Nd})[⁰¹²³⁴-⁹]+/gu
const THOUSANDS = /^\d{1,3}(?:,\d{3})+$/

/**
 * Returns the compatibility form in lower case, without diacritics and invisible characters: `Verträge`, `VERTRAGE` and
 * `vertrage` are equal. The result does not depend on the machine's locale.
 */
export function fold(text: string): string {
  if (ASCII_ONLY.test(text)) return text.toLowerCase()
  return text
    .replace(MARKS_IN_EXCESS, '$1')
    .replace(RAISED_DIGITS, '^$&')
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll('œ', 'oe')
    .replaceAll('æ', 'ae')
    .normalize('NFD')
    .replace(MARKS_AND_INVISIBLES, '')
    .normalize('NFC')
}

/**
 * Returns the folded words of a text in order. Hyphenated words give their parts. Possessives and elisions are removed
 * (`firm's` → `firm`, `l'article` → `article`). A number with brackets gives itself and the number before them (`33(1)`
 * → `33(1)`, `33`). Thousands lose their commas.
 */
export function words(text: string): string[] {
  return foldedWords(fold(text))
}

/** `words` of a text that is folded. */
export function foldedWords(folded: string): string[] {
  const found: string[] = []
  for (const token of folded.match(TOKEN) ?? []) {
    if (startsWithDigit(token)) pushNumber(token, found)
    else if (token.includes('-')) for (const part of token.split('-')) found.push(withoutApostrophe(part))
    else found.push(withoutApostrophe(token))
  }
  return found
}

/** True for the numbers and references that `words` yields, false for words. */
function startsWithDigit(word: string): boolean {
  const unit = word.charCodeAt(0)
  return unit < 0x80 ? unit >= 0x30 && unit <= 0x39 : /^\p{N}/u.test(word)
}

function pushNumber(token: string, found: string[]): void {
  const bracket = token.indexOf('(')
  if (bracket > 0) found.push(token, token.slice(0, bracket))
  else found.push(THOUSANDS.test(token) ? token.replaceAll(',', '') : token)
}

function withoutApostrophe(token: string): string {
  if (!token.includes("'") && !token.includes('’')) return token
  const parts = token.split(/['’]/)
  const [first = '', second = ''] = parts
  if (parts.length === 2 && ELIDED.has(first)) return second
  if (parts.length === 2 && second === 's') return first
  return parts.join('')
}
