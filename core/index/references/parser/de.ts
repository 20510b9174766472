import type { ActMention } from './act-mention.ts'
import { isGermanForm } from './german-form.ts'
import { isRoman } from './numbers.ts'
import type { Token } from './tokens.ts'

/** Reads the abbreviation of an act that no table lists, directly after a provision: `§ 17 InsO`, `§ 31 SGB II`. */
export function readGermanAbbreviation(tokens: readonly Token[], at: number): ActMention | undefined {
  const token = tokens[at]
  if (token?.kind !== 'word' || token.glued || !isGermanForm(token) || isRoman(token.text)) return undefined
  const next = tokens[at + 1]
  if (next?.glued === true && (next.kind !== 'sign' || next.text === '-')) return undefined
  const isVolume = token.text === 'sgb' && next !== undefined && /^(?:[IVX]{1,4}|\d{1,2})$/.test(next.raw)
  return {
    act: `de:${token.text}${isVolume ? `-${next.text}` : ''}`,
    end: isVolume ? at + 2 : at + 1,
    standing: false,
    sections: undefined,
  }
}
