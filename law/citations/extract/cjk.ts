import { actBeside, type Citation, type Reading } from '#law/citations/citation.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'
import type { ActAliases } from '#law/citations/names/aliases.ts'

/** Ends of names of acts: `会社法`, `민법`, `施行令`. */
const ACT = /(?:法|法律|憲法|令|規則|条例|法典|规定|规则|办法|법|법률|헌법|령|규칙|조례|附則|附则|부칙)$/u
/** What is issued under an act, or belongs to it, and counts anew. */
export const COUNTS_ANEW = /^(?:施行令|施行規則|附則|附则|시행령|시행규칙|부칙)$/u
const NAME_TOKENS_MAX = 8
const BRACKET_TOKENS_MAX = 24

/**
 * Reads `民法第709条の2第1項`, `민법 제750조의2 제1항`: the act stands before the article. An act that no table holds is a
 * name of its own.
 */
export function readCjkArticle(tokens: TokenStream, at: number, aliases: ActAliases): Reading | undefined {
  const start = tokens.skip(at, '第', '제')
  if (!tokens.isNumber(start) || !tokens.reads(start + 1, '条', '條', '조')) return undefined
  let [number, end] = [tokens.text(start), start + 2]
  while (tokens.reads(end, 'の', '의', '之') && tokens.isNumber(end + 1)) {
    number += `-${tokens.text(end + 1)}`
    end += 2
  }
  const path = [number]
  for (let level = 0; level < 2; level += 1) {
    const inner = tokens.skip(end, '第', '제')
    if (!tokens.isNumber(inner) || !tokens.reads(inner + 1, '項', '号', '款', '항', '호')) break
    path.push(tokens.text(inner))
    end = inner + 2
  }
  const act = actBefore(tokens, at, aliases)
  const [from, name] = [act?.from ?? at, act?.mention.act]
  const citation: Citation = { from, to: end, kind: 'article', path, act: name, confidence: 'certain', pointed: false }
  return { citations: [citation], end }
}

/** The act whose name ends before the article: the longest that the corpus has, else the word that ends as one. */
function actBefore(tokens: TokenStream, at: number, aliases: ActAliases) {
  let end = tokens.reads(at - 1, 'の', '의') ? at - 1 : at
  // `民法（明治二十九年法律第八十九号）第9条`, `《刑事诉讼法》第五条`.
  for (let open = end - 1; tokens.reads(end - 1, ')') && open > end - BRACKET_TOKENS_MAX; open -= 1)
    if (tokens.reads(open, '(')) end = open
  while (tokens.reads(end - 1, '」', '』', '》', '〉')) end -= 1
  for (let from = Math.max(0, end - NAME_TOKENS_MAX); from < end; from += 1) {
    const mention = aliases.find(tokens, from)
    if (mention?.end === end) return { mention, from }
  }
  // `民法附則第9条`: a part that counts anew belongs to the name.
  const name = tokens.text(end - 1).replace(COUNTS_ANEW, (part) => `${tokens.text(end - 2)}${part}`)
  return ACT.test(name) ? { mention: actBeside(`name:${name}`, end), from: end - 1 } : undefined
}
