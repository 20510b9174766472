import { familyOf } from '#law/citations/citation.ts'
import type { ActMention, Citation, Reading } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { readAct } from '#law/citations/names/acts.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { endOfNonStatutory } from '#law/citations/names/non-statutory.ts'
import { explainsDistantly, readUnresolvedBefore } from '#law/citations/names/unresolved.ts'
import { impliedDesignator } from '#law/citations/provisions/designators.ts'
import { readList } from '#law/citations/provisions/lists.ts'
import { readDesignation } from '#law/citations/provisions/numbers.ts'
import { withAct } from './citations.ts'
import { readProvision } from './provision.ts'
import { readShortRule, readSingleNumber } from './short-form.ts'

const BETWEEN = new Set([',', ':', '(', '–', '-', "'", 's', 'in'])
const BETWEEN_MAX = 3

/** Reads a reference that starts with an act: `GDPR Art. 6`, `15 U.S.C. 1601`, `AML 8.3.3`, or the act alone. */
export function readFromAct(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  if (tokens.isGlued(at) && tokens.isWord(at - 1)) return undefined
  const mention = readAct(tokens, at, aliases)
  if (mention === undefined) return readFromUnresolved(tokens, at, aliases)
  const alone: Citation = {
    from: at,
    to: mention.end,
    kind: 'act',
    path: mention.path ?? [],
    act: mention.act,
    confidence: 'certain',
    pointed: false,
  }
  if (mention.path !== undefined) return { citations: [alone], end: mention.end }
  if (mention.sections !== undefined) {
    const designator = impliedDesignator('section', mention.sections, true)
    return withAct(tokens, readList(tokens, designator), designator, mention.act, at)
  }
  const direct = readDirect(tokens, at, mention)
  if (direct !== undefined) return direct
  const reading = readProvisionAfter(tokens, at, mention, aliases)
  return reading ?? (mention.standalone ? { citations: [alone], end: mention.end } : undefined)
}

/** Reads the provision that follows an act, perhaps after a mark: `GDPR, Art. 6`, `EMIR's Article 9`. */
function readProvisionAfter(
  tokens: TokenStream,
  at: number,
  mention: ActMention,
  aliases: ActAliases,
): Reading | undefined {
  let index = mention.end
  for (let step = 0; step <= BETWEEN_MAX; step += 1, index += 1) {
    const reading = readProvision(tokens, index, at, mention, aliases)
    if (reading !== undefined) return reading
    if (!BETWEEN.has(tokens.text(index))) break
  }
  return undefined
}

/**
 * Reads a reference that starts with an unresolved act: `Solvency II Article 28`. A provision of a standard or
 * a contract is passed over. The name of an act alone is only the act of provisions elsewhere in the query.
 */
function readFromUnresolved(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const source = endOfNonStatutory(tokens, at)
  if (source !== undefined) return passedOver(tokens, source, aliases)
  const mention = readUnresolvedBefore(tokens, at, aliases)
  if (mention === undefined) return undefined
  const reading = readProvisionAfter(tokens, at, mention, aliases)
  if (reading !== undefined) return reading
  // A listed act within a longer name is read where it begins.
  if (mention.standalone) return undefined
  if (!explainsDistantly(tokens, at, mention)) return { citations: [], end: mention.end }
  const actAlone: Citation = {
    from: at,
    to: mention.end,
    kind: 'act',
    path: [],
    act: mention.act,
    confidence: 'needs act',
    pointed: false,
  }
  return { citations: [actAlone], end: mention.end }
}

/** The end of a source and of the provision after it, unless that provision has an act of its own. */
function passedOver(tokens: TokenStream, source: number, aliases: ActAliases): Reading {
  let index = source
  for (let step = 0; step <= BETWEEN_MAX; step += 1, index += 1) {
    const reading = readProvision(tokens, index, index, undefined, aliases) ?? readShortRule(tokens, index, aliases)
    if (reading !== undefined)
      return reading.citations.some(({ act }) => act !== undefined)
        ? { citations: [], end: source }
        : { citations: [], end: reading.end }
    if (!BETWEEN.has(tokens.text(index))) break
  }
  return { citations: [], end: source }
}

/**
 * Reads the number after an act's name: `COBS 3.4.1`, `GDPR 6(1)(f)`. A single number is ambiguous and counts only as
 * the chapter of a rulebook in capitals (`GEN 3`), or if the corpus holds it (`GDPR 17`).
 */
function readDirect(tokens: TokenStream, from: number, mention: ActMention): Reading | undefined {
  const kind = familyOf(mention.act) === 'rulebook' ? 'rule' : 'section'
  const designator = impliedDesignator(kind, mention.end, true)
  const designation = readDesignation(tokens, mention.end)
  if (designation === undefined || designation.parts.length < leastParts(tokens, mention))
    return readSingleNumber(tokens, from, mention)
  return withAct(tokens, readList(tokens, designator), designator, mention.act, from)
}

function leastParts(tokens: TokenStream, { code, cased, end }: ActMention): number {
  if (code !== true) return 2
  if (cased !== true) return 3
  const isChapter = /^\d{1,2}$/.test(tokens.text(end))
  return isChapter && /^\p{Lu}{3,}$/u.test(tokens.raw(end - 1)) ? 1 : 2
}
