import type { ActMention } from './act-mention.ts'
import { type ActAliases, familyOf } from './aliases.ts'
import { readGermanAbbreviation } from './de.ts'
import { readEuAct } from './eu.ts'
import { readFrenchAct } from './fr.ts'
import type { Designator } from './designators.ts'
import { afterRulebookWord } from './rulebook.ts'
import { isOtherWork, isOtherWorkAfter, isManner, isRelative, startsClause } from './other-works.ts'
import { reads, skip, type Token } from './tokens.ts'
import { readNamedAct } from './unlisted-names.ts'
import { readUnlistedAfter } from './unlisted.ts'
import { readUkAct } from './uk.ts'
import { readUsAct, readUsTitleAfter } from './us.ts'

/** Words between a provision and the act after it: `of the`, `der`, `du`, `, (`. */
const LINKS = new Set(
  (
    'of the in under to from within der des dem den das die im nach zur zum von vom du de la le les l ' +
    `d au aux dans , ( ' s eu council commission delegated implementing delegierten current same retained above ` +
    'new former nouveau ancien'
  ).split(' '),
)
const LINKS_MAX = 7
/** Reads the longest act mention that starts here. */
export function readAct(tokens: readonly Token[], at: number, aliases: ActAliases): ActMention | undefined {
  const alias = aliases.find(tokens, at)
  const named = alias === undefined ? undefined : withKind(tokens, { ...alias, sections: undefined }, aliases)
  let longest: ActMention | undefined = named
  for (const mention of [
    readUsAct(tokens, at, aliases),
    readEuAct(tokens, at),
    readUkAct(tokens, at),
    readFrenchAct(tokens, at),
  ]) {
    if (mention !== undefined && mention.end > (longest?.end ?? at)) longest = mention
  }
  return longest
}

/** `MiCA Regulation`, `DORA-Verordnung`, `the AML rulebook`: the word for the act's kind belongs to its name. */
function withKind(tokens: readonly Token[], mention: ActMention, { unlisted }: ActAliases): ActMention {
  if (unlisted && familyOf(mention.act) === 'eu') return { ...mention, end: afterKindOfAct(tokens, mention.end) }
  const end = mention.code === true ? afterRulebookWord(tokens, mention.end) : undefined
  return end === undefined ? mention : { ...mention, end, standing: true }
}

/** A kind before a number begins another mention: `DORA Regulation (EU) 2022/2554`. */
function afterKindOfAct(tokens: readonly Token[], at: number): number {
  const kind = skip(tokens, at, '-')
  const isKind = reads(tokens, kind, 'regulation', 'directive', 'act', 'verordnung', 'richtlinie', 'vo', 'rl')
  const next = tokens[kind + 1]
  return isKind && next?.text !== '(' && (next?.kind !== 'number' || tokens[kind + 2]?.text !== '/') ? kind + 1 : at
}

export type ActAfter =
  | { readonly kind: 'act'; readonly mention: ActMention; readonly linked: boolean }
  | { readonly kind: 'other work' }
  | undefined

/**
 * Reads what follows a provision: its act, or a work that is not legislation. `linked`: a word such as `of` or `des`
 * connects them.
 */
export function readActAfter(
  tokens: readonly Token[],
  at: number,
  designator: Designator,
  aliases: ActAliases,
): ActAfter {
  if (aliases.unlisted && isRelative(tokens, at)) return { kind: 'other work' }
  let place = afterBook(tokens, at)
  let linked = place > at
  const clause = startsClause(tokens, at)
  for (const last = place + LINKS_MAX; place <= last; place += 1) {
    const mention = readAct(tokens, place, aliases) ?? readUsTitleAfter(tokens, place)
    if (mention !== undefined && mention.sections === undefined && mention.path === undefined)
      return { kind: 'act', mention, linked }
    if (linked && !clause && isOtherWork(tokens, place, aliases) && !isManner(tokens, at, place))
      return { kind: 'other work' }
    if (isAnnexOfAct(tokens, place)) place += 1
    const link = tokens[place]
    if (link === undefined || !LINKS.has(link.text)) break
    linked ||= link.kind === 'word' && !(tokens[place - 1]?.text === ',' && link.text === 'the')
  }
  if (!aliases.unlisted) return readListedForm(tokens, place, designator, linked, aliases)
  // `§ 12, the Commission`: another part of the sentence.
  if (reads(tokens, at, ',') && reads(tokens, at + 1, 'the')) return undefined
  if (!clause && isOtherWorkAfter(tokens, at, place)) return { kind: 'other work' }
  const mention = readUnlistedAfter(tokens, place, designator, linked, aliases)
  return mention === undefined ? undefined : { kind: 'act', mention, linked }
}

/** `titre Ier du livre IV du code rural`: the position after a book, which is no part of a path. */
function afterBook(tokens: readonly Token[], at: number): number {
  return reads(tokens, at, 'du', 'of') && reads(tokens, at + 1, 'livre', 'book') ? at + 3 : at
}

/** `Article 2(1) of the Annex to Recommendation 2003/361/EC`: an act that has only an annex. */
function isAnnexOfAct(tokens: readonly Token[], at: number): boolean {
  return reads(tokens, at - 1, 'the') && reads(tokens, at, 'annex') && reads(tokens, at + 1, 'to', 'of')
}

/** The forms of names that labels have always been read by; other forms would change the references of a version. */
function readListedForm(
  tokens: readonly Token[],
  at: number,
  designator: Designator,
  linked: boolean,
  aliases: ActAliases,
): ActAfter {
  const german =
    designator.kind === 'sign' || designator.kind === 'article' ? readGermanAbbreviation(tokens, at) : undefined
  const mention = german ?? (linked && designator.kind !== 'title' ? readNamedAct(tokens, at, aliases) : undefined)
  return mention === undefined ? undefined : { kind: 'act', mention, linked }
}
