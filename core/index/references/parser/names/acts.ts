import { readEuAct } from '#core/index/references/parser/grammars/eu.ts'
import { readFrenchAct } from '#core/index/references/parser/grammars/fr.ts'
import { afterRulebookWord } from '#core/index/references/parser/grammars/rulebook.ts'
import { readUkAct } from '#core/index/references/parser/grammars/uk.ts'
import { readUsAct } from '#core/index/references/parser/grammars/us.ts'
import { reads, skip } from '#core/index/references/parser/lexer/tokens.ts'
import type { Token } from '#core/index/references/parser/lexer/tokens.ts'
import { familyOf } from './act.ts'
import type { ActMention } from './act.ts'
import type { ActAliases } from './aliases.ts'

/** Reads the longest act mention that starts here. */
export function readAct(tokens: readonly Token[], at: number, aliases: ActAliases): ActMention | undefined {
  const alias = aliases.find(tokens, at)
  const named = alias === undefined ? undefined : withKind(tokens, { ...alias, sections: undefined })
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
function withKind(tokens: readonly Token[], mention: ActMention): ActMention {
  if (familyOf(mention.act) === 'eu') return { ...mention, end: afterKindOfAct(tokens, mention.end) }
  const end = mention.code === true ? afterRulebookWord(tokens, mention.end) : undefined
  return end === undefined ? mention : { ...mention, end, standalone: true }
}

/** A kind before a number begins another mention: `DORA Regulation (EU) 2022/2554`. */
function afterKindOfAct(tokens: readonly Token[], at: number): number {
  const kind = skip(tokens, at, '-')
  const isKind = reads(tokens, kind, 'regulation', 'directive', 'act', 'verordnung', 'richtlinie', 'vo', 'rl')
  const next = tokens[kind + 1]
  return isKind && next?.text !== '(' && (next?.kind !== 'number' || tokens[kind + 2]?.text !== '/') ? kind + 1 : at
}
