import { actBeside, numberedAct, type ActMention } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { Element } from '#law/citations/provisions/lists.ts'
import { kindOf, readDesignation, type Part } from '#law/citations/provisions/numbers.ts'

/** Regulations of the Consumer Financial Protection Bureau by letter: parts of 12 CFR chapter X. */
const BUREAU_PARTS: ReadonlyMap<string, string> = new Map([
  ...[...'bcdefghijklmnop'].map((letter, at) => [letter, String(1002 + at)] as const),
  ...Object.entries({ v: '1022', x: '1024', z: '1026', dd: '1030' }),
])

/** Returns the act of a part of the Code of Federal Regulations, if it is known. */
type ActOfPart = (part: string) => string | undefined

/** Reads `12 CFR Part 1003` (an act), `12 CFR 1003.2` and `15 U.S.C. 1601` (a title, whose sections follow). */
export function readUsAct(tokens: TokenStream, at: number, actOfPart: ActOfPart): ActMention | undefined {
  return readTitle(tokens, at) ?? readLetteredRegulation(tokens, at) ?? readPart(tokens, at, actOfPart)
}

/** Reads a title after its section: `section 1601 of title 15, United States Code`, `section 1324 of Title 31`. */
export function readUsTitleAfter(tokens: TokenStream, at: number): ActMention | undefined {
  const alone = tokens.digits(at, 1, 2)
  const after = afterCode(tokens, at + 1)
  if (alone !== undefined && after !== undefined) return actBeside(`usc:${alone}`, after)
  const title = tokens.reads(at, 'title') ? tokens.digits(at + 1, 1, 2) : undefined
  if (title === undefined) return undefined
  const index = tokens.skip(tokens.skip(tokens.skip(at + 2, ',', 'of'), 'of'), 'the')
  if (tokens.reads(index, 'code') && tokens.reads(index + 2, 'federal') && tokens.reads(index + 3, 'regulations'))
    return actBeside(`cfr:${title}`, index + 4)
  const code = afterCode(tokens, index)
  if (code !== undefined) return actBeside(`usc:${title}`, code)
  return tokens.reads(at - 1, 'of') && !tokens.reads(at + 2, 'of') ? actBeside(`usc:${title}`, at + 2) : undefined
}

/** `42 U.S.C.`, `18, United States Code, Section 3500`, `Title 12, Code of Federal Regulations, Part 1026`. */
function readTitle(tokens: TokenStream, at: number): ActMention | undefined {
  const number = tokens.skip(at, 'title')
  const title = tokens.digits(number, 1, 2)
  if (title === undefined) return undefined
  const name = tokens.skip(number > at ? tokens.skip(tokens.skip(number + 1, ',', 'of'), 'the') : number + 1, ',')
  const code = afterCode(tokens, name)
  if (code !== undefined) {
    const app = tokens.reads(code, 'app', 'appendix') ? tokens.skip(code + 1, '.') : code
    return withSections(`usc:${title}${app > code ? 'a' : ''}`, tokens, tokens.skip(app, 'a'))
  }
  const regulations = tokens.afterAbbreviation(name, 'cfr') ?? afterWords(tokens, name, 'code of federal regulations')
  if (regulations === undefined) return undefined
  const part = tokens.skip(tokens.skip(regulations, 'part', 'parts', 'pt'), '.')
  const first = tokens.digits(part, 1, 4)
  if (first === undefined) return withSections(`cfr:${title}`, tokens, regulations)
  const isLettered = tokens.isGlued(part + 1) && /^[a-z]{1,2}$/.test(tokens.text(part + 1))
  if (tokens.reads(regulations, 'parts') || isPointed(tokens, isLettered ? part + 2 : part + 1))
    return { ...actBeside(`cfr:${title}`, part), sections: part }
  const letter = isLettered ? tokens.text(part + 1) : ''
  return numberedAct(`cfr:${title}/${first}${letter}`, isLettered ? part + 2 : part + 1)
}

/** `U.S.C.`, `USCA` and `U.S.C.S.` of publishers, `U.S. Code`, `United States Code`. */
function afterCode(tokens: TokenStream, at: number): number | undefined {
  const after = (letters: string) => tokens.afterAbbreviation(at, letters)
  const short = after('usca') ?? after('uscs') ?? after('usc')
  if (short !== undefined) return short
  const us = after('us')
  return us !== undefined && tokens.reads(us, 'code') ? us + 1 : afterWords(tokens, at, 'united states code')
}

/** The position after a name that is written out, and its comma. */
function afterWords(tokens: TokenStream, at: number, name: string): number | undefined {
  const words = name.split(' ')
  return words.every((word, index) => tokens.reads(at + index, word)) ? tokens.skip(at + words.length, ',') : undefined
}

function withSections(act: string, tokens: TokenStream, at: number): ActMention | undefined {
  // `16 U.S.C., 1952 ed.` names no section.
  const isApart = tokens.isSectionSign(at + 1) || tokens.reads(at + 1, 'section', 'sec')
  const comma = tokens.reads(at, ',') && isApart ? at + 1 : at
  const word = tokens.skip(tokens.skip(comma, 'section', 'sections', 'sec', 'secs'), '.')
  const number = tokens.isSectionSign(word) ? tokens.skip(word + 1, '§') : word
  return tokens.isNumber(number) ? { ...actBeside(act, number), sections: number } : undefined
}

/** Reads `Regulation Z`, `Reg. DD`. A letter that is also a word needs a capital or a following provision. */
function readLetteredRegulation(tokens: TokenStream, at: number): ActMention | undefined {
  if (!tokens.reads(at, 'regulation', 'reg')) return undefined
  const index = tokens.skip(at + 1, '.')
  const letter = tokens.text(index)
  const part = tokens.isGlued(index) ? undefined : BUREAU_PARTS.get(letter)
  if (part === undefined || tokens.isContinued(index + 1, '-')) return undefined
  const isWord = letter === 'i' || (letter === 'o' && !tokens.isCapitalised(index))
  const next = tokens.skip(index + 1, ',')
  const isFollowed =
    tokens.isSectionSign(next) ||
    tokens.reads(next, 'section', 'sections', 'sec') ||
    (tokens.isNumber(next) && next === index + 1)
  if (isWord && !isFollowed) return undefined
  return { act: `cfr:12/${part}`, end: index + 1, standalone: !isWord }
}

/** Reads `Part 1026` alone if the part is known. */
function readPart(tokens: TokenStream, at: number, actOfPart: ActOfPart): ActMention | undefined {
  const part = tokens.reads(at, 'part', 'parts') ? tokens.digits(at + 1, 3, 4) : undefined
  const act = part === undefined || isPointed(tokens, at + 2) ? undefined : actOfPart(part)
  return act === undefined ? undefined : numberedAct(act, at + 2)
}

/** Moves the part's number before a section (`1026.43`) from the path to the act. */
export function underUsAct(act: string, path: readonly string[]): { act: string; path: readonly string[] } {
  const [first, ...rest] = path
  if (first !== undefined && /^cfr:\d+$/.test(act)) return { act: `${act}/${first}`, path: rest }
  return first !== undefined && rest.length > 0 && act.startsWith('cfr:') && act.endsWith(`/${first}`)
    ? { act, path: rest }
    : { act, path }
}

function isPointed(tokens: TokenStream, at: number): boolean {
  return tokens.reads(at, '.') && tokens.isGlued(at) && tokens.isGlued(at + 1) && tokens.isNumber(at + 1)
}

const COMMENTS_MAX = 16

/**
 * Reads `comment 1003.2(g)-1.ii`, `comments 4(a)-3 and 4(b)-1`: the official interpretations of paragraphs, each with
 * its own number after a hyphen.
 */
export function readComments(tokens: TokenStream, at: number): readonly Element[] {
  if (!tokens.reads(at, 'comment', 'comments', 'commentary', 'cmt', 'interpretation', 'interpretations')) return []
  const comments: Element[] = []
  let index = tokens.skip(tokens.skip(at + 1, '.'), 'of')
  while (comments.length < COMMENTS_MAX) {
    const comment: Element | undefined = readComment(tokens, index) ?? readNextNumber(tokens, index, comments.at(-1))
    if (comment === undefined) break
    comments.push(comments.length === 0 ? { ...comment, from: at } : comment)
    if (!tokens.reads(comment.to, ',', 'and', 'or', 'through', 'to')) break
    index = tokens.skip(comment.to + 1, 'and', 'or')
  }
  return comments
}

/** `comments 18(e)-4 through 6`, `comment 4(a)-1 and -2`: another number of the same paragraph. */
function readNextNumber(tokens: TokenStream, at: number, before: Element | undefined): Element | undefined {
  const index = tokens.skip(at, '-')
  const number = tokens.digits(index, 1, 3)
  const isLonger = tokens.isGlued(index + 1) && !tokens.reads(index + 1, '.', ',', ';')
  if (before === undefined || number === undefined || isLonger) return undefined
  const paragraph = before.parts.findLastIndex(({ text }) => text.startsWith('-'))
  const parts: Part[] = [...before.parts.slice(0, paragraph), { text: `-${number}`, kind: 'digit', keyword: '' }]
  return { parts, from: at, to: index + 1 }
}

function readComment(tokens: TokenStream, at: number): Element | undefined {
  const provision = readDesignation(tokens, at)
  if (provision === undefined) return undefined
  const numbers: Part[] = []
  let { end } = provision
  while (numbers.length < 4 && tokens.reads(end, numbers.length === 0 ? '-' : '.') && tokens.isGlued(end + 1)) {
    const text = tokens.text(end + 1)
    if (!/^(?:\d{1,3}|[a-z]|[ivx]{1,6})$/.test(text)) break
    numbers.push({ text: numbers.length === 0 ? `-${text}` : text, kind: kindOf(text), keyword: '' })
    end += 2
  }
  if (numbers.length === 0) return undefined
  return { parts: [...provision.parts, ...numbers], from: at, to: end }
}
