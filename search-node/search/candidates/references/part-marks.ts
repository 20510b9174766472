/**
 * Positions among texts, from 0, of those that mark the innermost of some parts of a provision; none unless every part
 * is marked in one of them. A mark is what drafters put before a part: `(f)` or `f)` after white space, or `1.` at the
 * start of a line; `Article 6(1)(f)` within a sentence marks nothing.
 * @param texts the passages of one provision, which may be one text cut for length.
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
