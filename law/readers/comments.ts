/** Offsets of an HTML comment, with its marks. */
export interface Comment {
  readonly start: number
  readonly end: number
}

export interface FoundComments {
  readonly comments: readonly Comment[]
  /** Offset of a comment that never ends. */
  readonly openAt: number | undefined
}

/**
 * Finds HTML comments (CommonMark 0.31, section 6.6) in the source of one block. In Markdown, escapes and code spans
 * hold none; within an HTML block neither exists. The cost is linear.
 */
export function commentsIn(text: string, syntax: 'markdown' | 'html'): FoundComments {
  const comments: Comment[] = []
  const mark = syntax === 'markdown' ? /\\[!-/:-@[-`{-~]|`+|<!--/g : /<!--/g
  const closing = codeSpanEnds(syntax === 'markdown' ? text : '')
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    if (found[0].startsWith('`')) mark.lastIndex = closing(found[0].length, mark.lastIndex) ?? mark.lastIndex
    if (found[0] !== '<!--') continue
    // `<!-->` and `<!--->` are whole comments.
    const end = text.indexOf('-->', found.index + 2)
    if (end === -1) return { comments, openAt: found.index }
    comments.push({ start: found.index, end: end + 3 })
    mark.lastIndex = end + 3
  }
  return { comments, openAt: undefined }
}

/** Offsets of a piece of a text; `end` is exclusive. */
export interface TextRange {
  readonly start: number
  readonly end: number
}

/** Returns a function that gives the text between two offsets without comments; ranges are asked for in order. */
export function createCutter(text: string, comments: readonly Comment[]): (from: number, to: number) => string {
  const keep = createKeeper(comments)
  return (from, to) => textIn(text, keep(from, to))
}

/** Returns a function that gives what lies between two offsets and in no comment; ranges are asked for in order. */
export function createKeeper(comments: readonly Comment[]): (from: number, to: number) => readonly TextRange[] {
  let index = 0
  return (from, to) => {
    const kept: TextRange[] = []
    let at = from
    for (let comment = comments[index]; comment !== undefined && comment.start < to; comment = comments[index]) {
      if (comment.start >= from) kept.push({ start: at, end: comment.start })
      at = Math.max(at, comment.end)
      index += 1
    }
    return [...kept, { start: at, end: Math.max(at, to) }]
  }
}

export function textIn(text: string, ranges: readonly TextRange[]): string {
  return ranges.map(({ start, end }) => text.slice(start, end)).join('')
}

/** Returns a function that gives the end of the first run of `length` backticks after an offset. */
function codeSpanEnds(text: string): (length: number, from: number) => number | undefined {
  const starts = new Map<number, number[]>()
  for (const { index, 0: run } of text.matchAll(/`+/g)) {
    const known = starts.get(run.length)
    if (known === undefined) starts.set(run.length, [index])
    else known.push(index)
  }
  const passed = new Map<number, number>()
  return (length, from) => {
    const known = starts.get(length) ?? []
    let next = passed.get(length) ?? 0
    while (next < known.length && (known[next] ?? from) < from) next += 1
    passed.set(length, next)
    const start = known[next]
    return start === undefined ? undefined : start + length
  }
}
