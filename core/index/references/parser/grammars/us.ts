import { kindOf, readDesignation } from '#core/index/references/parser/lexer/numbers.ts'
import type { Part } from '#core/index/references/parser/lexer/numbers.ts'
import { afterAbbreviation, digitsAt, reads, skip } from '#core/index/references/parser/lexer/tokens.ts'
import type { Token } from '#core/index/references/parser/lexer/tokens.ts'
import type { ActMention } from '#core/index/references/parser/names/act.ts'
import type { ActAliases } from '#core/index/references/parser/names/aliases.ts'
import { BUREAU_PARTS } from '#core/index/references/parser/names/known-acts.ts'

/** Letters that are also words; they name a regulation only with a provision beside them. */
const WORDS = new Set(['i', 'o'])

/** Reads `12 CFR Part 1003` (an act), `12 CFR 1003.2` and `15 U.S.C. 1601` (a title, whose sections follow). */
export function readUsAct(tokens: readonly Token[], at: number, aliases: ActAliases): ActMention | undefined {
  return readTitle(tokens, at) ?? readLetteredRegulation(tokens, at) ?? readPart(tokens, at, aliases)
}

/** Reads a title after its section: `section 1601 of title 15, United States Code`, `section 1324 of Title 31`. */
export function readUsTitleAfter(tokens: readonly Token[], at: number): ActMention | undefined {
  if (!reads(tokens, at, 'title')) return undefined
  const title = digitsAt(tokens, at + 1, 1, 2)
  if (title === undefined) return undefined
  const index = skip(tokens, skip(tokens, skip(tokens, at + 2, ',', 'of'), 'of'), 'the')
  if (reads(tokens, index, 'code') && reads(tokens, index + 2, 'federal') && reads(tokens, index + 3, 'regulations'))
    return { act: `cfr:${title}`, end: index + 4, standalone: false, sections: undefined }
  const code =
    reads(tokens, index, 'united') && reads(tokens, index + 1, 'states')
      ? index + 2
      : afterAbbreviation(tokens, index, 'us')
  if (code === undefined || !reads(tokens, code, 'code'))
    return reads(tokens, at - 1, 'of') && !reads(tokens, at + 2, 'of')
      ? { act: `usc:${title}`, end: at + 2, standalone: false, sections: undefined }
      : undefined
  return { act: `usc:${title}`, end: code + 1, standalone: false, sections: undefined }
}

function readTitle(tokens: readonly Token[], at: number): ActMention | undefined {
  const title = digitsAt(tokens, at, 1, 2)
  if (title === undefined) return undefined
  const code = afterAbbreviation(tokens, at + 1, 'usc')
  if (code !== undefined) return withSections(`usc:${title}`, tokens, skip(tokens, code, 'a'))
  const regulations = afterAbbreviation(tokens, at + 1, 'cfr')
  if (regulations === undefined) return undefined
  const part = skip(tokens, skip(tokens, regulations, 'part', 'parts', 'pt'), '.')
  const number = digitsAt(tokens, part, 1, 4)
  if (number !== undefined && reads(tokens, regulations, 'parts'))
    return { act: `cfr:${title}`, end: part, standalone: false, sections: part }
  const isSection = number === undefined || isPointed(tokens, part + 1)
  if (isSection) return withSections(`cfr:${title}`, tokens, number === undefined ? regulations : part)
  const suffix = tokens[part + 1]
  const isLettered = suffix?.glued === true && suffix.kind === 'word' && suffix.text.length === 1
  return {
    act: `cfr:${title}/${number}${isLettered ? suffix.text : ''}`,
    end: isLettered ? part + 2 : part + 1,
    standalone: true,
    sections: undefined,
  }
}

function withSections(act: string, tokens: readonly Token[], at: number): ActMention | undefined {
  const word = skip(tokens, skip(tokens, at, 'section', 'sections', 'sec', 'secs'), '.')
  const number = tokens[word]?.text.startsWith('§') === true ? skip(tokens, word + 1, '§') : word
  return tokens[number]?.kind === 'number' ? { act, end: number, standalone: false, sections: number } : undefined
}

/** Reads `Regulation Z`, `Reg. DD`. A letter that is also a word needs a capital or a following provision. */
function readLetteredRegulation(tokens: readonly Token[], at: number): ActMention | undefined {
  if (!reads(tokens, at, 'regulation', 'reg')) return undefined
  const index = skip(tokens, at + 1, '.')
  const letter = tokens[index]
  const part = letter === undefined ? undefined : BUREAU_PARTS.get(letter.text)
  if (letter === undefined || part === undefined || letter.glued || isContinued(tokens, index + 1)) return undefined
  const isCapital = /^[A-Z]+$/.test(letter.raw) && !(letter.text === 'i')
  const next = skip(tokens, index + 1, ',')
  const isFollowed =
    tokens[next]?.text.startsWith('§') === true ||
    reads(tokens, next, 'section', 'sections', 'sec') ||
    (tokens[next]?.kind === 'number' && next === index + 1)
  if (!isCapital && !isFollowed && WORDS.has(letter.text)) return undefined
  return {
    act: `cfr:12/${part}`,
    end: index + 1,
    standalone: isCapital || !WORDS.has(letter.text),
    sections: undefined,
  }
}

/** Reads `Part 1026` alone if the part is known. */
function readPart(tokens: readonly Token[], at: number, aliases: ActAliases): ActMention | undefined {
  if (!reads(tokens, at, 'part', 'parts')) return undefined
  const part = digitsAt(tokens, at + 1, 3, 4)
  const act = part === undefined || isPointed(tokens, at + 2) ? undefined : aliases.actOfPart(part)
  return act === undefined ? undefined : { act, end: at + 2, standalone: true, sections: undefined }
}

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
export function readComments(tokens: readonly Token[], at: number): readonly Comment[] {
  if (!COMMENT_WORDS.has(tokens[at]?.text ?? '')) return []
  const comments: Comment[] = []
  let index = skip(tokens, skip(tokens, at + 1, '.'), 'of')
  while (comments.length < COMMENTS_MAX) {
    const comment: Comment | undefined = readComment(tokens, index) ?? readNextNumber(tokens, index, comments.at(-1))
    if (comment === undefined) break
    comments.push(comments.length === 0 ? { ...comment, from: at } : comment)
    if (!reads(tokens, comment.end, ',', 'and', 'or', 'through', 'to')) break
    index = skip(tokens, comment.end + 1, 'and', 'or')
  }
  return comments
}

/** `comments 18(e)-4 through 6`, `comment 4(a)-1 and -2`: another number of the same paragraph. */
function readNextNumber(tokens: readonly Token[], at: number, before: Comment | undefined): Comment | undefined {
  const index = skip(tokens, at, '-')
  const number = digitsAt(tokens, index, 1, 3)
  const next = tokens[index + 1]
  if (
    before === undefined ||
    number === undefined ||
    (next?.glued === true && !reads(tokens, index + 1, '.', ',', ';'))
  )
    return undefined
  const kept = before.parts.slice(
    0,
    before.parts.findLastIndex(({ text }) => text.startsWith('-')),
  )
  return { parts: [...kept, { text: `-${number}`, kind: 'digit', keyword: '' }], from: at, end: index + 1 }
}

function readComment(tokens: readonly Token[], at: number): Comment | undefined {
  const provision = readDesignation(tokens, at)
  if (provision === undefined) return undefined
  const numbers: Part[] = []
  let { end } = provision
  while (
    numbers.length < 4 &&
    reads(tokens, end, numbers.length === 0 ? '-' : '.') &&
    tokens[end + 1]?.glued === true
  ) {
    const token = tokens[end + 1]
    if (token === undefined || !/^(?:\d{1,3}|[a-z]|[ivx]{1,6})$/.test(token.text)) break
    numbers.push({ text: numbers.length === 0 ? `-${token.text}` : token.text, kind: kindOf(token.text), keyword: '' })
    end += 2
  }
  return numbers.length === 0 ? undefined : { parts: [...provision.parts, ...numbers], from: at, end }
}

/** Moves the part's number before a section (`1026.43`) from the path to the act. */
export function underUsAct(act: string, path: readonly string[]): { act: string; path: readonly string[] } {
  const [first, ...rest] = path
  if (first !== undefined && /^cfr:\d+$/.test(act)) return { act: `${act}/${first}`, path: rest }
  return first !== undefined && rest.length > 0 && act.startsWith('cfr:') && act.endsWith(`/${first}`)
    ? { act, path: rest }
    : { act, path }
}

function isPointed(tokens: readonly Token[], at: number): boolean {
  return (
    reads(tokens, at, '.') &&
    tokens[at]?.glued === true &&
    tokens[at + 1]?.glued === true &&
    tokens[at + 1]?.kind === 'number'
  )
}

function isContinued(tokens: readonly Token[], at: number): boolean {
  const token = tokens[at]
  return token?.glued === true && (token.kind !== 'sign' || token.text === '-')
}
