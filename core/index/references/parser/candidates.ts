import type { ActMention } from './act-mention.ts'
import { readAct, readActAfter } from './acts.ts'
import type { ActAliases } from './aliases.ts'
import { familyOf } from './aliases.ts'
import { type Designator, type DesignatorKind, pathOf, readDesignator } from './designators.ts'
import { type Element, readList } from './list.ts'
import { type Part, readDesignation } from './numbers.ts'
import { readPrefixed } from './prefixed.ts'
import { isStrong } from './strength.ts'
import { reads, type Token } from './tokens.ts'
import { readComment } from './us.ts'

/** A possible reference: the positions of its first token and after its last, and the parsed content. */
export interface Candidate {
  readonly from: number
  readonly to: number
  readonly kind: DesignatorKind | 'act' | 'comment'
  readonly path: readonly string[]
  readonly act: string | undefined
  /** Counts as a provision even without an act. */
  readonly strong: boolean
  /** The first two parts are joined by a point (`1026.43`). */
  readonly pointed: boolean
}

interface Reading {
  readonly candidates: readonly Candidate[]
  readonly end: number
}

/** Signs that a reference may begin with. */
const STARTING_SIGNS = new Set(['§', '§§', '('])
const BETWEEN = new Set([',', ':', '(', '–', '-', "'", 's', 'in'])
const BETWEEN_MAX = 3

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
      readBareSeries(tokens, at, aliases)
    candidates.push(...(reading?.candidates ?? []))
    at = Math.max(at + 1, reading?.end ?? 0)
  }
  return candidates.slice(0, max).map((candidate) => underOwnPart(candidate, aliases))
}

/** `§ 1003.4(a)` contains its part and so determines its act. That act replaces a missing one or another CFR act. */
function underOwnPart(candidate: Candidate, aliases: ActAliases): Candidate {
  const [part = ''] = candidate.path
  const isNumbered = candidate.kind === 'section' || candidate.kind === 'sign' || candidate.kind === 'comment'
  const own = isNumbered && candidate.pointed && /^\d{3,}$/.test(part) ? aliases.actOfPart(part) : undefined
  const isOther = candidate.act === undefined || (/^cfr:\d+\//.test(candidate.act) && candidate.act !== own)
  return own !== undefined && isOther ? { ...candidate, act: own } : candidate
}

/** `point (f) of Article 6(1) GDPR`. */
function readPrefixedProvision(tokens: readonly Token[], at: number, aliases: ActAliases): Reading | undefined {
  const prefixed = readPrefixed(tokens, at)
  if (prefixed === undefined) return undefined
  return finish(
    tokens,
    prefixed.designator,
    prefixed.elements,
    undefined,
    aliases,
    prefixed.designator.kind === 'schedule',
  )
}

/** Reads a reference that starts with an act: `GDPR Art. 6`, `15 U.S.C. 1601`, `AML 8.3.3`, or the act alone. */
function readFromAct(tokens: readonly Token[], at: number, aliases: ActAliases): Reading | undefined {
  if (tokens[at]?.glued === true && tokens[at - 1]?.kind === 'word') return undefined
  const mention = readAct(tokens, at, aliases)
  if (mention === undefined) return undefined
  const alone: Candidate = {
    from: at,
    to: mention.end,
    kind: 'act',
    path: mention.path ?? [],
    act: mention.act,
    strong: true,
    pointed: false,
  }
  if (mention.path !== undefined) return { candidates: [alone], end: mention.end }
  if (mention.sections !== undefined) {
    const designator: Designator = {
      kind: 'section',
      plural: true,
      end: mention.sections,
      named: true,
      abbreviated: false,
    }
    return withAct(tokens, readList(tokens, designator), designator, mention.act, at)
  }
  const direct = readDirect(tokens, at, mention)
  if (direct !== undefined) return direct
  let place = mention.end
  for (let step = 0; step <= BETWEEN_MAX; step += 1, place += 1) {
    const reading = readProvision(tokens, place, at, mention, aliases)
    if (reading !== undefined) return reading
    if (!BETWEEN.has(tokens[place]?.text ?? '')) break
  }
  return mention.standing ? { candidates: [alone], end: mention.end } : undefined
}

/**
 * Reads the number after an act's name: `COBS 3.4.1`, `GDPR 6(1)(f)`. A single number is ambiguous and does not count.
 */
function readDirect(tokens: readonly Token[], from: number, mention: ActMention): Reading | undefined {
  const designator: Designator = {
    kind: familyOf(mention.act) === 'rulebook' ? 'rule' : 'section',
    plural: true,
    end: mention.end,
    named: true,
    abbreviated: false,
  }
  const designation = readDesignation(tokens, mention.end)
  const least = mention.code === true && mention.cased !== true ? 3 : 2
  if (designation === undefined || designation.parts.length < least) return undefined
  return withAct(tokens, readList(tokens, designator), designator, mention.act, from)
}

/**
 * Reads `7.1.1(1)(c)` without a designator: three numbers and a bracket are neither a version nor an amount. An unknown
 * code before it names an act that no table lists.
 */
function readBareRule(tokens: readonly Token[], at: number, aliases: ActAliases): Reading | undefined {
  if (tokens[at]?.kind !== 'number' || tokens[at].glued) return undefined
  const designation = readDesignation(tokens, at)
  const points = designation?.parts.filter((part) => part.kind === 'main').length ?? 0
  if (designation === undefined || points < 3 || points === designation.parts.length) return undefined
  const designator: Designator = { kind: 'rule', plural: false, end: at, named: true, abbreviated: false }
  const code = tokens[at - 1]?.raw ?? ''
  if (!/^\p{Lu}{2,}/u.test(code))
    return finish(tokens, designator, readList(tokens, designator), undefined, aliases, true)
  return /^\p{Lu}{2,6}$/u.test(code)
    ? withAct(tokens, readList(tokens, designator), designator, `name:${code.toLowerCase()}`, at - 1)
    : undefined
}

/** Reads `L. 3121-27 du code du travail` without the word article. It counts only with its act. */
function readBareSeries(tokens: readonly Token[], at: number, aliases: ActAliases): Reading | undefined {
  if (!/^[LRD]$/.test(tokens[at]?.raw ?? '')) return undefined
  const designator: Designator = { kind: 'article', plural: false, end: at, named: true, abbreviated: false }
  const [first, ...rest] = readList(tokens, designator)
  return first?.parts[0]?.text.includes('-') === true
    ? finish(tokens, designator, [first, ...rest], undefined, aliases, false)
    : undefined
}

/** Reads a designator with its numbers, and the act before or after them. */
function readProvision(
  tokens: readonly Token[],
  at: number,
  from: number,
  before: ActMention | undefined,
  aliases: ActAliases,
): Reading | undefined {
  const comment = readComment(tokens, at)
  if (comment !== undefined) {
    const element: Element = { parts: comment.parts, from: at, to: comment.end, hyphen: false, bare: false }
    return finish(tokens, commentDesignator(at), [{ ...element, from }], before, aliases, true, 'comment')
  }
  const designator = readDesignator(tokens, at)
  if (designator === undefined || (before?.code === true && before.cased !== true && designator.kind !== 'rule'))
    return undefined
  const [first, ...rest] = readList(tokens, designator)
  if (first === undefined) return undefined
  const strong = isStrong(tokens, at, designator, first)
  const reading = finish(tokens, designator, [{ ...first, from }, ...rest], before, aliases, strong)
  return before === undefined && reading !== undefined ? underInitials(tokens, at, designator, reading) : reading
}

/**
 * `CSDR Article 30`: initials directly before an article name its act, even if no table lists them. Before rules and
 * sections, initials name issuers as well.
 */
function underInitials(tokens: readonly Token[], at: number, designator: Designator, reading: Reading): Reading {
  const initials = tokens[at - 1]?.raw ?? ''
  if (designator.kind !== 'article' || !/^\p{Lu}{3,8}$/u.test(initials) || /^\p{Lu}{2}/u.test(tokens[at]?.raw ?? ''))
    return reading
  if (reading.candidates.some(({ act }) => act !== undefined)) return reading
  const act = `name:${initials.toLowerCase()}`
  return {
    ...reading,
    candidates: reading.candidates.map((candidate, place) => ({
      ...candidate,
      act,
      from: place === 0 ? at - 1 : candidate.from,
    })),
  }
}

function commentDesignator(at: number): Designator {
  return { kind: 'section', plural: false, end: at + 1, named: true, abbreviated: false }
}

function finish(
  tokens: readonly Token[],
  designator: Designator,
  elements: readonly Element[],
  before: ActMention | undefined,
  aliases: ActAliases,
  strong: boolean,
  kind: Candidate['kind'] = designator.kind,
): Reading | undefined {
  const last = elements.at(-1)
  if (last === undefined) return undefined
  const after = readActAfter(tokens, last.to, designator, aliases)
  const mention =
    after?.kind === 'act' && (after.linked || !ownsProvision(tokens, after.mention, aliases))
      ? after.mention
      : undefined
  if (before !== undefined && mention !== undefined) return undefined
  const act = before?.act ?? mention?.act
  if (act !== undefined)
    return withAct(tokens, extended(elements, mention?.end ?? last.to), designator, act, elements[0]?.from ?? 0, kind)
  const kept = designator.plural ? elements : elements.slice(0, elements.findIndex((element) => element.bare) >>> 0)
  const end = kept.at(-1)?.to ?? last.to
  if (after?.kind === 'other work' || isBody(tokens, end)) return { candidates: [], end }
  return {
    candidates: kept.flatMap((element) => candidatesOf(tokens, element, designator, undefined, strong, kind)),
    end,
  }
}

function withAct(
  tokens: readonly Token[],
  elements: readonly Element[],
  designator: Designator,
  act: string,
  from: number,
  kind: Candidate['kind'] = designator.kind,
): Reading | undefined {
  const [first, ...rest] = elements
  if (first === undefined) return undefined
  const candidates = [{ ...first, from }, ...rest].flatMap((element) =>
    candidatesOf(tokens, element, designator, act, true, kind),
  )
  return { candidates, end: elements.at(-1)?.to ?? from }
}

function extended(elements: readonly Element[], to: number): Element[] {
  return elements.map((element, index) => (index === elements.length - 1 ? { ...element, to } : element))
}

/** Returns one candidate, or two for a range with a hyphen where numbers contain none. */
function candidatesOf(
  tokens: readonly Token[],
  element: Element,
  designator: Designator,
  act: string | undefined,
  strong: boolean,
  kind: Candidate['kind'],
): Candidate[] {
  const one = (from: number, to: number, parts: readonly Part[]): Candidate => ({
    from,
    to,
    kind,
    path: pathOf(designator.kind, parts),
    act,
    strong,
    pointed: parts[1]?.kind === 'main',
  })
  const main = element.parts[0]
  const [low, high] = main?.text.split('-') ?? []
  const isRange =
    element.hyphen &&
    element.parts.length === 1 &&
    (act === undefined ? designator.plural : !/^(?:fr|usc|cfr):/.test(act))
  if (main === undefined || low === undefined || high === undefined || !isRange)
    return [one(element.from, element.to, element.parts)]
  const joint = tokens.findIndex(
    (token, place) => place > element.from && token.text === '-' && tokens[place - 1]?.text === low,
  )
  if (joint < 0 || joint >= element.to) return [one(element.from, element.to, element.parts)]
  return [one(element.from, joint, [{ ...main, text: low }]), one(joint + 1, element.to, [{ ...main, text: high }])]
}

/** Whether this act starts the next reference (`Rule 2.5, GEN 3.3`; `Article 5, DORA Article 28`). */
function ownsProvision(tokens: readonly Token[], mention: ActMention, aliases: ActAliases): boolean {
  if (mention.code === true && (readDesignation(tokens, mention.end)?.parts.length ?? 0) >= 2) return true
  const designator = readDesignator(tokens, mention.end)
  return (
    designator !== undefined &&
    readList(tokens, { ...designator, plural: false }).length > 0 &&
    aliases.find(tokens, mention.end) === undefined
  )
}

/** `Article 29 Working Party`: a body named after a provision. */
function isBody(tokens: readonly Token[], at: number): boolean {
  return reads(tokens, at, 'working') && reads(tokens, at + 1, 'party', 'group')
}
