import { actBeside } from '#law/citations/citation.ts'
import type { ActMention } from '#law/citations/citation.ts'
import { FUNCTION_WORD_FORMS } from '#law/citations/lexer/tokens.ts'
import type { Token, TokenStream } from '#law/citations/lexer/tokens.ts'
import { readDesignator } from '#law/citations/provisions/designators.ts'
import type { Designator, DesignatorKind } from '#law/citations/provisions/designators.ts'
import { readRoman } from '#law/citations/provisions/numbers.ts'
import type { ActAliases } from './aliases.ts'
import { COUNTED_NOUNS, isOtherInitials, STANDARDS } from './not-acts.ts'
import { readDatedAct, readNameAlone, readWrittenName, withListedInBrackets } from './unresolved-names.ts'

/** Kinds of provision that initials may name the act of: chapters and parts are more often of something else. */
const KINDS_WITH_INITIALS: ReadonlySet<DesignatorKind> = new Set([
  'article',
  'section',
  'sign',
  'rule',
  'regulation',
  'recital',
  'annex',
])
/** Words before the initials of an act: `under EMIR, Art. 9`. */
const GOVERNING = new Set(
  'under in of per by with and or vs versus nach gemass laut im des der und oder aus du de la selon et ou dans'.split(
    ' ',
  ),
)
const LISTING = new Set(['and', 'or', 'und', 'oder', 'et', 'ou'])
/** Words that make an act the one of the whole query: `Under the Theft Act`, `Was sagt das Mietgesetz`. */
const INTRODUCING = new Set(
  (
    'under in per of does do did within nach gemass laut im des vom zum sagt regelt steht besagt enthalt bestimmt ' +
    'selon dans sous du de dit prevoit'
  ).split(' '),
)
const ARTICLES = new Set(['the', 'das', 'die', 'la', 'le', 'l', "'"])
const VOLUME_MAX = 20

/**
 * Reads an unresolved act, after a provision: `Art. 8 EMRK`, `§ 7 Bundesurlaubsgesetz`, `Article 28 of
 * Solvency II`. A version cannot hold such an act.
 * @param linked a word such as `of` or `des` stands between.
 */
export function readUnresolvedAfter(
  tokens: TokenStream,
  at: number,
  designator: Designator,
  linked: boolean,
  aliases: ActAliases,
): ActMention | undefined {
  const dated = linked ? readDatedAct(tokens, at) : undefined
  if (dated !== undefined) return dated
  const named = designator.kind === 'title' && !linked ? undefined : readWrittenName(tokens, at, linked, aliases)
  const written = withListedInBrackets(tokens, named, aliases)
  if (written !== undefined) return written
  const takesInitials = KINDS_WITH_INITIALS.has(designator.kind) || (linked && tokens.reads(at - 1, 'the', 'of'))
  if (isAllCapitals(tokens, designator.end - 1)) return undefined
  if (!takesInitials) return isDated(tokens, at) ? readInitials(tokens, at, false) : undefined
  const isGerman = designator.kind === 'sign' || (designator.kind === 'article' && isGermanBefore(tokens, at))
  return readNumberedName(tokens, at) ?? readInitials(tokens, at, isGerman)
}

/**
 * Reads an unresolved act, before a provision: `Solvency II Article 28`, `UWG § 5`, `Sherman Act § 1`. A
 * written name that has no provision beside it needs one: it is only the act of provisions elsewhere in the query.
 */
export function readUnresolvedBefore(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  const token = tokens.get(at)
  if (token?.kind !== 'word') return undefined
  const written = withListedInBrackets(tokens, readNameAlone(tokens, at, aliases), aliases)
  if (written !== undefined) return written
  const mention = readNumberedName(tokens, at) ?? readInitials(tokens, at, isSignAfter(tokens, at))
  return mention !== undefined && governs(tokens, at, mention) ? mention : undefined
}

/** Whether a provision follows initials directly, or after a mark where nothing but `under` stands before them. */
function governs(tokens: TokenStream, at: number, mention: ActMention): boolean {
  const marked = tokens.reads(mention.end, ',', ':', '(', '–', '-')
  const index = marked ? mention.end + 1 : mention.end
  const possessive = tokens.reads(index, "'") && tokens.reads(index + 1, 's') ? index + 2 : index
  const designator = readDesignator(tokens, possessive)
  if (designator === undefined || !KINDS_WITH_INITIALS.has(designator.kind)) return false
  if (isAllCapitals(tokens, possessive) || isAllCapitals(tokens, at - 1, 3)) return false
  if (!marked) return true
  const before = tokens.get(at - 1)
  const governing = ARTICLES.has(before?.text ?? '') ? tokens.get(at - 2) : before
  // `with these Rules and the FSMR, Rule 12 applies`: a list of acts ends at the comma.
  if (tokens.reads(mention.end, ',') && LISTING.has(governing?.text ?? '')) return false
  return governing === undefined || governing.kind === 'sign' || GOVERNING.has(governing.text)
}

/** `Solvency II`, `MiFID III`, `Rome I`: a capitalised name with a Roman numeral. */
function readNumberedName(tokens: TokenStream, at: number): ActMention | undefined {
  const [name, numeral] = [tokens.get(at), tokens.get(at + 1)]
  if (name?.kind !== 'word' || !/^\p{Lu}\p{L}{2,}$/u.test(name.raw)) return undefined
  if (numeral === undefined || numeral.glued || !/^[IVX]{1,5}[ab]?$/.test(numeral.raw)) return undefined
  const volume = numeral.text.replace(/[ab]$/, '')
  if ((readRoman(volume) ?? Infinity) > VOLUME_MAX || name.text === 'sgb') return undefined
  if (COUNTED_NOUNS.has(name.text) || FUNCTION_WORD_FORMS.has(name.text) || STANDARDS.has(name.text)) return undefined
  if (volume === 'i' && numeral.text === 'i' && !/^(?:rome?|rom|brussels|brussel|bruxelles)$/.test(name.text))
    return undefined
  return actBeside(`name:${name.text}-${numeral.text}`, at + 2)
}

/** `EMRK`, `BauGB`, `CRR2`, `SGB II`: two capitals or more in one word. */
function readInitials(tokens: TokenStream, at: number, german: boolean): ActMention | undefined {
  const token = tokens.get(at)
  if (token?.kind !== 'word' || token.glued || !isInitials(token.raw) || isOtherInitials(token.text)) return undefined
  if (readRoman(token.text) !== undefined) return undefined
  const next = tokens.get(at + 1)
  const digit = next?.glued === true && next.kind === 'number' && next.text.length <= 2 ? next.text : ''
  const end = digit === '' ? at + 1 : at + 2
  const after = tokens.get(end)
  if (after?.glued === true && (after.kind !== 'sign' || after.text === '-' || after.text === '/')) return undefined
  if (after !== undefined && FUNCTION_WORD_FORMS.has(after.text) && /^\p{Lu}{2,}$/u.test(after.raw)) return undefined
  const year = after !== undefined && !after.glued && tokens.isYear(end) ? after.text : undefined
  if (year !== undefined) return actBeside(`name:${token.text}${digit}-${year}`, end + 1)
  const volume = token.text === 'sgb' && after !== undefined && /^(?:[IVX]{1,4}|\d{1,2})$/.test(after.raw)
  const scheme = german && digit === '' && isGermanShape(token.raw) ? 'de' : 'name'
  if (token.raw.length < 3 && scheme !== 'de') return undefined
  return actBeside(`${scheme}:${token.text}${digit}${volume ? `-${after.text}` : ''}`, volume ? end + 1 : end)
}

/** `FA 2004`: initials with their year name an act beside any kind of provision. */
function isDated(tokens: TokenStream, at: number): boolean {
  return tokens.isYear(at + 1) && !tokens.isGlued(at + 1)
}

/** Plurals of ordinary abbreviations (`SMEs`), names of firms (`McDonald`) and words in capitals are none. */
function isInitials(raw: string): boolean {
  if (!/^\p{Lu}\p{L}{1,9}$/u.test(raw) || /^(?:\p{Lu}+s|\p{Lu}{8,})$/u.test(raw)) return false
  const capitals = raw.match(/\p{Lu}/gu)?.length ?? 0
  return capitals >= 2 && (capitals * 3 >= raw.length || /[GOBVR]$/.test(raw))
}

/** Ends with the capital of `Gesetz`, `Ordnung`, `Buch`, `Verordnung`, `Recht`, `Vertrag`, `Satzung`. */
function isGermanShape(raw: string): boolean {
  return /[GOBVRS]$/.test(raw)
}

function isSignAfter(tokens: TokenStream, at: number): boolean {
  for (let index = at + 1; index <= at + 4; index += 1) if (tokens.isSectionSign(index)) return true
  return /\p{Ll}/u.test(tokens.raw(at))
}

function isGermanBefore(tokens: TokenStream, at: number): boolean {
  const before = tokens.text(at - 1)
  return (
    before !== 'of' &&
    before !== 'the' &&
    before !== 'la' &&
    before !== 'de' &&
    before !== 'du' &&
    !isEnglishArticle(tokens, at)
  )
}

function isEnglishArticle(tokens: TokenStream, at: number): boolean {
  for (let index = at - 1; index >= Math.max(0, at - 8); index -= 1) {
    const text = tokens.get(index)?.text
    if (text === 'article' || text === 'articles') return true
    if (text === 'art' || text === 'artikel') return false
  }
  return false
}

function isNumeral({ raw, text }: Token): boolean {
  return /^\p{Lu}+$/u.test(raw) && readRoman(text) !== undefined
}

/** In a text of capitals alone, capitals tell nothing. */
function isAllCapitals(tokens: TokenStream, designatorAt: number, least = 4): boolean {
  for (let index = designatorAt; index >= Math.max(0, designatorAt - 3); index -= 1) {
    const token = tokens.get(index)
    if (token?.kind === 'word' && !isNumeral(token)) return token.raw.length >= least && /^\p{Lu}+$/u.test(token.raw)
  }
  return false
}

/**
 * Whether a written name without a provision is surely that of an act, and so explains provisions elsewhere in the
 * query. Orders, rules and regulations in capitals are often documents of a firm.
 */
export function explainsDistantly(tokens: TokenStream, at: number, { act, end }: ActMention): boolean {
  if (tokens.reads(end, 'is', 'are') && tokens.reads(end + 1, 'amended')) return true
  const before = ARTICLES.has(tokens.text(at - 1)) ? at - 2 : at - 1
  const isIntroduced = INTRODUCING.has(tokens.text(before))
  return (
    isIntroduced &&
    /^(?:de|fr):|-act(?:-[a-z-]+)?(?:-\d{4})?$|gesetz$|^name:loi-|-(?:code|convention|treaty|constitution)$/.test(act)
  )
}
