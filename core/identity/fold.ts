import { withLatinLookAlikes } from './look-alikes.ts'

declare const folded: unique symbol

/** A key in the one form in which keys are compared; only `foldKey` makes it. */
export type FoldedKey = string & { readonly [folded]: true }

/** Characters that are not seen: joiners, soft hyphens, direction marks, variation selectors, tags. */
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Cf}]/gu
/** More marks on one letter than any language writes; normalization sorts them in quadratic time (UAX #15). */
const MARKS_IN_EXCESS = /([\p{M}\uff9e\uff9f]{30})[\p{M}\uff9e\uff9f]+/gu
/** Hyphens, dashes, and the signs that look like them: minus signs, the hyphen bullet, the box-drawing line. */
const DASHES = /[\p{Pd}\u02d7\u2043\u207b\u208b\u2212\u2500\u2796]/gu
const APOSTROPHES = /[\u0060\u00b4\u02b9\u02bb\u02bc\u2018\u2019\u201b\u2032]/gu
const SPACES = /[\s\p{Z}\p{Cc}]+/gu
/**
 * Publishers write `§ 5` and `§5`, `33 (1)` and `33(1)`, `Art. 6` and `Art 6` with either spacing. A space counts only
 * between two letters, between two numbers, and from a number to a letter: `§ 5 a` is not `§ 5a`.
 */
const SPACE_BESIDE_SIGN = /(?<![\p{L}\p{M}\p{N}]) | (?![\p{L}\p{M}\p{N}])/gu
const SPACE_BEFORE_NUMBER = /(?<=[\p{L}\p{M}]) (?=\p{N})/gu
/** `Art. 6`, `Art.6` and `Art 6`; `GEN 8.4.1.` and `GEN 8.4.1`. */
const STOP_BEFORE_SPACE = /\.+(?= |$)/gu
const STOP_BEFORE_NUMBER = /(?<=[\p{L}\p{M}])\.+(?=\p{N})/gu

const ASCII_ONLY = /^[\0-\x7f]*$/

/**
 * Returns the one form of a key that law is known by: a document, provision, label, alias, anchor, URL, subject, code or
 * a reviewer's name. Keys of one form are one key. The form is NFKC, without invisible characters or letters of another
 * script that look like Latin ones (UTS #39), in one case, with one dash, one apostrophe and only the spaces that tell
 * keys apart. It does not depend on the machine's locale.
 */
export function foldKey(text: string): FoldedKey {
  const plain = ASCII_ONLY.test(text) ? text.toLowerCase() : plainLetters(text)
  return plain
    .replaceAll('`', "'")
    .replace(SPACES, ' ')
    .replace(STOP_BEFORE_SPACE, ' ')
    .replace(SPACES, ' ')
    .replace(SPACE_BESIDE_SIGN, '')
    .replace(STOP_BEFORE_NUMBER, '')
    .replace(SPACE_BEFORE_NUMBER, '') as FoldedKey
}

/** Returns the form in which codes of jurisdictions are served: the key in capitals, `hs-m` is `HS-M`. */
export function foldCode(text: string): string {
  return foldKey(text).toUpperCase()
}

/** `18³` is another number than `183`. */
const RAISED_DIGITS = /[⁰¹²³⁴-⁹]+/gu

/** Compatibility characters may hold others, so that both steps are taken twice. */
function plainLetters(text: string): string {
  const visible = text.replace(INVISIBLE, '').replace(RAISED_DIGITS, (digits) => `^${digits}`)
  const once = compatible(withLatinLookAlikes(visible))
  return compatible(once).replace(DASHES, '-').replace(APOSTROPHES, "'")
}

function compatible(text: string): string {
  return caseFolded(text.replace(INVISIBLE, '').replace(MARKS_IN_EXCESS, '$1').normalize('NFKC')).normalize('NFKC')
}

/** Full case folding (`ß` is `ss`, `ſ` is `s`, every sigma is one), with one `i` for `i`, `I`, `İ` and `ı`. */
function caseFolded(text: string): string {
  return text.toUpperCase().toLowerCase().replaceAll('i\u0307', 'i').replaceAll('ς', 'σ')
}
