import type { ActMention } from './act-mention.ts'
import { digitsAt, reads, skip, type Token } from './tokens.ts'

const NUMBERED = new Set(['loi', 'ordonnance', 'decret'])

/** Reads `loi n° 78-17 du 6 janvier 1978`. The number identifies the act; the date is skipped. */
export function readFrenchAct(tokens: readonly Token[], at: number): ActMention | undefined {
  const kind = tokens[at]?.text ?? ''
  if (!NUMBERED.has(kind)) return undefined
  const place = reads(tokens, at + 1, 'n', 'no') ? skip(tokens, at + 2, '°', '.', 'o') : at + 1
  const year = digitsAt(tokens, place, 2, 4)
  const number = digitsAt(tokens, place + 2, 1, 4)
  if (year === undefined || year.length === 3 || number === undefined || !reads(tokens, place + 1, '-'))
    return undefined
  return { act: `fr:${kind}-${year}-${number}`, end: afterDate(tokens, place + 3), standing: true, sections: undefined }
}

function afterDate(tokens: readonly Token[], at: number): number {
  if (!reads(tokens, at, 'du') || digitsAt(tokens, at + 1, 1, 2) === undefined) return at
  const month = reads(tokens, at + 2, 'er') ? at + 3 : at + 2
  return tokens[month]?.kind === 'word' && digitsAt(tokens, month + 1, 4, 4) !== undefined ? month + 2 : at
}

/** `l'article 1242`, `aux articles 771 et 772`: the French article marks a provision in any letter case. */
export function isDetermined(tokens: readonly Token[], at: number): boolean {
  if (reads(tokens, at, 'articles')) return reads(tokens, at - 1, 'aux', 'des', 'les')
  return reads(tokens, at - 1, "'") && reads(tokens, at - 2, 'l') && tokens[at]?.glued === true
}
