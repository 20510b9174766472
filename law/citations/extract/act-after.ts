import type { ActMention } from '#law/citations/citation.ts'
import { readUsTitleAfter } from '#law/citations/grammars/us.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { readAct } from '#law/citations/names/acts.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { isManner, isNonStatutory, isNonStatutoryAfter } from '#law/citations/names/non-statutory.ts'
import { isRelative, startsClause } from '#law/citations/names/self-citation.ts'
import { readUnresolvedAfter } from '#law/citations/names/unresolved.ts'
import type { Designator } from '#law/citations/provisions/designators.ts'

/** Words between a provision and the act after it: `of the`, `der`, `du`, `, (`. */
const LINKS = new Set(
  (
    'of the in under to from within der des dem den das die im nach zur zum von vom du de la le les l ' +
    `d au aux dans , ( ' s eu council commission delegated implementing delegierten current same retained above ` +
    'new former nouveau ancien'
  ).split(' '),
)
const LINKS_MAX = 7

export type ActAfter =
  | { readonly kind: 'act'; readonly mention: ActMention; readonly linked: boolean }
  | { readonly kind: 'non-statutory' }
  | undefined

/**
 * Reads what follows a provision: its act, or a non-statutory source. `linked`: a word such as `of` or `des`
 * connects them.
 */
export function readActAfter(tokens: TokenStream, at: number, designator: Designator, aliases: ActAliases): ActAfter {
  if (isRelative(tokens, at)) return { kind: 'non-statutory' }
  let index = afterBook(tokens, at)
  let linked = index > at
  const clause = startsClause(tokens, at)
  for (const last = index + LINKS_MAX; index <= last; index += 1) {
    const mention = readAct(tokens, index, aliases) ?? readUsTitleAfter(tokens, index)
    if (mention !== undefined && mention.sections === undefined && mention.path === undefined)
      return { kind: 'act', mention, linked }
    if (linked && !clause && isNonStatutory(tokens, index, aliases) && !isManner(tokens, at, index))
      return { kind: 'non-statutory' }
    if (isAnnexOfAct(tokens, index)) index += 1
    const link = tokens.get(index)
    if (link === undefined || !LINKS.has(link.text)) break
    linked ||= link.kind === 'word' && !(tokens.reads(index - 1, ',') && link.text === 'the')
  }
  // `§ 12, the Commission`: another part of the sentence.
  if (tokens.reads(at, ',') && tokens.reads(at + 1, 'the')) return undefined
  if (!clause && isNonStatutoryAfter(tokens, at, index)) return { kind: 'non-statutory' }
  const mention = readUnresolvedAfter(tokens, index, designator, linked, aliases)
  return mention === undefined ? undefined : { kind: 'act', mention, linked }
}

/** `titre Ier du livre IV du code rural`: the position after a book, which is no part of a path. */
function afterBook(tokens: TokenStream, at: number): number {
  return tokens.reads(at, 'du', 'of') && tokens.reads(at + 1, 'livre', 'book') ? at + 3 : at
}

/** `Article 2(1) of the Annex to Recommendation 2003/361/EC`: an act that has only an annex. */
function isAnnexOfAct(tokens: TokenStream, at: number): boolean {
  return tokens.reads(at - 1, 'the') && tokens.reads(at, 'annex') && tokens.reads(at + 1, 'to', 'of')
}
