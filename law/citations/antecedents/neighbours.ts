import { mayHave, type Citation } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'
import WORDS from '#law/citations/lexer/words.json' with { type: 'json' }

/** A text, and whether it states law rather than asks about it. */
export interface Text {
  readonly tokens: TokenStream
  readonly aliases: ActAliases
  readonly states: boolean
}

/** Tokens allowed between two provisions of one act: `and`, `i.V.m.`, `read with`. */
const JOINING = new Set(WORDS.joining.split(' '))
const JOINING_MAX = 8
/** Provisions that have a number of their own in the act, whatever chapter they are in. */
export const INDEPENDENTLY_NUMBERED = /^(?:article|section|sign|rule|regulation)$/
const CONTAINING = /^(?:part|chapter|title|schedule|annex|appendix)$/
/** Containers that count their provisions anew: article 3 of an annex is not article 3 of its act. */
const COUNTING_ANEW = /^(?:schedule|annex|appendix)$/

/** Gives a provision without an act this one, if acts of its kind have such provisions. */
export function takeAct(citation: Citation, act: string | undefined): Citation {
  if (act === undefined || citation.act !== undefined || citation.scope === 'self-citation') return citation
  const { kind } = citation
  const fits = act.startsWith('name:') ? !/^(?:act|rule|paragraph)$/.test(kind) : mayHave(act, kind)
  return fits ? { ...citation, act, isInferred: true } : citation
}

/** The act of a provision; of `12 CFR 1026.61` part 1026 of the title. */
export function actOf({ act, pointed, path: [part = ''] }: Citation): string | undefined {
  return act !== undefined && pointed && /^cfr:\d+$/.test(act) ? `${act}/${part}` : act
}

/** `Chapter 2 of Part 1 of the Data Act`, `Article 3 of Annex II`, `Annex II, Article 3` are one provision of their act. */
export function mergeContained(citations: readonly Citation[], { tokens }: Text): readonly Citation[] {
  const merged: Citation[] = []
  for (const inner of citations.toReversed()) {
    const outer = merged.at(-1)
    if (outer !== undefined && isHeaded(inner, outer, tokens)) {
      // `Annex II, Article 3`: the container comes first.
      const path = [...inner.path, ...outer.path]
      const act = outer.act ?? inner.act
      const confidence = act === undefined ? inner.confidence : 'certain'
      merged[merged.length - 1] = { ...outer, from: inner.from, path, act, kind: inner.kind, confidence }
    } else if (outer === undefined || !isContained(inner, outer, tokens)) merged.push(inner)
    else {
      const isApart = INDEPENDENTLY_NUMBERED.test(inner.kind) && !COUNTING_ANEW.test(outer.kind)
      const path = isApart ? inner.path : [...outer.path, ...inner.path]
      const { act, to, kind } = outer
      const confidence = act === undefined ? inner.confidence : 'certain'
      merged[merged.length - 1] = {
        ...inner,
        path,
        act,
        to,
        isInferred: true,
        confidence,
        ...(isApart ? {} : { kind }),
      }
    }
  }
  return merged.toReversed()
}

/** Whether a container stands before a provision of its own. Behind a comma, a section sign begins another item. */
function isHeaded(outer: Citation, inner: Citation, tokens: TokenStream): boolean {
  if (!COUNTING_ANEW.test(outer.kind) || !/^(?:article|section|sign|rule|regulation|paragraph)$/.test(inner.kind))
    return false
  if (outer.act !== undefined && inner.act !== undefined && outer.act !== inner.act) return false
  if (inner.from === outer.to) return inner.kind === 'paragraph'
  return inner.kind !== 'sign' && inner.from === outer.to + 1 && tokens.reads(outer.to, ',')
}

function isContained(inner: Citation, outer: Citation, tokens: TokenStream): boolean {
  const isUnnamed =
    outer.act === undefined && !(COUNTING_ANEW.test(outer.kind) && /^(?:article|sign|paragraph)$/.test(inner.kind))
  if (isUnnamed || !CONTAINING.test(outer.kind) || inner.act !== undefined) return false
  if (COUNTING_ANEW.test(outer.kind) && outer.from === inner.to && inner.kind !== 'act') return inner.path.length > 0
  const of = tokens.skip(inner.to, 'of', 'to', 'du', 'des', 'der', 'in', 'de')
  return of > inner.to && (outer.from === of || outer.from === tokens.skip(tokens.skip(of, 'the', 'l', 'la'), "'"))
}

/** `Article 5 and Article 6 GDPR`: provisions take the act of the next one that is joined to them. */
export function takeActOfNext(citations: readonly Citation[], { tokens }: Text): readonly Citation[] {
  return takeActs(citations.toReversed(), (citation, next) => areJoined(citation, next, tokens)).toReversed()
}

/** `section 4 of the Data Act and section 5`: provisions take the act of the one before that they are joined to. */
export function takeActOfPrevious(citations: readonly Citation[], { tokens }: Text): readonly Citation[] {
  return takeActs(
    citations,
    (citation, before) => areJoined(before, citation, tokens) && !startsNewCitation(citation, before, tokens),
  )
}

/** Each citation may take the act of the one before it, which may have taken its own. */
function takeActs(citations: readonly Citation[], takes: (citation: Citation, neighbour: Citation) => boolean) {
  const resolved: Citation[] = []
  for (const citation of citations) {
    const neighbour = resolved.at(-1)
    const isTaken = neighbour !== undefined && neighbour.kind !== 'act' && takes(citation, neighbour)
    resolved.push(isTaken ? takeActOfNeighbour(citation, neighbour) : citation)
  }
  return resolved
}

function takeActOfNeighbour(citation: Citation, neighbour: Citation): Citation {
  // `§ 312d in Verbindung mit Artikel 246a EGBGB`: an act is cited by articles or by sections, not by both.
  const isAnnex = citation.kind === 'annex' || neighbour.kind === 'annex'
  if (citation.kind !== neighbour.kind && !isAnnex && neighbour.act?.startsWith('de:') === true) return citation
  return takeAct(citation, citation.kind === 'comment' ? actOf(neighbour) : neighbour.act)
}

/** `§ 3 des Beispielgesetzes, §§ 240, 261`, `… oder des § 20`: what follows is not one of the act before it. */
function startsNewCitation({ from }: Citation, { act, kind }: Citation, tokens: TokenStream): boolean {
  // `Pub. L. 109–135, title IV, § 401`: the section of a title is one of its act.
  if (CONTAINING.test(kind)) return false
  return /^(?:name|de):/.test(act ?? '') && tokens.reads(from - 1, ',', 'des', 'der', 'den', 'dem')
}

function areJoined(left: Citation, right: Citation, tokens: TokenStream): boolean {
  if (right.from - left.to > JOINING_MAX) return false
  return tokens.slice(left.to, right.from).every(({ text }) => JOINING.has(text))
}
