import { foldKey } from '#core/identity/fold.ts'
import { isOneToken, type Role } from './roles.ts'
import { attribute, oneLine, wordSet, type MarkupElement } from './tree.ts'

/** Elements of pictures in the formats, in small letters: their own, and those of drawings in Word. */
const PICTURES = wordSet('img image graphic gph incl.element blip imagedata')
const WORDS_MAX = 100

export const MATHML = 'http://www.w3.org/1998/Math/MathML'
/** Parts of a formula by the element around them and their place in it, with the sign before them. */
const SIGNS: Readonly<Record<string, readonly string[]>> = {
  mfrac: ['', ' / '],
  msup: ['', '^'],
  msub: ['', '_'],
  msubsup: ['', '_', '^'],
}
const UNREAD = wordSet('mover munder munderover mtable mmultiscripts mprescripts menclose mroot mstack mlongdiv')

/** What has no letters, or not in a line, in any format: a mark in the text, and a loss where the mark does not say all. */
export function drawnRole(element: MarkupElement): Role | undefined {
  const { name, namespace, parent, place } = element
  if (PICTURES.has(foldKey(name))) {
    const words = oneLine(attribute(element, 'alt', 'AltText', 'descr', 'title') ?? '').slice(0, WORDS_MAX)
    return { is: 'marked', before: ` [picture${words === '' ? '' : `: ${words}`}] `, after: '', loss: 'picture' }
  }
  if (namespace !== MATHML) return undefined
  if (name.startsWith('annotation')) return { is: 'omit', rule: 'other notation of a formula' }
  if (UNREAD.has(name)) return { is: 'marked', before: ' [formula] ', after: '', loss: `formula with ${name}` }
  const sign = SIGNS[parent?.name ?? '']?.[place - 1]
  const root = name === 'msqrt' ? '√' : ''
  const isWhole = root !== '' || name === 'mfrac'
  if (sign === undefined && !isWhole) return undefined
  const isLong = isWhole || !isOneToken(element)
  return { is: 'marked', before: `${sign ?? ''}${root}${isLong ? '(' : ''}`, after: isLong ? ')' : '' }
}
