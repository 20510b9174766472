import { referenceOf, resolveCitations } from '#law/citations/antecedents/resolve.ts'
import { rulebookPath, underRulebook } from '#law/citations/grammars/rulebook.ts'
import { lex } from '#law/citations/lexer/tokens.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { readAct } from '#law/citations/names/acts.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { familyOf } from './citation.ts'
import type { Reference } from './citation.ts'
import { findCitations } from './find.ts'

const CANONICAL = /^([a-z]{2,16}:[^\s#/][^\s#]*|\*)(?:#([^\s#]+))?$/
/** A label names one provision, perhaps after its act and its part. */
const CITATIONS_MAX = 8

/**
 * Returns the reference of a citation label or of a publisher's identifier: `12 CFR 1003.2(g)(1)`, `celex:32016R0679
 * art 6(1)(f)`, `BGB § 433`, `COBS 23.6.Guidance.2.`, an ELI, or a canonical form. Of several references it is the most
 * exact one with an act. Undefined if there is none.
 */
export function parseReference(label: string, aliases: ActAliases): Reference | undefined {
  const trimmed = label.trim()
  const canonical = CANONICAL.exec(trimmed)
  if (canonical !== null) return ofCanonical(canonical[1] ?? '', canonical[2], trimmed, aliases)
  const tokens = lex(trimmed)
  return ofRulebookLabel(trimmed, tokens, aliases) ?? mostExact(tokens, aliases)
}

function ofCanonical(act: string, path: string | undefined, label: string, aliases: ActAliases): Reference | undefined {
  const parts = path === undefined ? [] : path.split('/').filter((part) => part !== '')
  if (act === '*') return parts.length === 0 ? undefined : { act: undefined, path: parts }
  if (!act.startsWith('celex:')) return { act, path: parts }
  const parsed = mostExact(lex(act), aliases)
  return parsed?.act?.startsWith('celex:') === true
    ? { act: parsed.act, path: parts }
    : { act: label.split('#')[0] ?? act, path: parts }
}

function ofRulebookLabel(label: string, tokens: TokenStream, aliases: ActAliases): Reference | undefined {
  const mention = readAct(tokens, 0, aliases)
  if (mention === undefined || familyOf(mention.act) !== 'rulebook') return undefined
  const after = tokens.get(mention.end - 1)?.end ?? label.length
  return { act: mention.act, path: underRulebook(rulebookPath(label.slice(after))) }
}

function mostExact(tokens: TokenStream, aliases: ActAliases): Reference | undefined {
  let best: Reference | undefined
  for (const citation of resolveCitations(findCitations(tokens, aliases, CITATIONS_MAX), tokens).certain) {
    const reference = referenceOf(citation)
    if (best === undefined || rank(reference) > rank(best)) best = reference
  }
  return best
}

function rank(reference: Reference): number {
  return (reference.act === undefined ? 0 : 1000) + reference.path.length
}
