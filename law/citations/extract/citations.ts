import type { ActMention, Citation, Confidence, Reading } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { isContainer, readDesignator } from '#law/citations/provisions/designators.ts'
import type { Designator, DesignatorKind } from '#law/citations/provisions/designators.ts'
import { readList } from '#law/citations/provisions/lists.ts'
import type { Element } from '#law/citations/provisions/lists.ts'
import { readDesignation } from '#law/citations/provisions/numbers.ts'
import type { Part } from '#law/citations/provisions/numbers.ts'
import { readActAfter } from './act-after.ts'

/** Gives provisions the act after them, or the one before them; one of a non-statutory source is none. */
export function finish(
  tokens: TokenStream,
  designator: Designator,
  elements: readonly Element[],
  before: ActMention | undefined,
  aliases: ActAliases,
  confidence: Confidence,
  kind: Citation['kind'] = designator.kind,
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
  const kept = designator.plural ? elements : elements.slice(0, elements.findIndex((element) => element.alone) >>> 0)
  const end = kept.at(-1)?.to ?? last.to
  if (after?.kind === 'non-statutory' || isBody(tokens, end)) return { citations: [], end }
  return {
    citations: kept.flatMap((element) => citationsOf(tokens, element, designator, undefined, confidence, kind)),
    end,
  }
}

/** Provisions of one act, of which the first begins at `from`. */
export function withAct(
  tokens: TokenStream,
  elements: readonly Element[],
  designator: Designator,
  act: string,
  from: number,
  kind: Citation['kind'] = designator.kind,
): Reading | undefined {
  const [first, ...rest] = elements
  if (first === undefined) return undefined
  const citations = [{ ...first, from }, ...rest].flatMap((element) =>
    citationsOf(tokens, element, designator, act, 'certain', kind),
  )
  return { citations, end: elements.at(-1)?.to ?? from }
}

function extended(elements: readonly Element[], to: number): Element[] {
  return elements.map((element, index) => (index === elements.length - 1 ? { ...element, to } : element))
}

/** Returns one citation, or two for a range with a hyphen where numbers contain none. */
function citationsOf(
  tokens: TokenStream,
  element: Element,
  designator: Designator,
  act: string | undefined,
  confidence: Confidence,
  kind: Citation['kind'],
): Citation[] {
  const one = (from: number, to: number, parts: readonly Part[]): Citation => ({
    from,
    to,
    kind,
    path: pathOf(designator.kind, parts),
    act,
    confidence,
    pointed: parts[1]?.kind === 'main',
  })
  const main = element.parts[0]
  const [low, high] = main?.text.split('-') ?? []
  const isRange = element.hyphen && element.parts.length === 1 && hyphenIsRange(designator, act)
  if (main === undefined || low === undefined || high === undefined || !isRange)
    return [one(element.from, element.to, element.parts)]
  let joint = element.from + 1
  while (joint < element.to && !(tokens.reads(joint, '-') && tokens.reads(joint - 1, low))) joint += 1
  if (joint >= element.to) return [one(element.from, element.to, element.parts)]
  return [one(element.from, joint, [{ ...main, text: low }]), one(joint + 1, element.to, [{ ...main, text: high }])]
}

/** Returns the path of a provision: its folded parts, with the kind before the number of a container. */
function pathOf(kind: DesignatorKind, parts: readonly Part[]): string[] {
  const [first, ...rest] = parts.map((part) => part.text)
  if (first === undefined) return []
  return [isContainer(kind) ? `${kind}-${first}` : first, ...rest]
}

/** Whether a hyphen between two numbers is a range. In France and the United States it is part of one number. */
function hyphenIsRange({ plural, hyphenated }: Designator, act: string | undefined): boolean {
  // Sections of the Code of Federal Regulations have a point, so numbers without one are parts: `parts 1400-1499`.
  if (act !== undefined && /^cfr:\d+$/.test(act)) return act !== 'cfr:41'
  if (act !== undefined && !act.startsWith('name:')) return !/^(?:fr|usc|cfr):/.test(act)
  return plural && hyphenated !== true
}

/** Whether this act starts the next reference (`Rule 2.5, GEN 3.3`; `Article 5, DORA Article 28`). */
function ownsProvision(tokens: TokenStream, mention: ActMention, aliases: ActAliases): boolean {
  if (mention.code === true && (readDesignation(tokens, mention.end)?.parts.length ?? 0) >= 2) return true
  const designator = readDesignator(tokens, mention.end)
  return (
    designator !== undefined &&
    readList(tokens, { ...designator, plural: false }).length > 0 &&
    aliases.find(tokens, mention.end) === undefined
  )
}

/** `Article 29 Working Party`: a body named after a provision. */
function isBody(tokens: TokenStream, at: number): boolean {
  return tokens.reads(at, 'working') && tokens.reads(at + 1, 'party', 'group')
}
