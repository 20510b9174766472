import { isRoman } from '#core/index/references/parser/lexer/numbers.ts'
import {
  FUNCTION_WORD_FORMS,
  digitsAt,
  isCapitalised,
  reads,
  skip,
} from '#core/index/references/parser/lexer/tokens.ts'
import type { Token } from '#core/index/references/parser/lexer/tokens.ts'
import { mentionOf } from '#core/index/references/parser/names/act.ts'
import type { ActMention } from '#core/index/references/parser/names/act.ts'

const NUMBERED = new Set(['loi', 'ordonnance', 'decret'])

/** Reads `loi n° 78-17 du 6 janvier 1978`. The number identifies the act; the date is skipped. */
export function readFrenchAct(tokens: readonly Token[], at: number): ActMention | undefined {
  const kind = tokens[at]?.text ?? ''
  if (!NUMBERED.has(kind)) return undefined
  const index = reads(tokens, at + 1, 'n', 'no') ? skip(tokens, at + 2, '°', '.', 'o') : at + 1
  const year = digitsAt(tokens, index, 2, 4)
  const number = digitsAt(tokens, index + 2, 1, 4)
  if (year === undefined || year.length === 3 || number === undefined || !reads(tokens, index + 1, '-'))
    return undefined
  return {
    act: `fr:${kind}-${year}-${number}`,
    end: afterDate(tokens, index + 3),
    standalone: true,
    sections: undefined,
  }
}

function afterDate(tokens: readonly Token[], at: number): number {
  if (!reads(tokens, at, 'du') || digitsAt(tokens, at + 1, 1, 2) === undefined) return at
  const month = reads(tokens, at + 2, 'er') ? at + 3 : at + 2
  return tokens[month]?.kind === 'word' && digitsAt(tokens, month + 1, 4, 4) !== undefined ? month + 2 : at
}

const FRENCH_INSTRUMENTS = new Set(['loi', 'ordonnance', 'decret', 'arrete'])
const FRENCH_LINKS = new Set(['de', 'du', 'des', 'd', 'la', 'l', "'", 'les'])
const FRENCH_ADJECTIVE =
  /(?:al|aux|ale|ales|ier|iere|iers|ieres|ique|iques|el|elle|els|elles|aire|aires|il|ils|ile|iles|rural)$/

/** `code de l'urbanisme`, `code forestier`, `loi Sapin II`, `loi du 1er juillet 1901`. */
export function readFrenchName(tokens: readonly Token[], at: number): ActMention | undefined {
  const word = tokens[at]?.text ?? ''
  if (word === 'code') return readFrenchCode(tokens, at)
  if (!FRENCH_INSTRUMENTS.has(word)) return undefined
  return readFrenchDate(tokens, at, word) ?? (word === 'loi' ? readFrenchSurname(tokens, at) : undefined)
}

function readFrenchCode(tokens: readonly Token[], at: number): ActMention | undefined {
  const words = ['code']
  let index = at + 1
  while (FRENCH_ADJECTIVE.test(tokens[index]?.text ?? '') && index <= at + 2) words.push(tokens[index++]?.text ?? '')
  const links = linksFrom(tokens, index)
  const noun = tokens[index + links.length]
  if (links.length > 0 && noun?.kind === 'word' && !FUNCTION_WORD_FORMS.has(noun.text)) {
    if (['conduite', 'conduct', 'deontologie', 'ethique', 'bonne'].includes(noun.text)) return undefined
    words.push(...links.filter((link) => link !== "'"), noun.text)
    index += links.length + 1
    while (FRENCH_ADJECTIVE.test(tokens[index]?.text ?? '') && words.length < 8) words.push(tokens[index++]?.text ?? '')
  }
  const isNamed = words.length > 1 && !reads(tokens, at + 1, 'postal', 'personnel', 'final', 'initial')
  return isNamed ? mentionOf(`fr:${words.join('-')}`, index) : undefined
}

function linksFrom(tokens: readonly Token[], at: number): string[] {
  const links: string[] = []
  while (links.length < 3 && FRENCH_LINKS.has(tokens[at + links.length]?.text ?? ''))
    links.push(tokens[at + links.length]?.text ?? '')
  return links
}

function readFrenchDate(tokens: readonly Token[], at: number, kind: string): ActMention | undefined {
  if (!reads(tokens, at + 1, 'du')) return undefined
  const day = digitsAt(tokens, at + 2, 1, 2)
  const month = skip(tokens, at + 3, 'er')
  const year = digitsAt(tokens, month + 1, 4, 4)
  if (day === undefined || year === undefined || tokens[month]?.kind !== 'word') return undefined
  return mentionOf(`fr:${kind}-${year}-${tokens[month].text}-${day}`, month + 2)
}

function readFrenchSurname(tokens: readonly Token[], at: number): ActMention | undefined {
  const name = tokens[at + 1]
  if (name?.kind !== 'word' || !isCapitalised(name)) return undefined
  const volume = tokens[at + 2]
  const numbered = volume !== undefined && /^[IVX]+$/.test(volume.raw) && isRoman(volume.text)
  return mentionOf(`name:loi-${name.text}${numbered ? `-${volume.text}` : ''}`, numbered ? at + 3 : at + 2)
}
