import MarkdownIt from 'markdown-it'
import type { StateBlock, Token } from 'markdown-it'
import { READER_BOUNDS } from './bounds.ts'
import { commentsIn } from './comments.ts'

type Rule = (state: StateBlock, startLine: number, endLine: number, silent: boolean) => boolean

const commonMarkRule = ruleOf()

/** By the environment of a parse: for each line, the first heading line at or after it. */
const nextHeadings = new WeakMap<object, Int32Array>()

/** True for a line that is an ATX heading where no block is open (CommonMark 0.31, section 4.2). */
export function looksLikeHeading(line: string): boolean {
  return /^ {0,3}#{1,6}(?:[ \t\r\n]|$)/.test(line)
}

/**
 * Reads an HTML block as CommonMark 0.31, section 4.6 does, with two differences. A line that is an ATX heading ends
 * the block. A comment within the block ends at its mark, whatever lines it holds.
 */
const htmlBlock: Rule = (state, startLine, endLine, silent) => {
  if (silent) return commonMarkRule(state, startLine, endLine, true)
  const isComment = state.src.startsWith('<!--', (state.bMarks[startLine] ?? 0) + (state.tShift[startLine] ?? 0))
  const limit = isComment || state.level > 0 ? endLine : Math.min(endLine, headingAfter(state, startLine))
  if (!commonMarkRule(state, startLine, limit, false)) return false
  const block = state.src.slice(state.bMarks[startLine], state.eMarks[state.line - 1])
  const { openAt } = commentsIn(block, 'html')
  // A hidden or struck element may hold other blocks, and ends where its end is found.
  if (openAt === undefined || !block.startsWith('<!--', openAt)) return true
  state.line = endOfComment(state, endLine)
  const token = state.tokens.at(-1)
  if (token !== undefined) token.map = [startLine, state.line]
  return true
}

/** Returns the line after the one on which an open comment ends, or the end of the surrounding block. */
function endOfComment(state: StateBlock, endLine: number): number {
  for (let line = state.line; line < endLine; line += 1) {
    if (!state.isEmpty(line) && (state.sCount[line] ?? 0) < state.blkIndent) return line
    const text = state.src.slice(state.bMarks[line], state.eMarks[line])
    const end = text.indexOf('-->')
    if (end !== -1 && commentsIn(text.slice(end + 3), 'html').openAt === undefined) return line + 1
  }
  return endLine
}

function headingAfter(state: StateBlock, line: number): number {
  const known = nextHeadings.get(state.env) ?? headingLines(state)
  nextHeadings.set(state.env, known)
  return known[line + 1] ?? state.lineMax
}

function headingLines({ src, bMarks, eMarks, lineMax }: StateBlock): Int32Array {
  const next = new Int32Array(lineMax + 1).fill(lineMax)
  for (let line = lineMax - 1; line >= 0; line -= 1) {
    next[line] = looksLikeHeading(src.slice(bMarks[line], eMarks[line])) ? line : (next[line + 1] ?? lineMax)
  }
  return next
}

function ruleOf(): Rule {
  const { ruler } = new MarkdownIt('commonmark').block
  ruler.enableOnly('html_block')
  const [rule] = ruler.getRules('')
  if (rule === undefined) throw new Error('the Markdown parser has no rule for HTML blocks')
  return rule
}

const parser = new MarkdownIt('commonmark', { maxNesting: READER_BOUNDS.markdownNestingMax })
parser.core.ruler.enableOnly(['normalize', 'block'])
parser.block.ruler.at('html_block', htmlBlock, { alt: ['paragraph', 'reference', 'blockquote'] })

/**
 * Returns the blocks of a Markdown text, without their inline content, which never decides where a heading is. The
 * parser is linear where the nesting of blocks is bounded.
 */
export function markdownBlocks(text: string): readonly Token[] {
  return parser.parse(text, {})
}
