import { fold } from '#core/index/analysis/words.ts'
import type { TokenStream } from '#law/citations/lexer/tokens.ts'

/** Returns the position after `Rulebook` or `module`. Such a word makes a short code (`AML`) the name of an act. */
export function afterRulebookWord(tokens: TokenStream, at: number): number | undefined {
  return tokens.reads(at, 'rulebook', 'rulebooks', 'module', 'sourcebook', 'handbook') ? at + 1 : undefined
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

/** The words and numbers that a label begins with. */
const LABEL =
  /^(?:[\s.(),:‐‑–—−-]*(?:part|chapter|rules?|section|article|paragraph|regulation|guidance|definitions|disclaimer|annex|schedule|app|appendix|[a-z]{0,3}\d{1,4}[a-z]{0,3}|[a-z]|[ivxl]{2,6})(?![\p{L}\d]))*/u

/**
 * Returns the path that a publisher writes after the code of the rulebook: `23.6.Guidance.2.`, `APP4.A4.10.1`, `Part
 * 15.192.(1)`. A word for the number behind it is left out, and so is a part or chapter with more behind its number.
 * Undefined where a number goes on in another way: `6-bis`, `18³`.
 */
export function rulebookPath(label: string): string[] | undefined {
  const read = LABEL.exec(fold(label))?.[0] ?? ''
  if (/\d[⁰¹²³⁴-⁹^]/u.test(label) || /^[\p{L}\d^]|^[-‐‑–/][\p{L}\d]/u.test(fold(label).slice(read.length)))
    return undefined
  const pieces = read.match(/[a-z\d]+/g) ?? []
  const path = pieces
    .join(' ')
    .replace(/\b(?:rules?|section|article|paragraph|regulation) /g, '')
    .replace(/\b(?:part|chapter) \S+ /g, '')
    .replace(/\b(part|chapter|schedule) /g, '$1-')
    .replace(/\bapp(?:endix)?(?: |(?=\d))/g, 'appendix-')
  return path === '' ? [] : path.split(' ')
}
