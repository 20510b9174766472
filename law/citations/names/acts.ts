import { familyOf, type ActMention } from '#law/citations/citation.ts'
import { readEuAct } from '#law/citations/grammars/eu.ts'
import { readFrenchAct } from '#law/citations/grammars/fr.ts'
import { afterRulebookWord } from '#law/citations/grammars/rulebook.ts'
import { readUkAct } from '#law/citations/grammars/uk.ts'
import { readUsAct } from '#law/citations/grammars/us.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from './aliases.ts'

/** Reads the longest act mention that starts here. */
export function readAct(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  const alias = aliases.find(tokens, at)
  const named = alias === undefined ? undefined : withKind(tokens, alias)
  let longest: ActMention | undefined = named
  for (const mention of [
    readUsAct(tokens, at, aliases.actOfPart),
    readEuAct(tokens, at),
    readUkAct(tokens, at),
    readFrenchAct(tokens, at),
  ]) {
    if (mention !== undefined && mention.end > (longest?.end ?? at)) longest = mention
  }
  return longest
}

/** `MiCA Regulation`, `DORA-Verordnung`, `the AML rulebook`: the word for the act's kind belongs to its name. */
function withKind(tokens: TokenStream, mention: ActMention): ActMention {
  if (familyOf(mention.act) === 'eu') return { ...mention, end: afterKindOfAct(tokens, mention.end) }
  const end = mention.code === true ? afterRulebookWord(tokens, mention.end) : undefined
  return end === undefined ? mention : { ...mention, end, standalone: true }
}

/** A kind before a number begins another mention: `DORA Regulation (EU) 2022/2554`. */
function afterKindOfAct(tokens: TokenStream, at: number): number {
  const kind = tokens.skip(at, '-')
  const isKind = tokens.reads(kind, 'regulation', 'directive', 'act', 'verordnung', 'richtlinie', 'vo', 'rl')
  const next = tokens.get(kind + 1)
  return isKind && next?.text !== '(' && (next?.kind !== 'number' || tokens.get(kind + 2)?.text !== '/') ? kind + 1 : at
}
