import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import WORDS from '#law/citations/lexer/words.json' with { type: 'json' }
import { readDesignator } from './designators.ts'
import { readFirst, type Element, type Provisions } from './lists.ts'
import type { Part } from './numbers.ts'
import { readQualifier, readSibling, type Qualified } from './qualifiers.ts'

const OF = new Set(WORDS.before_outer.split(' '))
const OF_MAX = 6
const LEVELS_MAX = 3
const INNERMOST_MAX = 16

/**
 * Reads a provision whose innermost part comes first: `points (a) and (f) of Article 6(1)`, `Absatz 1 des § 433`,
 * `point (f) of paragraph 1 of Article 6`.
 */
export function readPrefixed(tokens: TokenStream, at: number): Provisions | undefined {
  const innermost = readInnermost(tokens, at)
  const [first] = innermost
  let index = innermost.at(-1)?.to
  if (first === undefined || index === undefined) return undefined
  const outer: Part[] = []
  for (let level = 0; level < LEVELS_MAX; level += 1) {
    // `para. 22 Schedule 36 FA 2004`, `khoản 1 Điều 5`: `of` may be missing.
    const isBare = readDesignator(tokens, index)?.kind === 'schedule' || tokens.reads(index, 'đieu')
    const next: number | undefined = afterOf(tokens, index) ?? (isBare ? index : undefined)
    if (next === undefined) return undefined
    const qualifier: Qualified | undefined = readQualifier(tokens, next)
    if (qualifier === undefined) return withDesignator(tokens, next, innermost, outer)
    outer.unshift(...qualifier.parts)
    index = qualifier.end
  }
  return undefined
}

function readInnermost(tokens: TokenStream, at: number): Element[] {
  const first = readQualifier(tokens, at)
  if (first === undefined) return []
  const found: Element[] = [{ from: at, to: first.end, parts: first.parts }]
  const keyword = first.parts[0]?.keyword ?? ''
  let index = first.end
  while (found.length < INNERMOST_MAX && tokens.reads(index, ',', 'and', 'or', 'und', 'oder', 'et', 'ou', 'to', '–')) {
    const connected =
      tokens.reads(index, ',') && tokens.reads(index + 1, 'and', 'or', 'und', 'oder') ? index + 2 : index + 1
    const sibling = readSibling(tokens, connected, keyword)
    if (sibling === undefined) break
    found.push({ from: connected, to: sibling.end, parts: sibling.parts })
    index = sibling.end
  }
  return found
}

function withDesignator(tokens: TokenStream, at: number, innermost: readonly Element[], outer: readonly Part[]) {
  const designator = readDesignator(tokens, at)
  const provision = designator && readFirst(tokens, designator)
  if (designator === undefined || provision === undefined || designator.kind === 'paragraph') return undefined
  const elements = innermost.map((part, index): Element => {
    const to = index === innermost.length - 1 ? provision.to : part.to
    return { parts: [...provision.parts, ...outer, ...part.parts], from: part.from, to }
  })
  return { designator: { ...designator, plural: true, capitalised: true }, elements }
}

/** Returns the position after `of the`, `des`, `de l'`. Undefined if there is no such word. */
export function afterOf(tokens: TokenStream, at: number): number | undefined {
  let index = at
  while (index < at + OF_MAX && OF.has(tokens.text(index))) index += 1
  return index === at ? undefined : index
}
