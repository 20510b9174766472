import { READER_BOUNDS } from './bounds.ts'
import type { Omitted, Provision } from './document.ts'
import { withoutSpace } from './text.ts'
import { xpathOf, type MarkupTree } from './tree.ts'

/** How much of a body lies in exactly one passage or in one named omission; white space does not count. */
export interface Coverage {
  readonly characters: number
  /** By rule of the omission; `passages` are the texts of passages. */
  readonly by: Readonly<Record<string, number>>
  /** What lies in none, or in several. */
  readonly remainder: readonly { readonly line: number; readonly xpath: string; readonly text: string }[]
  readonly uncovered: number
}

const PASSAGES = 'passages'

/** Share of the characters that are covered, from 0 to 1. */
export function shareOf({ characters, uncovered }: Pick<Coverage, 'characters' | 'uncovered'>): number {
  return characters === 0 ? 1 : (characters - uncovered) / characters
}

/** Counts each character of the tree against the passages and omissions that hold it. */
export function coverageOf(
  tree: Pick<MarkupTree, 'texts'>,
  provisions: readonly Provision[],
  omitted: readonly Omitted[],
): Coverage {
  const joined = tree.texts.map(({ value }) => value).join('')
  const holders = new Uint8Array(joined.length)
  const by: Record<string, number> = {}
  const claims = [
    ...provisions.flatMap(({ pieces }) => pieces.map(({ from, to }) => ({ from, to, rule: PASSAGES }))),
    ...omitted,
  ]
  for (const { from, to } of claims) for (let at = from; at < to; at += 1) holders[at] = (holders[at] ?? 0) + 1
  for (const { rule, from, to } of claims) by[rule] = (by[rule] ?? 0) + withoutSpace(joined.slice(from, to)).length
  let [characters, uncovered] = [0, 0]
  const remainder: { line: number; xpath: string; text: string }[] = []
  for (const text of tree.texts) {
    let missed = ''
    characters += withoutSpace(text.value).length
    for (let at = 0; at < text.value.length; at += 1) {
      const isHeld = holders[text.start + at] === 1
      if (isHeld && missed === '') continue
      if (/\s/.test(text.value.charAt(at))) {
        if (missed !== '') missed += ' '
      } else if (!isHeld) {
        uncovered += 1
        missed += text.value.charAt(at)
      }
    }
    const shown = missed.trim().slice(0, READER_BOUNDS.remainderCharactersMax)
    if (shown !== '' && remainder.length < READER_BOUNDS.remainderMax)
      remainder.push({ line: text.line, xpath: xpathOf(text), text: shown })
  }
  return { characters, by, remainder, uncovered }
}
