import type { TokenStream } from '#law/citations/lexer/tokens.ts'

/** What names a kind of provision. */
export type DesignatorKind =
  | 'article'
  | 'section'
  | 'sign'
  | 'rule'
  | 'regulation'
  | 'recital'
  | 'annex'
  | 'schedule'
  | 'chapter'
  | 'part'
  | 'title'
  | 'appendix'
  | 'supplement'
  | 'paragraph'

export interface Designator {
  readonly kind: DesignatorKind
  readonly plural: boolean
  /** Position of the number. */
  readonly end: number
  /**
   * Written out with a capital, or abbreviated with a capital and a full stop. Otherwise it may be an ordinary word.
   */
  readonly capitalised: boolean
  readonly abbreviated: boolean
  /** A hyphen is part of the number, never a range: `aux articles 22-1 et 22-2`. */
  readonly hyphenated?: boolean
}

const DESIGNATORS: readonly (readonly [
  kind: DesignatorKind,
  singular: string,
  plural: string,
  abbreviations: string,
])[] = [
  ['article', 'article artikel artikels articulo articolo', 'articles artikeln', 'art arts'],
  ['section', 'section', 'sections', 'sec secs sect s ss'],
  ['rule', 'rule', 'rules', ''],
  ['regulation', 'regulation', 'regulations', 'reg regs'],
  [
    'recital',
    'recital erwagungsgrund considerant',
    'recitals erwagungsgrunde erwagungsgrunden considerants',
    'erwg rec recs',
  ],
  ['annex', 'annex anhang annexe', 'annexes anhange', ''],
  ['schedule', 'schedule', 'schedules', 'sch sched'],
  ['chapter', 'chapter kapitel chapitre', 'chapters chapitres', ''],
  ['part', 'part teil partie', 'parts', 'pt'],
  ['title', 'title titel titre', 'titres', ''],
  ['appendix', 'appendix', 'appendices', 'app'],
  ['supplement', 'supplement', '', ''],
  ['sign', 'paragraf paragrafen', '', ''],
  ['paragraph', 'paragraph paragraphe', 'paragraphs paragraphen paragraphes', 'para paras'],
]
const PLURAL_ABBREVIATIONS = new Set(['arts', 'secs', 'ss', 'regs', 'recs', 'paras'])

interface Word {
  readonly kind: DesignatorKind
  readonly plural: boolean
  readonly abbreviated: boolean
}

const words = new Map<string, Word>()
for (const [kind, singular, plural, abbreviations] of DESIGNATORS) {
  for (const word of singular.split(' ')) words.set(word, { kind, plural: false, abbreviated: false })
  for (const word of plural.split(' ')) words.set(word, { kind, plural: true, abbreviated: false })
  for (const word of abbreviations.split(' '))
    words.set(word, { kind, plural: PLURAL_ABBREVIATIONS.has(word), abbreviated: true })
}
words.delete('')

/** A designator that no word states: the number at `end` is of this kind. */
export function impliedDesignator(kind: DesignatorKind, end: number, plural = false): Designator {
  return { kind, plural, end, capitalised: true, abbreviated: false }
}

/** Reads `Art.`, `§§`, `Rules`. Undefined if there is no such word, or if it is part of a longer one. */
export function readDesignator(tokens: TokenStream, at: number): Designator | undefined {
  const token = tokens.get(at)
  if (token === undefined) return undefined
  if (token.text.startsWith('§'))
    return {
      kind: 'sign',
      plural: token.text.length > 1,
      end: tokens.skip(at + 1, '§'),
      capitalised: true,
      abbreviated: false,
    }
  const word = token.kind === 'word' ? words.get(token.text) : undefined
  if (word === undefined || isInsideWord(tokens, at)) return undefined
  const hasPoint = tokens.reads(at + 1, '.')
  if (hasPoint && !word.abbreviated) return undefined
  const afterPoint = hasPoint ? at + 2 : at + 1
  const sign = tokens.isSectionSign(afterPoint)
  return {
    ...word,
    end: sign ? afterPoint + 1 : afterPoint,
    capitalised: tokens.isCapitalised(at) && (!word.abbreviated || hasPoint),
    ...(word.plural && hasFrenchArticle(tokens, at) ? { hyphenated: true } : {}),
  }
}

/** Kinds whose name precedes the number in a path: `annex-3`, `recital-26`. */
const CONTAINERS: ReadonlySet<DesignatorKind> = new Set([
  'recital',
  'annex',
  'schedule',
  'chapter',
  'part',
  'title',
  'appendix',
  'supplement',
])

export function isContainer(kind: DesignatorKind): boolean {
  return CONTAINERS.has(kind)
}

/** Whether the token is part of a compound or an address (`sub-section`, `x.art`), and so not a designator. */
function isInsideWord(tokens: TokenStream, at: number): boolean {
  const token = tokens.get(at)
  const before = tokens.get(at - 1)
  if (token?.glued !== true || before === undefined) return false
  if (before.text === '.') return !tokens.isCapitalised(at)
  if (before.text === "'" && token.text === 's') return true
  return before.kind !== 'sign' || ['-', '@', '_', '/', '\\'].includes(before.text)
}

/** `l'article 1242`, `aux articles 771 et 772`: the French article marks a provision in any letter case. */
export function hasFrenchArticle(tokens: TokenStream, at: number): boolean {
  if (tokens.reads(at, 'articles')) return tokens.reads(at - 1, 'aux', 'des', 'les')
  return tokens.reads(at - 1, "'") && tokens.reads(at - 2, 'l') && tokens.isGlued(at)
}
