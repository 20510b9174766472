import { isRequestWord } from '#core/index/analysis/request-words.ts'
import { actBeside, type ActMention, readPattern } from '#law/citations/citation.ts'
import { formOf, languagesIn } from '#law/citations/lexer/languages.ts'
import { FUNCTION_WORD_FORMS, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { readDesignator, type Designator } from '#law/citations/provisions/designators.ts'
import { readRoman } from '#law/citations/provisions/roman.ts'
import type { ActAliases } from './aliases.ts'
import { asItStands } from './going-on.ts'
import { isNonStatutoryInitials } from './non-statutory.ts'
import { readNameAlone, readStated, readWrittenName, withListedInBrackets } from './written-names.ts'

/** Kinds of provision that initials may name the act of: chapters and parts are more often of something else. */
const KINDS_WITH_INITIALS = /^(?:article|section|sign|rule|regulation|recital|annex|comment)$/
const VOLUME_MAX = 20
/** Authorities whose own rules a version may hold, or whose documents have sections. */
const ISSUERS =
  /^(?:sec|fca|pra|cftc|cfpb|ftc|irs|fdic|occ|hud|adgm|fsra|dfsa|difc|eba|esma|eiopa|edpb|edps|ecb|bafin|cnil|amf|ico|bsi|enisa|iosco|fatf|bgh|bag|bverfg|bfh|bsg|eugh|ecj|cjeu|cjue)$/
/** Countries, firms, roles, documents, techniques and money, which often stand beside a provision. */
const OTHER_INITIALS =
  /^(?:us|usa|uae|eea|ewr|efta|brd|ag|kg|ohg|gbr|ug|eg|gmbh|llc|llp|plc|ltd|inc|eur|usd|gbp|chf|ceo|cfo|dpo|mlro|sme|kmu|ngo|dpia|dsfa|ropa|vvt|tom|scc|bcr|dsar|sar|mou|pdf|api|url|html|ict|iot|llm|gpai|vpn|kyc|cdd|aif|aifm|ucits|ogaw|esg|pep|psp|rts|its|pai|dnsh|vat|tva|ust|mwst|covid|law|laws|act|rule|rules|data|please|help)$/
/** Nouns that a numeral counts, and that name no act: `Type II section 4`. Designators are none either. */
const COUNTED_NOUNS =
  /^(?:typ|type|phase|tier|class|klasse|classe|level|stage|stufe|version|volume|band|option|group|gruppe|groupe|category|kategorie|pillar|saule|pilier|table|tabelle|figure|book|buch|livre|tome|war|king|queen|pope|step|case|fall|question|item|model|modell|sub(?:part|chapter|title)|sgb)$/

/**
 * Reads an unresolved act, after a provision: `Art. 8 EMRK`, `§ 7 Bundesurlaubsgesetz`, `Article 28 of Solvency II`. A
 * version cannot hold such an act.
 * @param linked a word such as `of` or `des` stands between.
 */
export function readUnresolvedAfter(
  tokens: TokenStream,
  at: number,
  designator: Designator,
  linked: boolean,
  aliases: ActAliases,
): ActMention | undefined {
  const mention = readName(tokens, at, designator, linked, aliases) ?? readPattern(tokens, at, 'numbered')
  return mention && asItStands(tokens, at, mention, undefined)
}

/** A name before a provision by a taught word. A word with a capital that begins a sentence is mostly a verb. */
export function readNameBefore(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  const last = tokens.isSmall(at - 1) || tokens.reads(at - 1, ',', '،', '፣', ':', '(') ? at - 2 : at - 1
  const isFirst = last < 1 || /^[.?!:;"“¿]$/.test(tokens.text(last - 1))
  return isFirst && /^\p{Lu}\p{Ll}/u.test(tokens.raw(last)) ? undefined : readOneName(tokens, last, aliases)
}

/** `abala 5 Òfin Ẹja`: a word with a capital or, in scripts without, one that ends the name of an act. */
export function readOneName(tokens: TokenStream, at: number, { nouns }: ActAliases): ActMention | undefined {
  const [text, raw] = [tokens.text(at), tokens.raw(at)]
  const isName = /^\p{Lu}\p{L}/u.test(raw) || formOf(text, nouns) !== undefined
  const isOther = FUNCTION_WORD_FORMS.has(text) || isRequestWord(text) || readDesignator(tokens, at) !== undefined
  return isName && !isOther ? actBeside(`name:${text}`, at + 1) : undefined
}

function readName(
  tokens: TokenStream,
  at: number,
  designator: Designator,
  linked: boolean,
  aliases: ActAliases,
): ActMention | undefined {
  const dated = linked ? readPattern(tokens, at, 'dated') : undefined
  const named = designator.kind === 'title' && !linked ? undefined : readWrittenName(tokens, at, linked, aliases)
  const written = dated ?? withListedInBrackets(tokens, named, aliases)
  if (written !== undefined || isAllCapitals(tokens, designator.end - 1)) return written
  const takesInitials = KINDS_WITH_INITIALS.test(designator.kind) || (linked && tokens.reads(at - 1, 'the', 'of'))
  // `FA 2004`: initials with their year name an act beside any kind of provision.
  if (!takesInitials && !(tokens.isYear(at + 1) && !tokens.isGlued(at + 1))) return undefined
  const isForeign = languagesIn(tokens, aliases.languages).size > 0
  return (
    readNumberedName(tokens, at) ??
    readInitials(tokens, at, designator.kind === 'sign', isForeign ? 2 : 3) ??
    readPattern(tokens, at, 'short_code') ??
    (linked ? readStated(tokens, at) : undefined)
  )
}

/**
 * Reads an unresolved act, before a provision: `Solvency II Article 28`, `UWG § 5`, `Sherman Act § 1`. A written name
 * that has no provision beside it needs one: it is only the act of provisions elsewhere in the query.
 */
export function readUnresolvedBefore(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  // `Cal. Civ. Code § 1983`, `42 Del. C. § 1983`: a code by abbreviations.
  const isStart = tokens.isCapitalised(at + 1) || (tokens.isCapitalised(at) && tokens.reads(at + 1, '.', '('))
  const code = isStart && !tokens.isGlued(at) ? readPattern(tokens, at, 'abbreviated_code') : undefined
  if (code !== undefined || !tokens.isWord(at)) return code
  const written = withListedInBrackets(tokens, readNameAlone(tokens, at, aliases), aliases)
  if (written !== undefined) return written
  const mention = readNumberedName(tokens, at) ?? readInitials(tokens, at, isSignAfter(tokens, at))
  return mention !== undefined && governs(tokens, at, mention.end) ? mention : undefined
}

/** Whether a provision follows initials directly, or after a mark where nothing but `under` stands before them. */
function governs(tokens: TokenStream, at: number, end: number): boolean {
  const marked = tokens.reads(end, ',', ':', '(', '–', '-')
  const index = marked ? end + 1 : end
  const possessive = tokens.reads(index, "'") && tokens.reads(index + 1, 's') ? index + 2 : index
  const designator = readDesignator(tokens, possessive)
  if (designator === undefined || !KINDS_WITH_INITIALS.test(designator.kind)) return false
  // `TILA § 105`: four capitals before a sign are no text in capitals.
  const isSign = tokens.isSectionSign(possessive) && tokens.raw(at).length < 5
  if ((!isSign && isAllCapitals(tokens, possessive)) || isAllCapitals(tokens, at - 1, 3)) return false
  if (!marked) return true
  const governing = beforeArticle(tokens, at)
  // `with these Rules and the FSMR, Rule 12 applies`: a list of acts ends at the comma.
  if (tokens.reads(end, ',') && tokens.reads(governing, 'and', 'or', 'und', 'oder', 'et', 'ou')) return false
  return !tokens.isWord(governing) || FUNCTION_WORD_FORMS.has(tokens.text(governing))
}

/** `under the EMIR`: the position of the word before a name and its article. */
function beforeArticle(tokens: TokenStream, at: number): number {
  return tokens.reads(at - 1, 'the', 'das', 'die', 'la', 'le', 'l', "'") ? at - 2 : at - 1
}

/** `Solvency II`, `MiFID III`, `Rome I`: a capitalised name with a Roman numeral. */
function readNumberedName(tokens: TokenStream, at: number): ActMention | undefined {
  const [name, numeral] = [tokens.text(at), tokens.text(at + 1)]
  if (!/^\p{Lu}\p{L}{2,}$/u.test(tokens.raw(at)) || tokens.isGlued(at + 1)) return undefined
  if (!/^[IVX]{1,5}[ab]?$/.test(tokens.raw(at + 1))) return undefined
  if ((readRoman(numeral.replace(/[ab]$/, '')) ?? Infinity) > VOLUME_MAX) return undefined
  if (numeral === 'i' && !/^(?:rome?|rom|brussels|brussel|bruxelles)$/.test(name)) return undefined
  const isCounted = COUNTED_NOUNS.test(name) || readDesignator(tokens, at) !== undefined
  if (isCounted || FUNCTION_WORD_FORMS.has(name) || isNonStatutoryInitials(name)) return undefined
  return actBeside(`name:${name}-${numeral}`, at + 2)
}

/** `EMRK`, `BauGB`, `CRR2`, `SGB II`: two capitals or more in one word. */
function readInitials(tokens: TokenStream, at: number, german: boolean, least = 3): ActMention | undefined {
  const [text, raw] = [tokens.text(at), tokens.raw(at)]
  if (tokens.isGlued(at) || !isInitials(raw) || isOtherInitials(text)) return undefined
  const next = tokens.isGlued(at + 1) ? (tokens.digits(at + 1, 1, 2) ?? '') : ''
  const end = next === '' ? at + 1 : at + 2
  if (tokens.isContinued(end, '-', '/')) return undefined
  if (FUNCTION_WORD_FORMS.has(tokens.text(end)) && /^\p{Lu}{2,}$/u.test(tokens.raw(end))) return undefined
  if (tokens.isYear(end) && !tokens.isGlued(end)) return actBeside(`name:${text}${next}-${tokens.text(end)}`, end + 1)
  const isVolume = text === 'sgb' && /^(?:[IVX]{1,4}|\d{1,2})$/.test(tokens.raw(end))
  // An abbreviation ends with the capital of `Gesetz`, `Ordnung`, `Buch`, `Verordnung`, `Recht`, `Vertrag`, `Satzung`.
  const scheme = german && next === '' && /[GOBVRS]$/.test(raw) ? 'de' : 'name'
  if (raw.length < least && scheme !== 'de') return undefined
  return actBeside(`${scheme}:${text}${next}${isVolume ? `-${tokens.text(end)}` : ''}`, isVolume ? end + 1 : end)
}

/** Plurals of ordinary abbreviations (`SMEs`), names of firms (`McDonald`) and words in capitals are none. */
function isInitials(raw: string): boolean {
  // `öStGB`, `dBGB`: a country in small letters.
  if (!/^(?:ö|öst|d|ch|li|sch)?\p{Lu}\p{L}{1,9}$/u.test(raw) || /^(?:\p{Lu}+s|\p{Lu}{8,})$/u.test(raw)) return false
  const capitals = raw.match(/\p{Lu}/gu)?.length ?? 0
  return capitals >= 2 && (capitals * 3 >= raw.length || /(?:[GOBVR]|Verf|Ges|Ord)$/.test(raw))
}

/** Whether initials are an ordinary abbreviation, an emphasised word or a numeral, and so no name of an act. */
function isOtherInitials(folded: string): boolean {
  if (ISSUERS.test(folded) || OTHER_INITIALS.test(folded) || isNonStatutoryInitials(folded)) return true
  return FUNCTION_WORD_FORMS.has(folded) || readRoman(folded) !== undefined
}

function isSignAfter(tokens: TokenStream, at: number): boolean {
  for (let index = at + 1; index <= at + 4; index += 1) if (tokens.isSectionSign(index)) return true
  return /\p{Ll}/u.test(tokens.raw(at))
}

/** In a text of capitals alone, capitals tell nothing. */
function isAllCapitals(tokens: TokenStream, designatorAt: number, least = 4): boolean {
  for (let index = designatorAt; index >= Math.max(0, designatorAt - 3); index -= 1) {
    const raw = tokens.raw(index)
    const isNumeral = /^\p{Lu}+$/u.test(raw) && readRoman(tokens.text(index)) !== undefined
    if (tokens.isWord(index) && !isNumeral) return raw.length >= least && /^\p{Lu}+$/u.test(raw)
  }
  return false
}

/**
 * Whether a written name without a provision is surely that of an act, and so explains provisions elsewhere in the
 * query: `Under the Theft Act`, `Was sagt das Mietgesetz`. Orders, rules and regulations in capitals are often
 * documents of a firm.
 */
export function explainsDistantly(tokens: TokenStream, at: number, { act, end }: ActMention): boolean {
  if (tokens.reads(end, 'is', 'are') && tokens.reads(end + 1, 'amended')) return true
  const before = tokens.text(beforeArticle(tokens, at))
  return (
    (FUNCTION_WORD_FORMS.has(before) || isRequestWord(before)) &&
    /^(?:de|fr):|-act(?:-[a-z-]+)?(?:-\d{4})?$|gesetz$|^name:loi-|-(?:code|convention|treaty|constitution)$/.test(act)
  )
}
