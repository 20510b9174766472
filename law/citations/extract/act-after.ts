import { actBeside, type ActMention, readPattern } from '#law/citations/citation.ts'
import { isLink, languagesIn } from '#law/citations/lexer/languages.ts'
import { readUsTitleAfter } from '#law/citations/grammars/us.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { readAct } from '#law/citations/names/acts.ts'
import { NOT_IN_FORCE } from '#law/citations/names/going-on.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { isManner, isNonStatutory, isNonStatutoryAfter } from '#law/citations/names/non-statutory.ts'
import { readPlace } from '#law/citations/names/places.ts'
import { readOneName, readUnresolvedAfter } from '#law/citations/names/unresolved.ts'
import { readWrittenName } from '#law/citations/names/written-names.ts'
import { readDesignator, type Designator } from '#law/citations/provisions/designators.ts'
import { readFirst } from '#law/citations/provisions/lists.ts'
import { readDesignation } from '#law/citations/provisions/numbers.ts'
import WORDS from '#law/citations/lexer/words.json' with { type: 'json' }

/** Words between a provision and the act after it: `of the`, `der`, `du`, `, (`. */
const LINKS = new Set(WORDS.before_act.split(' '))
const LINKS_MAX = 7
/** Places in the text where the words stand (`section 4.2 above`), and verbs of price after an article of a shop. */
const RELATIVE =
  /^(?:above|below|hereof|herein|hereunder|hereto|supra|infra|oben|unten|vorstehend|nachstehend|kosten|kostet|costs?|coute(?:nt)?)$/

/** Reads what follows a provision: its act, or a source that has no force of law. */
export function readActAfter(
  tokens: TokenStream,
  at: number,
  designator: Designator,
  aliases: ActAliases,
): ActMention | 'non-statutory' | undefined {
  if (isRelative(tokens, at)) return 'non-statutory'
  // `§ 433 aF BGB`, `article 9 (ancien)`, `art. 9 anc. C. civ.`: a former text.
  const outdated = readPattern(tokens, at, 'outdated')
  if (outdated !== undefined) return outdated
  const languages = languagesIn(tokens, aliases.languages)
  // `članak 5. Zakona o pčelama`: the number of an ordinal has a full stop.
  const isOrdinal = languages.size > 0 && tokens.reads(at, '.') && tokens.isNumber(at - 1) && tokens.isGlued(at)
  // `6.1.f) del Código`: the letter of a point.
  const isPoint = tokens.reads(at, ')') && /^[a-z]$/.test(tokens.text(at - 1)) && tokens.isWord(at + 1)
  let index = isOrdinal || isPoint ? at + 1 : afterBook(tokens, at)
  let linked = index > at + 1
  const clause = startsClause(tokens, at)
  let [named, former]: (number | undefined)[] = []
  for (const last = index + LINKS_MAX; index <= last; index += 1) {
    // `§ 1 DDR-StGB`: one word.
    const joined = tokens.reads(index + 1, '-') && tokens.isGlued(index + 2) ? index + 2 : index
    const mention =
      readAct(tokens, index, aliases) ?? readUsTitleAfter(tokens, index) ?? readAct(tokens, joined, aliases)
    if (mention !== undefined && mention.sections === undefined && mention.path === undefined) {
      // Books that count anew have provisions of their own.
      const book = tokens.reads(at + 1, 'boek', 'book') && index > at + 3 ? `name:book-${tokens.text(at + 2)}-of-` : ''
      const act = book === '' ? mention.act : book + mention.act.replace(/^[a-z]+:/, '')
      return linked || !startsCitation(tokens, mention, aliases) ? { ...mention, act } : undefined
    }
    if (linked && !clause && isNonStatutory(tokens, index, aliases) && !isManner(tokens, at, index))
      return 'non-statutory'
    if (isAnnexOfAct(tokens, index)) index += 1
    // `des österreichischen StGB`, `des geltenden Außensteuergesetzes`: a name begins behind it.
    const adjective = afterAdjective(tokens, index)
    if (adjective !== undefined && (linked || isNamed(tokens, adjective, aliases))) {
      named ??= tokens.isCapitalised(index) ? index : adjective
      index = adjective - 1
      continue
    }
    const text = tokens.text(index)
    // `l. 241/1990`: an abbreviation.
    const isSmall = designator.taught !== undefined && (tokens.isSmall(index) || text === "'")
    const isWord = isSmall || LINKS.has(text) || NOT_IN_FORCE.has(text) || isLink(text, languages)
    if (!isWord || tokens.reads(index + 1, '.')) break
    // `of the draft`, `du projet de loi`: no act at all.
    if (linked && !tokens.reads(index - 1, 'der', 'dem', 'den') && NOT_IN_FORCE.has(text)) former ??= index
    linked ||= tokens.isWord(index) && !(tokens.reads(index - 1, ',') && tokens.reads(index, 'the'))
  }
  // `§ 12, the Commission`: another part of the sentence.
  if (tokens.reads(at, ',') && tokens.reads(at + 1, 'the')) return undefined
  if (!clause && isNonStatutoryAfter(tokens, at, index)) return 'non-statutory'
  const unresolvedAt = (from: number) => readUnresolvedAfter(tokens, from, designator, linked, aliases)
  let mention = unresolvedAt(named ?? index)
  if (mention === undefined && named !== undefined) {
    // `des Hessischen Datenschutzgesetzes`, `Brazil's LGPD`: the place belongs to the name.
    const behind = unresolvedAt(index)
    mention = behind && actBeside(`name:${tokens.words(named, behind.end)}`, behind.end)
  }
  if (mention !== undefined) return linked || !startsCitation(tokens, mention, aliases) ? mention : undefined
  // `andininy faha-5 amin'ny Lalàna`: a name after one word at most.
  const next = tokens.isWord(at) || tokens.reads(at, '(') ? at + (tokens.reads(at + 1, "'") ? 3 : 1) : at
  const other = () => readOneName(tokens, at, aliases) ?? readOneName(tokens, next, aliases)
  if (designator.taught !== undefined) return other()
  return former === undefined ? undefined : actBeside(`name:${tokens.text(former)}`, former + 1)
}

/** The position after a place, or a German adjective, which may stand before the name of an act. */
function afterAdjective(tokens: TokenStream, at: number): number | undefined {
  const place = readPlace(tokens, at)
  const owned = place !== undefined && tokens.reads(place.end, "'") && tokens.reads(place.end + 1, 's') ? 2 : 0
  const after = place === undefined ? at : tokens.skip(place.end + owned, '.')
  if (place !== undefined && tokens.isWord(after)) return after
  const isGerman = tokens.reads(at - 1, 'des', 'der', 'dem') && /^\p{Ll}{3,}e[nrs]$/u.test(tokens.raw(at))
  return (isGerman || /^\p{Lu}\p{Ll}+(?:isch|lich)e[mnrs]?$/u.test(tokens.raw(at))) && tokens.isCapitalised(at + 1)
    ? at + 1
    : undefined
}

/** Whether initials or the name of an act are here, which need no link before them. */
function isNamed(tokens: TokenStream, at: number, aliases: ActAliases): boolean {
  if (/\p{Lu}\p{L}*\p{Lu}|^OR$/u.test(tokens.raw(at)) || readAct(tokens, at, aliases) !== undefined) return true
  return readWrittenName(tokens, at, false, aliases) !== undefined
}

/** Whether a provision refers to its own text or to a thing: `above`, `hereof`, `ci-dessous`, `kostet 4 €`. */
function isRelative(tokens: TokenStream, at: number): boolean {
  const index = tokens.skip(at, ',', '(')
  if (RELATIVE.test(tokens.text(index))) return true
  return tokens.reads(index, 'ci') && tokens.reads(index + 2, 'dessus', 'dessous', 'apres', 'avant')
}

/** `nach § 4 den Vertrag beenden`, `§ 196 Absatz 1, die nach den Bedingungen`: what follows is no genitive. */
function startsClause(tokens: TokenStream, at: number): boolean {
  return tokens.reads(at, ',')
    ? tokens.reads(at + 1, 'der', 'die', 'das', 'den', 'dem', 'dessen', 'deren', 'denen', 'the')
    : tokens.reads(at, 'die', 'das', 'den') || (tokens.reads(at, 'von') && tokens.reads(at + 1, 'dem'))
}

/** `titre Ier du livre IV du code rural`: the position after a book, which is no part of a path. */
function afterBook(tokens: TokenStream, at: number): number {
  return tokens.reads(at, 'du', 'of', 'van') && tokens.reads(at + 1, 'livre', 'book', 'boek') ? at + 3 : at
}

/** `Article 2(1) of the Annex to Recommendation 2003/361/EC`: an act that has only an annex. */
function isAnnexOfAct(tokens: TokenStream, at: number): boolean {
  if (!tokens.reads(at - 1, 'the') || !tokens.reads(at, 'annex') || !tokens.reads(at + 1, 'to', 'of')) return false
  return tokens.slice(at + 2, at + 5).some(({ text }) => text === 'recommendation')
}

/** Whether this act starts the next citation (`Rule 2.5, GEN 3.3`; `Article 5, DORA Article 28`). */
function startsCitation(tokens: TokenStream, { code, end }: ActMention, aliases: ActAliases): boolean {
  if (code === true && (readDesignation(tokens, end)?.parts.length ?? 0) >= 2) return true
  const designator = readDesignator(tokens, end)
  if (designator === undefined || readFirst(tokens, designator) === undefined) return false
  return aliases.find(tokens, end) === undefined
}
