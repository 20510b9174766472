import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { Designator } from '#law/citations/provisions/designators.ts'
import type { Part } from '#law/citations/provisions/numbers.ts'

const RULEBOOK_WORDS = ['rulebook', 'rulebooks', 'module', 'sourcebook', 'handbook']
/** Levels of a rulebook that group provisions and are not part of their number. */
const GROUPS = new Set(['part', 'chapter'])
/** Words before a provision's own number. */
const RULEBOOK_DESIGNATORS = new Set(['rule', 'rules', 'section', 'article', 'paragraph', 'regulation'])
const LABEL_WORDS = new Set([
  ...GROUPS,
  ...RULEBOOK_DESIGNATORS,
  'guidance',
  'definitions',
  'disclaimer',
  'annex',
  'schedule',
  'app',
  'appendix',
])

/** Returns the position after `Rulebook` or `module`. Such a word makes a short code (`AML`) the name of an act. */
export function afterRulebookWord(tokens: TokenStream, at: number): number | undefined {
  return tokens.reads(at, ...RULEBOOK_WORDS) ? at + 1 : undefined
}

/**
 * Returns the path of a rule. Chapters are numbered like their rules: `Chapter 9` is the parent of `9.1`. `A4.10.1` is
 * in appendix 4. The letter of a rule's status (`3.4.1R`: rule, guidance, evidential) is not part of its number.
 */
export function underRulebook(path: readonly string[]): readonly string[] {
  const [first, ...rest] = path
  if (first === undefined) return path
  const chapter = /^chapter-(\d.*)$/.exec(first)?.[1]
  if (chapter !== undefined) return [chapter, ...rest]
  const appendix = /^(?:a|appendix-)(\d+[a-z]?)$/.exec(first)?.[1]
  if (appendix === undefined)
    return path.map((part, index) => (index === 2 ? part.replace(/^(\d+)[rge]$/, '$1') : part))
  const [second, ...below] = rest
  return [`app${appendix}`, ...(second === `a${appendix}` ? below : rest)]
}

/** Whether this alone names a rule: three parts in any letter case, two after a capitalised `Rule`, one never. */
export function isRuleNumber(designator: Designator, parts: readonly Part[], capital: boolean): boolean {
  if (designator.kind !== 'rule') return false
  return parts.length >= 3 || (parts.length === 2 && capital)
}

/**
 * Reads a publisher's label after the code of the rulebook: `23.6.Guidance.2.`, `APP4.A4.10.1`, `Part 15.192.(1)`,
 * `PART 5.14.1`, `7.1.2.(1)`. Returns every number and word in order, without groups before another number.
 */
export function readRulebookLabel(tokens: TokenStream, at: number): string[] {
  const pieces: string[] = []
  let index = tokens.skip(at, ',', ':')
  while (index < tokens.length && pieces.length < 16) {
    const token = tokens.get(index)
    if (token === undefined) break
    if (token.kind === 'sign') {
      if (!['.', '(', ')', ',', '-', '–'].includes(token.text)) break
      index += 1
      continue
    }
    const joined = readJoined(tokens, index)
    if (!LABEL_WORDS.has(joined.text) && !/^(?:[a-z]{0,3}\d{1,4}[a-z]{0,3}|[a-z]|[ivxl]{2,6})$/.test(joined.text)) break
    pieces.push(joined.text)
    index = joined.end
  }
  return grouped(pieces)
}

function readJoined(tokens: TokenStream, at: number): { text: string; end: number } {
  let text = tokens.text(at)
  let end = at + 1
  while (tokens.isGlued(end) && tokens.get(end)?.kind !== 'sign' && text.length < 32) {
    text += tokens.text(end)
    end += 1
  }
  return { text, end }
}

/**
 * Joins `schedule 1` and `app 7` into one part. Drops a group with its number if more follows, and a word before a
 * number.
 */
function grouped(pieces: readonly string[]): string[] {
  const path: string[] = []
  for (let index = 0; index < pieces.length; index += 1) {
    const piece = pieces[index] ?? ''
    const number = pieces[index + 1]
    if (number !== undefined && RULEBOOK_DESIGNATORS.has(piece)) continue
    const kind = piece === 'app' ? 'appendix' : piece
    const isJoined = number !== undefined && (kind === 'schedule' || kind === 'appendix' || GROUPS.has(kind))
    if (isJoined) index += 1
    if (!isJoined) path.push(/^app\d/.test(piece) ? `appendix-${piece.slice(3)}` : piece)
    else if (!GROUPS.has(kind) || index + 1 >= pieces.length) path.push(`${kind}-${number}`)
  }
  return path
}
