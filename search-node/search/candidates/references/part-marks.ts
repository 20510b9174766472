/**
 * Returns the positions, from 0, of the texts that mark the innermost part; empty unless every part is marked in some
 * text. A mark is the label that drafters put before a part: `(f)` or `f)` after white space, or `1.` at the start of a
 * line. `Article 6(1)(f)` within a sentence is not a mark.
 * @param texts the passages of one provision; they may be one text split for length.
 * @param parts outermost first, at least one.
 */
export function textsMarking(texts: readonly string[], parts: readonly string[]): readonly number[] {
  const marked = parts.map((part) => {
    const mark = markOf(part)
    return texts.flatMap((text, position) => (mark.test(text) ? [position] : []))
  })
  return marked.every((positions) => positions.length > 0) ? (marked.at(-1) ?? []) : []
}

function markOf(part: string): RegExp {
  const literal = part.replaceAll(/[^\p{L}\p{N}]/gu, (sign) => `\\u{${(sign.codePointAt(0) ?? 0).toString(16)}}`)
  const [bracketed, afterBrackets, pointed] = [
    `(?:^|\\s)\\(?${literal}\\)`,
    `^[^\\S\\n]*(?:\\([^()\\s]{1,8}\\)){1,8}\\(?${literal}\\)`,
    `^[^\\S\\n]*${literal}\\.\\s`,
  ]
  return new RegExp(`${bracketed}|${afterBrackets}|${pointed}`, 'imu')
}
