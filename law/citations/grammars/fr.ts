import { actBeside, numberedAct, type ActMention } from '#law/citations/citation.ts'
import { FUNCTION_WORD_FORMS, type TokenStream } from '#law/citations/lexer/tokens.ts'
import { readRoman } from '#law/citations/provisions/roman.ts'

const NUMBERED = new Set(['loi', 'ordonnance', 'decret'])

/** Reads `loi n° 78-17 du 6 janvier 1978`. The number identifies the act; the date is skipped. */
export function readFrenchAct(tokens: TokenStream, at: number): ActMention | undefined {
  const kind = tokens.text(at)
  if (!NUMBERED.has(kind)) return undefined
  const index = tokens.reads(at + 1, 'n', 'no') ? tokens.skip(at + 2, '°', '.', 'o') : at + 1
  const year = tokens.digits(index, 2, 4)
  const number = tokens.digits(index + 2, 1, 4)
  if (year === undefined || year.length === 3 || number === undefined || !tokens.reads(index + 1, '-')) return undefined
  return numberedAct(`fr:${kind}-${year}-${number}`, afterDate(tokens, index + 3))
}

function afterDate(tokens: TokenStream, at: number): number {
  if (!tokens.reads(at, 'du') || tokens.digits(at + 1, 1, 2) === undefined) return at
  const month = tokens.reads(at + 2, 'er') ? at + 3 : at + 2
  return tokens.isWord(month) && tokens.digits(month + 1, 4, 4) !== undefined ? month + 2 : at
}

const FRENCH_INSTRUMENTS = new Set(['loi', 'ordonnance', 'decret', 'arrete'])
const FRENCH_LINKS = new Set(['de', 'du', 'des', 'd', 'la', 'l', "'", 'les'])
const FRENCH_ADJECTIVE =
  /(?:al|aux|ale|ales|ier|iere|iers|ieres|ique|iques|el|elle|els|elles|aire|aires|il|ils|ile|iles|rural)$/

/** `code de l'urbanisme`, `code forestier`, `loi Sapin II`, `loi du 1er juillet 1901`. */
export function readFrenchName(tokens: TokenStream, at: number): ActMention | undefined {
  const word = tokens.text(at)
  if (word === 'code') return readFrenchCode(tokens, at)
  if (!FRENCH_INSTRUMENTS.has(word)) return undefined
  return readFrenchDate(tokens, at, word) ?? (word === 'loi' ? readFrenchSurname(tokens, at) : undefined)
}

function readFrenchCode(tokens: TokenStream, at: number): ActMention | undefined {
  const words = ['code']
  let index = at + 1
  while (FRENCH_ADJECTIVE.test(tokens.text(index)) && index <= at + 2) words.push(tokens.text(index++))
  const links = linksFrom(tokens, index)
  const noun = tokens.get(index + links.length)
  if (links.length > 0 && noun?.kind === 'word' && !FUNCTION_WORD_FORMS.has(noun.text)) {
    if (['conduite', 'conduct', 'deontologie', 'ethique', 'bonne'].includes(noun.text)) return undefined
    words.push(...links.filter((link) => link !== "'"), noun.text)
    index += links.length + 1
    while (FRENCH_ADJECTIVE.test(tokens.text(index)) && words.length < 8) words.push(tokens.text(index++))
  }
  const isNamed = words.length > 1 && !tokens.reads(at + 1, 'postal', 'personnel', 'final', 'initial')
  return isNamed ? actBeside(`fr:${words.join('-')}`, index) : undefined
}

function linksFrom(tokens: TokenStream, at: number): string[] {
  const links: string[] = []
  while (links.length < 3 && FRENCH_LINKS.has(tokens.text(at + links.length)))
    links.push(tokens.text(at + links.length))
  return links
}

function readFrenchDate(tokens: TokenStream, at: number, kind: string): ActMention | undefined {
  if (!tokens.reads(at + 1, 'du')) return undefined
  const day = tokens.digits(at + 2, 1, 2)
  const month = tokens.skip(at + 3, 'er')
  const year = tokens.digits(month + 1, 4, 4)
  if (day === undefined || year === undefined || !tokens.isWord(month)) return undefined
  return actBeside(`fr:${kind}-${year}-${tokens.text(month)}-${day}`, month + 2)
}

function readFrenchSurname(tokens: TokenStream, at: number): ActMention | undefined {
  const name = tokens.get(at + 1)
  if (name?.kind !== 'word' || !tokens.isCapitalised(at + 1)) return undefined
  const volume = tokens.get(at + 2)
  const numbered = volume !== undefined && /^[IVX]+$/.test(volume.raw) && readRoman(volume.text) !== undefined
  return actBeside(`name:loi-${name.text}${numbered ? `-${volume.text}` : ''}`, numbered ? at + 3 : at + 2)
}
