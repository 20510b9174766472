import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import { kindOf, readDesignation } from '#law/citations/provisions/numbers.ts'
import type { Part } from '#law/citations/provisions/numbers.ts'

export interface Comment {
  readonly parts: readonly Part[]
  readonly from: number
  readonly end: number
}

const COMMENT_WORDS = new Set(['comment', 'comments', 'commentary', 'cmt', 'interpretation', 'interpretations'])
const COMMENTS_MAX = 16

/**
 * Reads `comment 1003.2(g)-1.ii`, `comments 4(a)-3 and 4(b)-1`: the official interpretations of paragraphs, each with
 * its own number after a hyphen.
 */
export function readComments(tokens: TokenStream, at: number): readonly Comment[] {
  if (!COMMENT_WORDS.has(tokens.text(at))) return []
  const comments: Comment[] = []
  let index = tokens.skip(tokens.skip(at + 1, '.'), 'of')
  while (comments.length < COMMENTS_MAX) {
    const comment: Comment | undefined = readComment(tokens, index) ?? readNextNumber(tokens, index, comments.at(-1))
    if (comment === undefined) break
    comments.push(comments.length === 0 ? { ...comment, from: at } : comment)
    if (!tokens.reads(comment.end, ',', 'and', 'or', 'through', 'to')) break
    index = tokens.skip(comment.end + 1, 'and', 'or')
  }
  return comments
}

/** `comments 18(e)-4 through 6`, `comment 4(a)-1 and -2`: another number of the same paragraph. */
function readNextNumber(tokens: TokenStream, at: number, before: Comment | undefined): Comment | undefined {
  const index = tokens.skip(at, '-')
  const number = tokens.digits(index, 1, 3)
  const next = tokens.get(index + 1)
  if (before === undefined || number === undefined || (next?.glued === true && !tokens.reads(index + 1, '.', ',', ';')))
    return undefined
  const kept = before.parts.slice(
    0,
    before.parts.findLastIndex(({ text }) => text.startsWith('-')),
  )
  return { parts: [...kept, { text: `-${number}`, kind: 'digit', keyword: '' }], from: at, end: index + 1 }
}

function readComment(tokens: TokenStream, at: number): Comment | undefined {
  const provision = readDesignation(tokens, at)
  if (provision === undefined) return undefined
  const numbers: Part[] = []
  let { end } = provision
  while (numbers.length < 4 && tokens.reads(end, numbers.length === 0 ? '-' : '.') && tokens.isGlued(end + 1)) {
    const token = tokens.get(end + 1)
    if (token === undefined || !/^(?:\d{1,3}|[a-z]|[ivx]{1,6})$/.test(token.text)) break
    numbers.push({ text: numbers.length === 0 ? `-${token.text}` : token.text, kind: kindOf(token.text), keyword: '' })
    end += 2
  }
  return numbers.length === 0 ? undefined : { parts: [...provision.parts, ...numbers], from: at, end }
}
