import type { ActMention, Citation, Confidence, Reading } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { isContainer, type Designator } from '#law/citations/provisions/designators.ts'
import type { Element, Provisions } from '#law/citations/provisions/lists.ts'
import type { Part } from '#law/citations/provisions/numbers.ts'
import { readActAfter } from './act-after.ts'

/** Cites provisions of the act before or after them; one of a non-statutory source is no citation. */
export function cite(
  tokens: TokenStream,
  { designator, elements }: Provisions,
  before: ActMention | undefined,
  aliases: ActAliases,
  confidence: Confidence,
): Reading | undefined {
  const [first, last] = [elements[0], elements.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const after = readActAfter(tokens, last.to, designator, aliases)
  const mention = after === 'non-statutory' ? undefined : after
  if (before !== undefined && mention !== undefined) return undefined
  const act = before?.act ?? mention?.act
  if (act !== undefined) {
    const extended = [...elements.slice(0, -1), { ...last, to: mention?.end ?? last.to }]
    return citeInAct(tokens, { designator, elements: extended }, act, first.from)
  }
  const kept = designator.plural ? elements : elements.slice(0, elements.findIndex(({ alone }) => alone) >>> 0)
  const end = kept.at(-1)?.to ?? last.to
  // `Article 29 Working Party`: a body named after a provision.
  const isBody = tokens.reads(end, 'working') && tokens.reads(end + 1, 'party', 'group')
  if (after === 'non-statutory' || isBody) return { citations: [], end }
  return { citations: kept.flatMap((element) => citationsOf(tokens, element, designator, undefined, confidence)), end }
}

/** Cites provisions of a known act, of which the first begins at `from`. */
export function citeInAct(tokens: TokenStream, { designator, elements }: Provisions, act: string, from: number) {
  const [first, ...rest] = elements
  if (first === undefined) return undefined
  const citations = [{ ...first, from }, ...rest].flatMap((element) =>
    citationsOf(tokens, element, designator, act, 'certain'),
  )
  return { citations, end: elements.at(-1)?.to ?? from }
}

/** Returns one citation, or two for a range with a hyphen where numbers contain none. */
function citationsOf(
  tokens: TokenStream,
  element: Element,
  designator: Designator,
  act: string | undefined,
  confidence: Confidence,
): Citation[] {
  const { kind } = designator
  const one = (start: number, end: number, [number, ...rest]: readonly Part[]): Citation => {
    // `annex-3`: the kind of a container is part of its number.
    const named = designator.taught ?? (isContainer(kind) ? kind : undefined)
    const first = number === undefined ? [] : [named === undefined ? number.text : `${named}-${number.text}`]
    const path = [...first, ...rest.map(({ text }) => text)]
    return { from: start, to: end, kind, path, act, confidence, pointed: rest[0]?.kind === 'main' }
  }
  const { from, to, parts, hyphen } = element
  const [main, below] = parts
  const [low, high] = main?.text.split('-') ?? []
  const ascends = Number.parseInt(low ?? '', 10) < Number.parseInt(high ?? '', 10)
  // `16 U.S.C. 1531-1544`, but `78j-1`.
  const isLong = /^\d{3,}-\d{3,}$/.test(main?.text ?? '') && act?.startsWith('usc:') === true
  const isRange = hyphen === true && below === undefined && ascends && (isLong || hyphenIsRange(designator, act))
  if (isRange && main !== undefined && low !== undefined && high !== undefined)
    for (let joint = from + 1; joint < to; joint += 1)
      if (tokens.reads(joint, '-') && tokens.reads(joint - 1, low))
        return [one(from, joint, [{ ...main, text: low }]), one(joint + 1, to, [{ ...main, text: high }])]
  return [one(from, to, parts)]
}

/** Whether a hyphen between two numbers is a range. In France and the United States it is part of one number. */
function hyphenIsRange({ plural, hyphenated, ranged }: Designator, act: string | undefined): boolean {
  if (ranged === true) return true
  // Sections of the Code of Federal Regulations have a point, so numbers without one are parts: `parts 1400-1499`.
  if (act !== undefined && /^cfr:\d+$/.test(act)) return act !== 'cfr:41'
  if (act !== undefined && !act.startsWith('name:')) return !/^(?:fr|usc|cfr):/.test(act)
  return plural && hyphenated !== true
}
