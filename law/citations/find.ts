import { finish } from '#law/citations/extract/citations.ts'
import { isNumberedAnnex } from '#law/citations/extract/confidence.ts'
import { readFromAct } from '#law/citations/extract/from-act.ts'
import { readProvision } from '#law/citations/extract/provision.ts'
import { readShortNumber, readShortRule, readShortSeries } from '#law/citations/extract/short-form.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { isOfContract } from '#law/citations/names/non-statutory.ts'
import type { DesignatorKind } from '#law/citations/provisions/designators.ts'
import { readPrefixed } from '#law/citations/provisions/prefixed.ts'
import type { Citation, Reading } from './citation.ts'

/** Signs that a reference may begin with. */
const STARTING_SIGNS = new Set(['§', '§§', '('])
/** Kinds that are surely a provision where one of its parts stands before: `subsection (4) of section 45`. */
const CERTAIN_WITH_A_PART: ReadonlySet<DesignatorKind> = new Set([
  'schedule',
  'article',
  'section',
  'sign',
  'regulation',
])

/** Every citation of a text, in order and without overlap. */
export function findCitations(tokens: TokenStream, aliases: ActAliases, max: number): Citation[] {
  const citations: Citation[] = []
  let at = 0
  while (at < tokens.length && citations.length < max) {
    if (tokens.get(at)?.kind === 'sign' && !STARTING_SIGNS.has(tokens.text(at))) {
      at += 1
      continue
    }
    const reading =
      readPrefixedProvision(tokens, at, aliases) ??
      readFromAct(tokens, at, aliases) ??
      readProvision(tokens, at, at, undefined, aliases) ??
      readShortRule(tokens, at, aliases) ??
      readShortNumber(tokens, at, aliases) ??
      readShortSeries(tokens, at, aliases)
    citations.push(...(reading?.citations ?? []))
    at = Math.max(at + 1, reading?.end ?? 0)
  }
  const read = citations.slice(0, max).map((citation) => underOwnPart(citation, aliases))
  const kept = read.filter((citation) => !isSectionOfContract(citation))
  return kept.length === read.length || !isOfContract(tokens) ? read : kept
}

/** Contracts have fewer than a hundred sections. */
function isSectionOfContract({ kind, act, path }: Citation): boolean {
  return act === undefined && (kind === 'section' || kind === 'article') && /^\d{1,2}$/.test(path[0] ?? '')
}

/**
 * `§ 1003.4(a)` contains its part and so determines its act. That act replaces a missing one, another CFR act, and an
 * unresolved one (`HMDA 1003.4(a)`).
 */
function underOwnPart(citation: Citation, aliases: ActAliases): Citation {
  const [part = ''] = citation.path
  const isNumbered =
    citation.kind === 'section' || citation.kind === 'rule' || citation.kind === 'sign' || citation.kind === 'comment'
  const own = isNumbered && citation.pointed && /^\d{3,}$/.test(part) ? aliases.actOfPart(part) : undefined
  const isOther = citation.act === undefined || (/^(?:cfr:\d+\/|name:)/.test(citation.act) && citation.act !== own)
  return own !== undefined && isOther ? { ...citation, act: own } : citation
}

/** `point (f) of Article 6(1) GDPR`. */
function readPrefixedProvision(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const prefixed = readPrefixed(tokens, at)
  if (prefixed === undefined) return undefined
  const isCertain = CERTAIN_WITH_A_PART.has(prefixed.designator.kind) || isNumberedAnnex(tokens, prefixed.designator)
  return finish(tokens, prefixed.designator, prefixed.elements, undefined, aliases, isCertain ? 'certain' : 'needs act')
}
