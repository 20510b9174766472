import type { LineText } from './line-tree.ts'

/** A hyphen at the end of a line, after a word. */
const HYPHEN = /(\p{L}{1,40})[-\u00AD\u2010]\n$/u
/** After them a hyphen stands for what follows: `Ein- und Ausfuhr`. */
const CONJUNCTION = /^(?:und|oder|sowie|bzw\.|bis|and|or|to|et|ou|y|o|e|en|of)(?![\p{L}])/u
/** Words that join others by a hyphen of their own. */
const PREFIX = /^(?:\p{L}|[Ss]elf|[Nn]on|[Ww]ell|[Qq]uasi|[Cc]ross|[Tt]hird)$/u

/**
 * Returns a function that adds a line to those of a paragraph. A word that the lines part is one word again: without its
 * hyphen, unless the document has the word with a hyphen within a line.
 */
export function createHyphens(lines: readonly string[]): (texts: LineText[], next: LineText) => void {
  const hyphened = new Set(lines.flatMap((line) => line.match(/\p{L}{1,40}-\p{L}{1,40}/gu) ?? []))
  return (texts, next) => {
    const last = texts.at(-1)
    const [found, first = ''] = HYPHEN.exec(last?.value ?? '') ?? []
    if (last !== undefined && found !== undefined && !CONJUNCTION.test(next.value)) {
      const second = /^\p{L}+/u.exec(next.value)?.[0] ?? ''
      const isPart = /^\p{Ll}/u.test(second) || /^\p{Lu}{2,} \p{Lu}{2,}$/u.test(`${first} ${second}`)
      const isOneWord = isPart && !PREFIX.test(first) && !hyphened.has(`${first}-${second}`)
      const value = last.value.slice(0, isOneWord || last.value.endsWith('\u00AD\n') ? -2 : -1)
      texts[texts.length - 1] = { ...last, value }
    }
    texts.push(next)
  }
}
