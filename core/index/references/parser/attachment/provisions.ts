import { readComments } from '#core/index/references/parser/grammars/us.ts'
import { readDesignator, impliedDesignator } from '#core/index/references/parser/lexer/designators.ts'
import type { Designator, DesignatorKind } from '#core/index/references/parser/lexer/designators.ts'
import { readList } from '#core/index/references/parser/lexer/lists.ts'
import type { Element } from '#core/index/references/parser/lexer/lists.ts'
import { readDesignation } from '#core/index/references/parser/lexer/numbers.ts'
import { readPrefixed } from '#core/index/references/parser/lexer/prefixed.ts'
import type { Token } from '#core/index/references/parser/lexer/tokens.ts'
import { familyOf } from '#core/index/references/parser/names/act.ts'
import type { ActMention } from '#core/index/references/parser/names/act.ts'
import { readAct } from '#core/index/references/parser/names/acts.ts'
import type { ActAliases } from '#core/index/references/parser/names/aliases.ts'
import {
  belongsToOwnText,
  endOfOtherWork,
  isOfContract,
  isOfOwnText,
} from '#core/index/references/parser/names/other-works.ts'
import { explainsDistantly, readUnlistedBefore } from '#core/index/references/parser/names/unlisted.ts'
import { readBareNumber, readBareRule, readBareSeries, readSingleNumber } from './bare.ts'
import { finish, withAct } from './candidates.ts'
import type { Candidate, Reading } from './candidates.ts'
import { confidenceOf, isNumberedAnnex, isOfAnAct } from './confidence.ts'

/** Signs that a reference may begin with. */
const STARTING_SIGNS = new Set(['§', '§§', '('])
const BETWEEN = new Set([',', ':', '(', '–', '-', "'", 's', 'in'])
const BETWEEN_MAX = 3
/** Kinds that are surely a provision where one of its parts stands before: `subsection (4) of section 45`. */
const CERTAIN_WITH_A_PART: ReadonlySet<DesignatorKind> = new Set([
  'schedule',
  'article',
  'section',
  'sign',
  'regulation',
])

/** Every candidate of a text, in order and without overlap. */
export function readCandidates(tokens: readonly Token[], aliases: ActAliases, max: number): Candidate[] {
  const candidates: Candidate[] = []
  let at = 0
  while (at < tokens.length && candidates.length < max) {
    if (tokens[at]?.kind === 'sign' && !STARTING_SIGNS.has(tokens[at]?.text ?? '')) {
      at += 1
      continue
    }
    const reading =
      readPrefixedProvision(tokens, at, aliases) ??
      readFromAct(tokens, at, aliases) ??
      readProvision(tokens, at, at, undefined, aliases) ??
      readBareRule(tokens, at, aliases) ??
      readBareNumber(tokens, at, aliases) ??
      readBareSeries(tokens, at, aliases)
    candidates.push(...(reading?.candidates ?? []))
    at = Math.max(at + 1, reading?.end ?? 0)
  }
  const read = candidates.slice(0, max).map((candidate) => underOwnPart(candidate, aliases))
  const kept = read.filter((candidate) => !isSectionOfContract(candidate))
  return kept.length === read.length || !isOfContract(tokens) ? read : kept
}

/** Contracts have fewer than a hundred sections. */
function isSectionOfContract({ kind, act, path }: Candidate): boolean {
  return act === undefined && (kind === 'section' || kind === 'article') && /^\d{1,2}$/.test(path[0] ?? '')
}

/**
 * `§ 1003.4(a)` contains its part and so determines its act. That act replaces a missing one, another CFR act, and one
 * that no table lists (`HMDA 1003.4(a)`).
 */
function underOwnPart(candidate: Candidate, aliases: ActAliases): Candidate {
  const [part = ''] = candidate.path
  const isNumbered =
    candidate.kind === 'section' ||
    candidate.kind === 'rule' ||
    candidate.kind === 'sign' ||
    candidate.kind === 'comment'
  const own = isNumbered && candidate.pointed && /^\d{3,}$/.test(part) ? aliases.actOfPart(part) : undefined
  const isOther = candidate.act === undefined || (/^(?:cfr:\d+\/|name:)/.test(candidate.act) && candidate.act !== own)
  return own !== undefined && isOther ? { ...candidate, act: own } : candidate
}

/** `point (f) of Article 6(1) GDPR`. */
function readPrefixedProvision(tokens: readonly Token[], at: number, aliases: ActAliases): Reading | undefined {
  const prefixed = readPrefixed(tokens, at)
  if (prefixed === undefined) return undefined
  const isCertain = CERTAIN_WITH_A_PART.has(prefixed.designator.kind) || isNumberedAnnex(tokens, prefixed.designator)
  return finish(tokens, prefixed.designator, prefixed.elements, undefined, aliases, isCertain ? 'certain' : 'needs act')
}

/** Reads a reference that starts with an act: `GDPR Art. 6`, `15 U.S.C. 1601`, `AML 8.3.3`, or the act alone. */
function readFromAct(tokens: readonly Token[], at: number, aliases: ActAliases): Reading | undefined {
  if (tokens[at]?.glued === true && tokens[at - 1]?.kind === 'word') return undefined
  const mention = readAct(tokens, at, aliases)
  if (mention === undefined) return readFromUnlisted(tokens, at, aliases)
  const alone: Candidate = {
    from: at,
    to: mention.end,
    kind: 'act',
    path: mention.path ?? [],
    act: mention.act,
    confidence: 'certain',
    pointed: false,
  }
  if (mention.path !== undefined) return { candidates: [alone], end: mention.end }
  if (mention.sections !== undefined) {
    const designator = impliedDesignator('section', mention.sections, true)
    return withAct(tokens, readList(tokens, designator), designator, mention.act, at)
  }
  const direct = readDirect(tokens, at, mention)
  if (direct !== undefined) return direct
  const reading = readProvisionAfter(tokens, at, mention, aliases)
  return reading ?? (mention.standalone ? { candidates: [alone], end: mention.end } : undefined)
}

/** Reads the provision that follows an act, perhaps after a mark: `GDPR, Art. 6`, `EMIR's Article 9`. */
function readProvisionAfter(
  tokens: readonly Token[],
  at: number,
  mention: ActMention,
  aliases: ActAliases,
): Reading | undefined {
  let index = mention.end
  for (let step = 0; step <= BETWEEN_MAX; step += 1, index += 1) {
    const reading = readProvision(tokens, index, at, mention, aliases)
    if (reading !== undefined) return reading
    if (!BETWEEN.has(tokens[index]?.text ?? '')) break
  }
  return undefined
}

/**
 * Reads a reference that starts with an act that no table lists: `Solvency II Article 28`. A provision of a standard or
 * a contract is passed over. The name of an act alone needs provisions: it counts only for provisions elsewhere in the query.
 */
function readFromUnlisted(tokens: readonly Token[], at: number, aliases: ActAliases): Reading | undefined {
  const work = endOfOtherWork(tokens, at)
  if (work !== undefined) return passedOver(tokens, work, aliases)
  const mention = readUnlistedBefore(tokens, at, aliases)
  if (mention === undefined) return undefined
  const reading = readProvisionAfter(tokens, at, mention, aliases)
  if (reading !== undefined) return reading
  // A listed act within a longer name is read where it begins.
  if (mention.standalone) return undefined
  if (!explainsDistantly(tokens, at, mention)) return { candidates: [], end: mention.end }
  const actAlone: Candidate = {
    from: at,
    to: mention.end,
    kind: 'act',
    path: [],
    act: mention.act,
    confidence: 'needs act',
    pointed: false,
  }
  return { candidates: [actAlone], end: mention.end }
}

/** The end of a work and of the provision after it, unless that provision has an act of its own. */
function passedOver(tokens: readonly Token[], work: number, aliases: ActAliases): Reading {
  let index = work
  for (let step = 0; step <= BETWEEN_MAX; step += 1, index += 1) {
    const reading = readProvision(tokens, index, index, undefined, aliases) ?? readBareRule(tokens, index, aliases)
    if (reading !== undefined)
      return reading.candidates.some(({ act }) => act !== undefined)
        ? { candidates: [], end: work }
        : { candidates: [], end: reading.end }
    if (!BETWEEN.has(tokens[index]?.text ?? '')) break
  }
  return { candidates: [], end: work }
}

/**
 * Reads the number after an act's name: `COBS 3.4.1`, `GDPR 6(1)(f)`. A single number is ambiguous and counts only as
 * the chapter of a rulebook in capitals (`GEN 3`), or if the corpus holds it (`GDPR 17`).
 */
function readDirect(tokens: readonly Token[], from: number, mention: ActMention): Reading | undefined {
  const kind = familyOf(mention.act) === 'rulebook' ? 'rule' : 'section'
  const designator = impliedDesignator(kind, mention.end, true)
  const designation = readDesignation(tokens, mention.end)
  if (designation === undefined || designation.parts.length < leastParts(tokens, mention))
    return readSingleNumber(tokens, from, mention)
  return withAct(tokens, readList(tokens, designator), designator, mention.act, from)
}

function leastParts(tokens: readonly Token[], { code, cased, end }: ActMention): number {
  if (code !== true) return 2
  if (cased !== true) return 3
  const isChapter = /^\d{1,2}$/.test(tokens[end]?.text ?? '')
  return isChapter && /^\p{Lu}{3,}$/u.test(tokens[end - 1]?.raw ?? '') ? 1 : 2
}

/** Reads a designator with its numbers, and the act before or after them. */
function readProvision(
  tokens: readonly Token[],
  at: number,
  from: number,
  before: ActMention | undefined,
  aliases: ActAliases,
): Reading | undefined {
  const [comment, ...comments] = readComments(tokens, at)
  if (comment !== undefined) {
    const elements = comments.map(({ parts, from: start, end }): Element => {
      return { parts, from: start, to: end, hyphen: false, bare: false }
    })
    const first: Element = { parts: comment.parts, from, to: comment.end, hyphen: false, bare: false }
    return finish(
      tokens,
      impliedDesignator('section', at + 1),
      [first, ...elements],
      before,
      aliases,
      'certain',
      'comment',
    )
  }
  const designator = readDesignator(tokens, at)
  if (designator === undefined || (before?.code === true && before.cased !== true && designator.kind !== 'rule'))
    return undefined
  const [first, ...rest] = readList(tokens, designator)
  if (first === undefined) return undefined
  if (before === undefined && isOfOwnText(tokens, at)) return { candidates: [], end: (rest.at(-1) ?? first).to }
  const end = (rest.at(-1) ?? first).to
  const confidence = confidenceOf(tokens, at, designator, [first, ...rest])
  const reading = finish(tokens, designator, [{ ...first, from }, ...rest], before, aliases, confidence)
  if (before !== undefined || reading === undefined) return reading
  const scope = scopeOf(tokens, end, designator)
  return { ...reading, candidates: reading.candidates.map((candidate) => ({ ...candidate, scope })) }
}

function scopeOf(tokens: readonly Token[], end: number, designator: Designator): Candidate['scope'] {
  if (belongsToOwnText(tokens, end)) return 'own text'
  return isOfAnAct(tokens, end, designator) ? 'an act' : undefined
}
