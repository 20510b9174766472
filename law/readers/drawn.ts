import { foldKey } from '#core/identity/fold.ts'
import { isOneToken, type Role } from './roles.ts'
import { isWithin } from './format.ts'
import { attribute, firstNamed, oneLine, wordSet, type MarkupElement } from './tree.ts'

/** Elements of pictures in the formats, in small letters: their own, and those of drawings in Word. */
const PICTURES = wordSet('img image graphic gph incl.element blip imagedata')
const WORDS_MAX = 100
/** Elements of pages that show more than text, or another file: the loss, and of an attribute the values by which they do. */
const SHOWS: ReadonlyMap<string, readonly [loss: string, attribute: string, value: RegExp]> = new Map([
  ['svg', ['picture', 'role', /^img$/]],
  ['object', ['picture', 'data', /./]],
  ['iframe', ['embedded page', 'src', /^(?!about:)/]],
  ['script', ['formula', 'type', /^math\//]],
  ['input', ['field of a form', 'value', /./]],
])

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
  const loss = shownBy(element)
  if (loss !== undefined) return { is: 'omit', rule: `words of a ${loss}`, loss }
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

/** What an element of a page shows that is not read. */
function shownBy(element: MarkupElement): string | undefined {
  const { name, attributes } = element
  const [loss, stated = '', value] = SHOWS.get(name) ?? []
  if (name === 'svg' && firstNamed(element, 'text', 'image', 'foreignObject') !== undefined) return loss
  if (name === 'input' && (isWithin(element, 'form') || !/^(?:text)?$/.test(attributes.get('type') ?? '')))
    return undefined
  return value?.test(attributes.get(stated) ?? '') === true ? loss : undefined
}
