import type { Citation } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { Text } from './neighbours.ts'

/** Nouns of a backward reference (`of that Regulation`), and the letter of the CELEX numbers that they mean. */
const BACKWARD_NOUNS: Readonly<Record<string, RegExp>> = {
  R: /^(?:regulations?|verordnung|reglement)$/,
  L: /^(?:directives?|richtlinie)$/,
  D: /^(?:decision|beschlusses)$/,
  H: /^recommendation$/,
  1: /^treaty$/,
  '': /^(?:code|act|law|order|convention|loi)$/,
}

/** Acts by their year alone become the act of that year that the text names: `section 5 of the 1998 Act`. */
export function takeActsByYear(citations: readonly Citation[]): readonly Citation[] {
  const acts = new Set(citations.flatMap(({ act }) => act ?? []))
  return citations.map((citation) => {
    const { act } = citation
    const year = /^name:(\d{4})-[a-z]+$/.exec(act ?? '')?.[1]
    if (year === undefined) return citation
    const [only, another] = [...acts].filter((other) => other !== act && yearOf(other) === year)
    return only === undefined || another !== undefined ? citation : { ...citation, act: only }
  })
}

function yearOf(act: string): string | undefined {
  return /^(?:name:.*-(\d{4})$|(?:ukpga|uksi):(\d{4})\/)/
    .exec(act)
    ?.slice(1)
    .find((year) => year !== undefined)
}

/** Gives provisions `of that Regulation` the nearest act before them that is of this type. */
export function referBack(citations: readonly Citation[], { tokens }: Text): readonly Citation[] {
  const resolved: Citation[] = []
  for (const citation of citations) {
    const isOpen = citation.act === undefined && citation.kind !== 'act'
    const act = isOpen ? backwardAct(citation, resolved, tokens) : undefined
    if (act === undefined) resolved.push(citation)
    else {
      // `Artikeln 19 bis 26 dieser Verordnung`: the items before the last are no self-citations either.
      for (let at = resolved.length - 1; resolved[at]?.scope === 'self-citation'; at -= 1)
        resolved.splice(at, 1, ...resolved.slice(at, at + 1).map((each) => ({ ...each, scope: undefined })))
      resolved.push({ ...citation, act, isInferred: true, scope: undefined })
    }
  }
  return resolved
}

function backwardAct(citation: Citation, before: readonly Citation[], tokens: TokenStream): string | undefined {
  const type = backwardType(tokens, citation.to)
  return type === undefined
    ? actOfException(citation, before.at(-1), tokens)
    : before.findLast(({ act }) => isOfType(act, type))?.act
}

/** The letter of the act's type that `of that Regulation` after a provision refers back to; '' for any act. */
function backwardType(tokens: TokenStream, end: number): string | undefined {
  if (tokens.reads(end, 'thereof')) return ''
  const from = tokens.skip(end, ',')
  const of = tokens.skip(from, 'of', 'to', 'in', 'de', 'du')
  const isBackward =
    (of > from && tokens.reads(of, 'that', 'those', 'meme')) || (of === end && tokens.reads(of, 'dieser'))
  if (!isBackward) return undefined
  return Object.entries(BACKWARD_NOUNS).find(([, nouns]) => nouns.test(tokens.text(of + 1)))?.[0]
}

/** `the second book of the HGB, with the exception of § 5`: the act that is named before it. */
function actOfException({ from }: Citation, before: Citation | undefined, tokens: TokenStream): string | undefined {
  const isGerman = tokens.reads(from - 1, 'der', 'des', 'von') && tokens.reads(from - 2, 'ausnahme')
  const isException = isGerman || (tokens.reads(from - 1, 'of') && tokens.reads(from - 2, 'exception'))
  return isException && before?.kind === 'act' ? before.act : undefined
}

function isOfType(act: string | undefined, type: string): boolean {
  const [, sector, letters] = /^celex:(\d)\d{4}([A-Z]+)/.exec(act ?? '') ?? []
  return act !== undefined && (sector === undefined || type === '' || letters === type || sector === type)
}
