import type { ActMention } from '#law/citations/citation.ts'
import { readEuAct } from '#law/citations/grammars/eu.ts'
import { readFrenchAct } from '#law/citations/grammars/fr.ts'
import { readUkAct } from '#law/citations/grammars/uk.ts'
import { readUsAct } from '#law/citations/grammars/us.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from './aliases.ts'

/** Reads the longest act mention that starts here. */
export function readAct(tokens: TokenStream, at: number, aliases: ActAliases): ActMention | undefined {
  let longest = aliases.find(tokens, at)
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
