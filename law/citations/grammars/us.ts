import type { ActMention } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'

/** Regulations of the Consumer Financial Protection Bureau by letter: parts of 12 CFR chapter X. */
const BUREAU_PARTS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    b: '1002',
    c: '1003',
    d: '1004',
    e: '1005',
    f: '1006',
    g: '1007',
    h: '1008',
    i: '1009',
    j: '1010',
    k: '1011',
    l: '1012',
    m: '1013',
    n: '1014',
    o: '1015',
    p: '1016',
    v: '1022',
    x: '1024',
    z: '1026',
    dd: '1030',
  }),
)

/** Letters that are also words; they name a regulation only with a provision beside them. */
const WORDS = new Set(['i', 'o'])

/** Returns the act of a part of the Code of Federal Regulations, if it is known. */
type ActOfPart = (part: string) => string | undefined

/** Reads `12 CFR Part 1003` (an act), `12 CFR 1003.2` and `15 U.S.C. 1601` (a title, whose sections follow). */
export function readUsAct(tokens: TokenStream, at: number, actOfPart: ActOfPart): ActMention | undefined {
  return readTitle(tokens, at) ?? readLetteredRegulation(tokens, at) ?? readPart(tokens, at, actOfPart)
}

/** Reads a title after its section: `section 1601 of title 15, United States Code`, `section 1324 of Title 31`. */
export function readUsTitleAfter(tokens: TokenStream, at: number): ActMention | undefined {
  if (!tokens.reads(at, 'title')) return undefined
  const title = tokens.digits(at + 1, 1, 2)
  if (title === undefined) return undefined
  const index = tokens.skip(tokens.skip(tokens.skip(at + 2, ',', 'of'), 'of'), 'the')
  if (tokens.reads(index, 'code') && tokens.reads(index + 2, 'federal') && tokens.reads(index + 3, 'regulations'))
    return { act: `cfr:${title}`, end: index + 4, standalone: false, sections: undefined }
  const code =
    tokens.reads(index, 'united') && tokens.reads(index + 1, 'states')
      ? index + 2
      : tokens.afterAbbreviation(index, 'us')
  if (code === undefined || !tokens.reads(code, 'code'))
    return tokens.reads(at - 1, 'of') && !tokens.reads(at + 2, 'of')
      ? { act: `usc:${title}`, end: at + 2, standalone: false, sections: undefined }
      : undefined
  return { act: `usc:${title}`, end: code + 1, standalone: false, sections: undefined }
}

function readTitle(tokens: TokenStream, at: number): ActMention | undefined {
  const title = tokens.digits(at, 1, 2)
  if (title === undefined) return undefined
  const code = tokens.afterAbbreviation(at + 1, 'usc')
  if (code !== undefined) return withSections(`usc:${title}`, tokens, tokens.skip(code, 'a'))
  const regulations = tokens.afterAbbreviation(at + 1, 'cfr')
  if (regulations === undefined) return undefined
  const part = tokens.skip(tokens.skip(regulations, 'part', 'parts', 'pt'), '.')
  const number = tokens.digits(part, 1, 4)
  if (number !== undefined && tokens.reads(regulations, 'parts'))
    return { act: `cfr:${title}`, end: part, standalone: false, sections: part }
  const isSection = number === undefined || isPointed(tokens, part + 1)
  if (isSection) return withSections(`cfr:${title}`, tokens, number === undefined ? regulations : part)
  const suffix = tokens.get(part + 1)
  const isLettered = suffix?.glued === true && suffix.kind === 'word' && suffix.text.length === 1
  return {
    act: `cfr:${title}/${number}${isLettered ? suffix.text : ''}`,
    end: isLettered ? part + 2 : part + 1,
    standalone: true,
    sections: undefined,
  }
}

function withSections(act: string, tokens: TokenStream, at: number): ActMention | undefined {
  const word = tokens.skip(tokens.skip(at, 'section', 'sections', 'sec', 'secs'), '.')
  const number = tokens.isSectionSign(word) ? tokens.skip(word + 1, '§') : word
  return tokens.isNumber(number) ? { act, end: number, standalone: false, sections: number } : undefined
}

/** Reads `Regulation Z`, `Reg. DD`. A letter that is also a word needs a capital or a following provision. */
function readLetteredRegulation(tokens: TokenStream, at: number): ActMention | undefined {
  if (!tokens.reads(at, 'regulation', 'reg')) return undefined
  const index = tokens.skip(at + 1, '.')
  const letter = tokens.get(index)
  const part = letter === undefined ? undefined : BUREAU_PARTS.get(letter.text)
  if (letter === undefined || part === undefined || letter.glued || isContinued(tokens, index + 1)) return undefined
  const isCapital = /^[A-Z]+$/.test(letter.raw) && !(letter.text === 'i')
  const next = tokens.skip(index + 1, ',')
  const isFollowed =
    tokens.isSectionSign(next) ||
    tokens.reads(next, 'section', 'sections', 'sec') ||
    (tokens.isNumber(next) && next === index + 1)
  if (!isCapital && !isFollowed && WORDS.has(letter.text)) return undefined
  return {
    act: `cfr:12/${part}`,
    end: index + 1,
    standalone: isCapital || !WORDS.has(letter.text),
    sections: undefined,
  }
}

/** Reads `Part 1026` alone if the part is known. */
function readPart(tokens: TokenStream, at: number, actOfPart: ActOfPart): ActMention | undefined {
  if (!tokens.reads(at, 'part', 'parts')) return undefined
  const part = tokens.digits(at + 1, 3, 4)
  const act = part === undefined || isPointed(tokens, at + 2) ? undefined : actOfPart(part)
  return act === undefined ? undefined : { act, end: at + 2, standalone: true, sections: undefined }
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

function isContinued(tokens: TokenStream, at: number): boolean {
  const token = tokens.get(at)
  return token?.glued === true && (token.kind !== 'sign' || token.text === '-')
}
