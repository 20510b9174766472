import type { Designator } from './designators.ts'
import { isElided } from './fr.ts'
import type { Element } from './list.ts'
import { isRuleNumber } from './rulebook.ts'
import { isCapitalised } from './tokens.ts'
import type { Token } from './tokens.ts'

/**
 * Whether a provision without an act is unambiguously a reference: `§ 5`, `Article 6`, `section 5(a)`.
 * @param at position of the designator.
 */
export function isStrong(tokens: readonly Token[], at: number, designator: Designator, first: Element): boolean {
  const [main] = first.parts
  const isBracketed = first.parts.length > 1
  const capital = isCapitalised(tokens[at])
  switch (designator.kind) {
    case 'sign':
      return true
    case 'article':
      return designator.named || isBracketed || isElided(tokens, at) || /^[lrd]\d/.test(main?.text ?? '')
    case 'section':
      return isBracketed || (designator.named && !designator.abbreviated)
    case 'rule':
      return isRuleNumber(designator, first.parts, capital)
    case 'regulation':
      return isBracketed
    case 'recital':
      return capital
    case 'annex':
      return capital && /^[IVXL]+$/.test(tokens[designator.end]?.raw ?? '')
    case 'schedule':
    case 'chapter':
    case 'part':
    case 'title':
    case 'appendix':
    case 'supplement':
    case 'paragraph':
      return false
    default:
      return designator.kind satisfies never
  }
}
