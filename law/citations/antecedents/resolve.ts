import type { Citation } from '#law/citations/citation.ts'
import { FUNCTION_WORD_FORMS, type TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import { isOfContract } from '#law/citations/names/non-statutory.ts'
import { isLegalNoun } from '#law/citations/names/nouns.ts'
import { referBack, takeActsByYear } from './backward.ts'
import { isStatement, takeOnlyAct, takeSameAct } from './distant.ts'
import { mergeContained, takeActOfNext, takeActOfPrevious, type Text } from './neighbours.ts'

/** Citations that count, and those that count only if the corpus holds them in one document. */
export interface Resolved {
  readonly certain: readonly Citation[]
  readonly ifHeld: readonly Citation[]
  /** These and those that are ambiguous. */
  readonly all: readonly Citation[]
}

/** Each step gives citations the act that their antecedents have. Later steps see the result of earlier ones. */
const STEPS: readonly ((citations: readonly Citation[], text: Text) => readonly Citation[])[] = [
  // The number of a section has its part: `§ 1003.4(a)`.
  takeActOfPart,
  dropSectionsOfContract,
  // `Chapter 2 of Part 1 of the Data Act`.
  mergeContained,
  // `section 5 of the 1998 Act`, `Article 34 of that Regulation`.
  takeActsByYear,
  referBack,
  // `Article 5 and Article 6 GDPR`, `section 4 of the Data Act and section 5`.
  takeActOfNext,
  takeActOfPrevious,
  // A statement gives acts to parts of the same provision, a question its only act to all.
  takeSameAct,
  takeOnlyAct,
]

/**
 * Resolves what refers back: provisions without an act take the act of their antecedent. That act then no longer counts
 * by itself, and other provisions that remain ambiguous are dropped. A text that states law, or that names an act, has
 * no citations that count only if the corpus holds them in one document.
 */
export function resolveCitations(found: readonly Citation[], tokens: TokenStream, aliases: ActAliases): Resolved {
  const text = { tokens, aliases, states: isStatement(tokens) }
  const resolved = STEPS.reduce((citations, step) => step(citations, text), found)
  const given = new Set(resolved.flatMap(({ act, isInferred }) => (isInferred === true ? [act] : [])))
  const certain = resolved.filter((citation) => {
    const { kind, act, confidence } = citation
    if (confidence === 'if held' || (confidence !== 'certain' && (kind === 'act' || act === undefined))) return false
    return kind !== 'act' || (!given.has(act) && !(text.states && isAttributive(citation, tokens)))
  })
  const mayHold = !text.states && resolved.every(({ act }) => act === undefined)
  const ifHeld = resolved.filter(({ confidence, scope }) =>
    confidence === 'if held' ? !text.states : mayHold && confidence === 'if held once' && scope !== 'self-citation',
  )
  return { certain, ifHeld, all: resolved }
}

/**
 * `§ 1003.4(a)` contains its part and so determines its act. That act replaces a missing one, another CFR act, and an
 * unresolved one (`HMDA 1003.4(a)`).
 */
function takeActOfPart(citations: readonly Citation[], { aliases }: Text): readonly Citation[] {
  return citations.map((citation) => {
    const { kind, act, path, pointed } = citation
    const isNumbered = pointed && /^(?:section|rule|sign|comment)$/.test(kind) && /^\d{3,}$/.test(path[0] ?? '')
    const own = isNumbered ? aliases.actOfPart(path[0] ?? '') : undefined
    return own !== undefined && /^(?:cfr:\d+\/|name:|$)/.test(act ?? '') ? { ...citation, act: own } : citation
  })
}

/** Contracts have fewer than a hundred sections. */
function dropSectionsOfContract(citations: readonly Citation[], { tokens }: Text): readonly Citation[] {
  const kept = citations.filter(
    ({ kind, act, path }) =>
      act !== undefined || !/^(?:section|article)$/.test(kind) || !/^\d{1,2}$/.test(path[0] ?? ''),
  )
  return kept.length === citations.length || !isOfContract(tokens) ? citations : kept
}

/** `CBAM certificates`, `CRR-Kreditinstitute`: initials before a noun name what the act is about. */
function isAttributive({ from, to }: Citation, tokens: TokenStream): boolean {
  if (to !== from + 1 || !/^\p{Lu}{2,}$/u.test(tokens.raw(from))) return false
  if (tokens.reads(to, '-')) return tokens.isGlued(to) && tokens.isGlued(to + 1) && tokens.isWord(to + 1)
  const next = tokens.text(to)
  return /^\p{L}{3,}$/u.test(next) && !FUNCTION_WORD_FORMS.has(next) && !isLegalNoun(next)
}
