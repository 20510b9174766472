import { standingOfClasses, standingOfStyle, STANDING_RULES } from './standing.ts'

/** Offsets of an HTML comment, or of what is struck or hidden, with its marks. */
export interface Comment {
  readonly start: number
  readonly end: number
  /** By which it is left out. */
  readonly rule: string
}

/**
 * Finds HTML comments (CommonMark 0.31, section 6.6), elements that strike or hide, and `~~text~~` in the source of one
 * block. In Markdown, escapes and code spans hold none; within an HTML block neither exists. The cost is linear.
 */
export function commentsIn(text: string, syntax: 'markdown' | 'html') {
  const comments: Comment[] = []
  const mark =
    syntax === 'markdown' ? /\\[!-/:-@[-`{-~]|`+|<!--|~~(?=[^\s~])|<\/?[a-z][^<>]*>/gi : /<!--|<\/?[a-z][^<>]*>/gi
  const struckEnd = createEnds(text)
  const closing = codeSpanEnds(syntax === 'markdown' ? text : '')
  for (let found = mark.exec(text); found !== null; found = mark.exec(text)) {
    if (found[0].startsWith('`')) mark.lastIndex = closing(found[0].length, mark.lastIndex) ?? mark.lastIndex
    const struck = found[0] === '~~' || found[0].startsWith('<') ? ruleOf(found[0]) : undefined
    const last = struck === undefined ? undefined : struckEnd(found[0], mark.lastIndex)
    if (struck !== undefined && last === undefined && found[0] !== '~~') return { comments, openAt: found.index }
    if (struck !== undefined && last !== undefined) {
      // One of the two spaces around it is left.
      const isBetween = /^[ \t]?$/.test(text.slice(found.index - 1, found.index)) && text[last] === ' '
      comments.push({ start: found.index, end: last + (isBetween ? 1 : 0), rule: struck })
      mark.lastIndex = last
    }
    if (found[0] !== '<!--') continue
    // `<!-->` and `<!--->` are whole comments.
    const end = text.indexOf('-->', found.index + 2)
    if (end === -1) return { comments, openAt: found.index }
    comments.push({ start: found.index, end: end + 3, rule: COMMENT_RULE })
    mark.lastIndex = end + 3
  }
  return { comments, openAt: undefined }
}

const COMMENT_RULE = 'HTML comment'
/** Elements of HTML without an end. */
const VOID = /^(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)$/i
const TAG = /^<([a-z][\w-]*)([^>]*)>$/i

/** The rule by which a tag, or `~~`, leaves out what follows; undefined for one that leaves out nothing. */
function ruleOf(mark: string): string | undefined {
  if (mark === '~~') return STANDING_RULES.struck
  if (/^<\/?(?:ins|u)\b/i.test(mark)) return 'tag of inserted text'
  const [, name = '', attributes = ''] = TAG.exec(mark) ?? []
  if (/^(?:del|s|strike)$/i.test(name)) return STANDING_RULES.struck
  const valueOf = (wanted: string): string =>
    new RegExp(`\\b${wanted}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"']+))`, 'i').exec(attributes)?.slice(1).join('') ??
    ''
  if (VOID.test(name)) return undefined
  if (/(?:^|\s)hidden(?=[\s=/]|$)/i.test(attributes) || valueOf('aria-hidden') === 'true') return STANDING_RULES.hidden
  const standing = standingOfStyle(valueOf('style')) ?? standingOfClasses(valueOf('class'))
  return standing === undefined || standing === 'unread' ? undefined : STANDING_RULES[standing]
}

/** Returns a function that gives the end of what a mark leaves out; undefined where it has none. */
function createEnds(text: string): (mark: string, from: number) => number | undefined {
  const endless = new Set<string>()
  return (mark, from) => {
    if (/^<\/?(?:ins|u)\b/i.test(mark)) return from
    const name = TAG.exec(mark)?.[1] ?? mark
    if (endless.has(name)) return undefined
    const tags = name === '~~' ? /~~|\n[ \t]*\r?\n/g : new RegExp(`<(/?)${name}\\b[^<>]*>`, 'gi')
    tags.lastIndex = from
    let depth = 1
    for (let tag = tags.exec(text); tag !== null; tag = tags.exec(text)) {
      if (name === '~~') return tag[0] === '~~' ? tags.lastIndex : undefined
      depth += tag[1] === '/' ? -1 : 1
      if (depth === 0) return tags.lastIndex
    }
    endless.add(name)
    return undefined
  }
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
