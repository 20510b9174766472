import { actBeside, familyOf, type ActMention } from '#law/citations/citation.ts'
import { FUNCTION_WORD_FORMS, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { readDesignator } from '#law/citations/provisions/designators.ts'
import NAMES from './going-on.json' with { type: 'json' }
import { isLegalNoun } from './nouns.ts'
import { matchNamed } from '#law/citations/lexer/patterns.ts'
import { readPlace } from './places.ts'

/** Words between the name of an act and its place: `of the`, `du`, `della`, `des Kantons`. */
const LINKS = new Set(NAMES.links.split(' '))
const LINKS_MAX = 5
/** Words of institutions and of times, which make no other act: `of the Council`, `du Parlement`. */
const NO_NAMES =
  /^(?:council|commission|parliament|conseil|parlement|rat(?:es)?|january|february|march|april|may|june|july|august|september|october|november|december)$/
const MEMBERS = NAMES.members.split(' ')
const COUNTRIES = new Map(Object.entries(NAMES.countries).map(([family, codes]) => [family, codes.split(' ')] as const))

/**
 * Returns the act that a name means where it stands. It is another one where the name goes on (`BGB-InfoV`, `Data Act
 * 2003 (Fees) Order`), or where a place beside it is not its own (`Code civil suisse`, `Data Protection Act (Ireland)`).
 * @param jurisdictions of the version, whose acts of other schemes are theirs. Unknown: undefined.
 * @param isName whether the name of an act begins at a position. @param isForeign whether only names have capitals.
 */
export function asItStands(
  tokens: TokenStream,
  at: number,
  mention: ActMention,
  jurisdictions: readonly string[] | undefined,
  isName: (at: number) => boolean = () => false,
  isForeign = false,
): ActMention {
  const own = COUNTRIES.get(familyOf(mention.act)) ?? jurisdictions
  const isUnknown = mention.act.startsWith('name:') || own === undefined
  const from = isUnknown ? at : beforeForeign(tokens, at, own, isName)
  const capital = isForeign ? afterCapital(tokens, mention.end, own, isName) : undefined
  const goesOn = isUnknown ? longerName(tokens, mention.end) : afterGoingOn(tokens, at, mention, own, isName)
  const end = goesOn ?? capital
  if (from === at && (end === undefined || end === mention.end)) return mention
  const to = end ?? mention.end
  return actBeside(`name:${tokens.words(from, to)}`, to)
}

/** Whether a place is in one of these jurisdictions. */
function isOwn(codes: ReadonlySet<string>, own: readonly string[]): boolean {
  const states = own.includes('EU') ? [...own, ...MEMBERS] : own
  return [...codes].some((code) =>
    states.some(
      (each) => each === code || (code.length > 1 ? each.startsWith(`${code.slice(0, 2)}-`) : each.includes('-')),
    ),
  )
}

/** The position after a place here that is none of these jurisdictions. */
function afterForeignPlace(tokens: TokenStream, at: number, own: readonly string[]): number | undefined {
  if (FUNCTION_WORD_FORMS.has(tokens.text(at)) || readDesignator(tokens, at) !== undefined) return undefined
  const place = readPlace(tokens, at)
  return place === undefined || isOwn(place.codes, own) ? undefined : place.end
}

/** What is no law in force, before the name of an act: `projet de Code civil`, `Prop. Treas. Reg.`, `Entwurf des BGB`. */
export const NOT_IN_FORCE: ReadonlySet<string> = new Set(NAMES.not_in_force.split(' '))
const BEFORE_NAME = ['de', 'du', 'of', 'des', 'der', 'del', 'di', 'van', 'til', 'zum', 'zur', '.']
/** What stands before the name of another law: `militære straffeloven`. */
const OF_ANOTHER_LAW = /^(?:milit(?:air|ar|aer)|vojensk|vojn|wojskow|kanoni|kirchlich)/

/** `the Spanish Civil Code`, `Ireland's Data Protection Act`: where a foreign place before the name begins. */
function beforeForeign(
  tokens: TokenStream,
  at: number,
  own: readonly string[],
  isName: (at: number) => boolean,
): number {
  const linked = tokens.reads(at - 1, ...BEFORE_NAME) ? at - 2 : at - 1
  const former = tokens.reads(linked, 'the', 'du') ? linked - 1 : linked
  // `militære straffeloven`.
  if (NOT_IN_FORCE.has(tokens.text(former)) || OF_ANOTHER_LAW.test(tokens.text(former))) return former
  // `DDR-StGB`, `E-BGB`, `TMG/TTDSG`: one word.
  const isDashed = tokens.reads(at - 1, '-') || (tokens.reads(at - 1, '/') && !isName(at - 2))
  const isJoined = isDashed && tokens.isGlued(at) && tokens.isGlued(at - 1) && tokens.isCapitalised(at - 2)
  if (isJoined && !isOwn(readPlace(tokens, at - 2)?.codes ?? new Set(), own)) return at - 2
  const isOwned = tokens.reads(at - 1, 's') && tokens.reads(at - 2, "'")
  // `österr. StGB`: an abbreviation.
  const isShort = tokens.reads(at - 1, '.') && /^\p{Ll}/u.test(tokens.raw(at - 2))
  const end = isOwned ? at - 2 : isShort ? at - 1 : at
  for (let from = end - 1; from >= Math.max(0, end - 3); from -= 1)
    if (afterForeignPlace(tokens, from, own) === end) return from
  return at
}

function afterGoingOn(
  tokens: TokenStream,
  at: number,
  mention: ActMention,
  own: readonly string[],
  isName: (at: number) => boolean,
): number | undefined {
  const { end } = mention
  const place = afterPlace(tokens, end, own)
  const next = tokens.text(end)
  const isEnd = /^[?!.,;:)]?$/.test(next) || (FUNCTION_WORD_FORMS.has(next) && !tokens.isCapitalised(end))
  const goesOn = tokens.reads(end, 'a', 'de', 'du', 'd', 'of', 'del', 'di', 'da', 'do')
  if (place === undefined && isEnd && !goesOn) return undefined
  const named =
    mention.code === true
      ? undefined
      : (afterUnknownPlace(tokens, end) ?? longerName(tokens, end) ?? afterOtherText(tokens, at, end))
  return place ?? named ?? afterBracket(tokens, at, end, own) ?? afterCompound(tokens, end, isName)
}

/** `Código Civil derogado`, `BDSG (alt)`, `GDPR proposal`, `Code pénal militaire`: the position after such a word. */
function afterOtherText(tokens: TokenStream, at: number, end: number): number | undefined {
  const isNoun = end > at + 1 && tokens.isWord(end - 1) && !isLegalNoun(tokens.text(end - 1))
  const found = matchNamed(tokens, end, 'other_text') ?? (isNoun ? matchNamed(tokens, end, 'adjective') : undefined)
  return found?.end
}

/** Countries whose codes stand beside the name of an act. */
const CODES = new Set([...MEMBERS, 'GB', 'US', 'CA', 'AU', 'NZ', 'CH', 'JE', 'GG', 'IM'])

function isApplied({ text }: { readonly text: string }): boolean {
  return /^(?:appli|extended)/.test(text)
}

/** `(Ireland)`, `, Ireland`, `du Québec`, `suisse`, `as it applies in Jersey`. */
function afterPlace(tokens: TokenStream, end: number, own: readonly string[]): number | undefined {
  let index = tokens.skip(end, '(', ',', '-', '–')
  const isBracketed = tokens.reads(end, '(')
  for (let links = 0; links < LINKS_MAX && LINKS.has(tokens.text(index)); links += 1) index += 1
  // `in` and `to` alone tell where something happens.
  if (tokens.reads(end, 'as', 'in', 'to', 'au', 'en', 'it') && !tokens.slice(end, index).some(isApplied))
    return undefined
  // Capitals tell nothing after a name in capitals.
  const isAlone = isBracketed ? tokens.reads(index + 1, ')') : index === end && /\p{Ll}/u.test(tokens.raw(end - 1))
  const isCode = isAlone && CODES.has(tokens.raw(index)) && !isOwn(new Set([tokens.raw(index)]), own)
  const joined = tokens.reads(index + 1, '-') && tokens.isGlued(index + 1) ? index + 2 : index
  const place = isCode ? index + 1 : (afterForeignPlace(tokens, index, own) ?? afterForeignPlace(tokens, joined, own))
  return place === undefined || !isBracketed ? place : tokens.skip(place, ')')
}

/** `Code civil du Bas-Canada`: a place that no table has, after a name with a noun of legislation. */
function afterUnknownPlace(tokens: TokenStream, end: number): number | undefined {
  if (!tokens.reads(end, 'of', 'de', 'du', 'd', 'del', 'do', 'da', 'di')) return undefined
  const at = tokens.reads(end + 1, "'") ? end + 2 : end + 1
  const isName = /^\p{Lu}\p{Ll}{2,}$/u.test(tokens.raw(at)) && !NO_NAMES.test(tokens.text(at))
  if (!isName || FUNCTION_WORD_FORMS.has(tokens.text(at)) || readDesignator(tokens, at) !== undefined) return undefined
  if (readPlace(tokens, at) !== undefined || isLegalNoun(tokens.text(at))) return undefined
  const last = tokens.reads(at + 1, '-') && tokens.isGlued(at + 1) && tokens.isWord(at + 2) ? at + 3 : at + 1
  return isLegalNoun(tokens.text(end - 1)) || isLegalNoun(tokens.text(end - 2)) ? last : undefined
}

/** `Human Rights Act 1998 (Cth)`, `(NSW)`, `(No. 7)`: brackets after a year hold a place, unless its initials. */
function afterBracket(tokens: TokenStream, at: number, end: number, own: readonly string[]): number | undefined {
  if (!tokens.reads(end, '(') || !tokens.isYear(end - 1)) return undefined
  if (tokens.reads(end + 1, 'no') && tokens.isNumber(tokens.skip(end + 2, '.'))) return end + 2
  const initials = tokens.slice(at, end).map(({ text }) => text[0])
  const isPlace = /^\p{Lu}\p{L}+$/u.test(tokens.raw(end + 1)) && tokens.text(end + 1) !== initials.slice(0, -1).join('')
  const isHere = isOwn(readPlace(tokens, end + 1)?.codes ?? new Set([tokens.raw(end + 1)]), own)
  return isPlace && !isHere && tokens.reads(end + 2, ')') ? end + 3 : undefined
}

/** `BGB-InfoV`, `BGB InfoV`, `BGB/InfoV`, `BGB aF`, `StGB DDR`: another act, and a former text of the act. */
function afterCompound(tokens: TokenStream, end: number, isName: (at: number) => boolean): number | undefined {
  const isOther = isName(end) || (tokens.reads(end, '-', '–', '/', '_', '+') && isName(end + 1))
  return isOther ? undefined : matchNamed(tokens, end, 'compound')?.end
}

/**
 * `Ley General de Faroles Públicos`, `… de Faroles y Puentes`, `codice penale Zanardelli`, `Código Civil para el Distrito
 * Federal`: where only names have capitals, they belong to one, unless they are places of the version.
 */
function afterCapital(
  tokens: TokenStream,
  end: number,
  own: readonly string[] | undefined,
  isName: (at: number) => boolean,
): number | undefined {
  let at = tokens.skip(end, 'y', 'e', 'i', 'og', 'och', 'si')
  if (at === end && tokens.isWord(end - 1)) at = tokens.skip(tokens.skip(end, 'de', 'para', 'per'), 'el', 'il', 'la')
  const isWord = /^\p{Lu}\p{Ll}{2,}$/u.test(tokens.raw(at)) && tokens.isWord(end - 1)
  if (!isWord || isName(at) || FUNCTION_WORD_FORMS.has(tokens.text(at))) return undefined
  let place = at
  while (LINKS.has(tokens.text(place))) place += 1
  if (isOwn(readPlace(tokens, place)?.codes ?? new Set(), own ?? [])) return undefined
  return readDesignator(tokens, at) === undefined ? at + 1 : undefined
}

/** `Data Act 2003 (Fees) Order 2004`: the position after a longer name that ends with another noun of legislation. */
function longerName(tokens: TokenStream, end: number): number | undefined {
  return matchNamed(tokens, end, 'longer_name')?.end
}
