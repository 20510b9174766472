import { foldKey } from '#core/identity/fold.ts'
import { declarationsIn, standingOfStyle, type Declaration, type Standing } from './standing.ts'
import { allNamed, attribute, descendants, firstNamed, textOf, writtenIn, type MarkupElement } from './tree.ts'
import type { ReaderLoss } from './document.ts'

type Matches = (element: MarkupElement) => boolean

interface StyleRule {
  readonly selector: string
  readonly matches: Matches | undefined
  /** `unread` where it is not understood whether it applies, or what it shows. */
  readonly standing: Standing | 'unread' | undefined
  readonly declarations: readonly Declaration[]
}

/** States of a page in use, and what stands beside the text of an element. */
const IN_USE =
  /:(?:hover|focus|active|visited|target|checked|disabled|empty|:?(?!before|after)[a-z-]*(?:selection|scroll|backdrop|placeholder|first-l))/i
const BESIDE = /::?(?:before|after|marker)$/i
/** Words and numbers that a rule puts beside a text. */
const ADDS = /(?:^|;)\s*content\s*:[^;]*(?:["'][^"'\\;]*[\p{L}\p{N}]|counter|attr)/iu
/** A line across the middle of a text. */
const ACROSS = /(?=.*absolute)(?=.*top:(?:[45]\d%|calc|[\d.]+em))(?=.*(?:border|background|height:[12]px))/s
/** Rules for print, for movements and for fonts say nothing of a page. */
const SHOWN = /^@(?:media\s+(?:only\s+)?(?:all|screen)$|supports\b|layer\b)/i
const ELSEWHERE = /^@(?:media\s+(?:only\s+)?(?:print|speech)|[\w-]*keyframes|font-face|page|counter-style|property)/i
const RULES_MAX = 2_000
const BEYOND: StyleRule = { selector: 'beyond a bound', matches: undefined, standing: 'unread', declarations: [] }

/**
 * Returns a function that says of an element whether the page's style sheets hide it or strike it through (CSS 2.2,
 * section 6.4).
 */
export function createStyles(root: MarkupElement): (element: MarkupElement) => Standing | undefined {
  const rules = rulesOf(root)
  return (element) => {
    if (element.name === 'dialog' && !element.attributes.has('open')) return 'hidden'
    const hides = rules.some((each) => each.standing !== undefined && isFor(each, element))
    const standing = hides && standingOfStyle(Array.from(stylesOf(element), (each) => each.join(':')).join(';'))
    return standing === false || standing === 'unread' ? undefined : standing
  }
}

function isFor({ matches, standing }: StyleRule, element: MarkupElement): boolean {
  return standing !== 'unread' && matches?.(element) === true
}

/** What the style sheets and its own attribute state for an element, by the names of the properties. */
export function stylesOf(element: MarkupElement): ReadonlyMap<string, string> {
  let root = element
  while (root.parent !== undefined) root = root.parent
  const own = rulesOf(root).filter((each) => isFor(each, element))
  const stated = [...own.flatMap((each) => each.declarations), ...declarationsIn(attribute(element, 'style') ?? '')]
  return new Map([...stated, ...stated.filter(([, value]) => value.endsWith('!important'))])
}

/** Ids weigh more than classes, and those more than names. */
function weightOf(selector: string): number {
  return [/#/g, /[.[]/g, /(?:^|[\s>])\w/g].reduce((sum, each) => sum * 100 + (selector.match(each)?.length ?? 0), 0)
}

/** The rules that hide, strike or add, and that are not understood: their selector, or when they apply to a text. */
export function unreadStyles(root: MarkupElement): readonly ReaderLoss[] {
  const unread = rulesOf(root).filter((each) => each.standing === 'unread' || (each.standing && !each.matches))
  const shown =
    unread.length === 0 ? [] : [...descendants(firstNamed(root, 'body') ?? root)].filter((each) => textOf(each))
  return unread
    .filter(({ matches }) => matches === undefined || shown.some(matches))
    .map(({ selector }) => ({ name: `style rule ${selector.slice(0, 60)}`, count: 1, line: 1 }))
}

/** Rules of a page, the lightest first. */
const RULES = new WeakMap<MarkupElement, readonly StyleRule[]>()

function rulesOf(root: MarkupElement): readonly StyleRule[] {
  const known = RULES.get(root)
  if (known !== undefined) return known
  const rules: StyleRule[] = []
  const add = (heads: readonly string[], written: string): void => {
    const adds = ADDS.test(written) || (BESIDE.test(heads.join()) && ACROSS.test(written.replaceAll(' ', '')))
    const conditions = heads.filter((each) => each.startsWith('@'))
    const stated = standingOfStyle(written) ?? (adds ? 'unread' : undefined)
    if (conditions.some((each) => ELSEWHERE.test(each))) return
    const standing = stated && (conditions.every((each) => SHOWN.test(each)) ? stated : 'unread')
    const nested = heads.filter((each) => !each.startsWith('@')).map((each) => each.split(','))
    const size = nested.reduce((product, each) => product * each.join('&').split('&').length, 1)
    if (size > RULES_MAX) return void rules.push(BEYOND)
    const [first = [], ...inner] = nested
    const selectors = inner.reduce((outer, own) => outer.flatMap((each) => own.map((one) => within(each, one))), first)
    for (const selector of selectors.map((each) => each.trim())) {
      const isBeside = BESIDE.test(selector)
      if (IN_USE.test(selector) || isBeside !== adds) continue
      const matches = matcherOf(selector.replace(BESIDE, ''))
      rules.push({ selector, matches, standing: isBeside ? 'unread' : standing, declarations: declarationsIn(written) })
    }
  }
  for (const sheet of allNamed(root, 'style')) {
    const css = writtenIn(sheet).replaceAll(/\/\*[\s\S]*?\*\/|<!--|-->/g, ' ')
    const heads: string[] = []
    let from = 0
    for (const { index, 0: brace } of css.matchAll(/[{}]/g)) {
      const written = css.slice(from, index)
      const own = brace === '{' ? written.slice(0, written.lastIndexOf(';') + 1) : written
      from = index + 1
      if (heads.length > 0) add(heads, own)
      if (brace === '{') heads.push(written.slice(own.length).trim())
      else heads.pop()
    }
  }
  const stated = rules.filter((each) => each.standing !== undefined).flatMap((each) => each.declarations)
  const names = new Set(stated.map(([name]) => name))
  const isStated = ([name]: Declaration): boolean => names.has(name) || /^(?:list-style|counter-)/.test(name)
  const stating = rules.filter(({ standing, declarations }) => standing ?? declarations.some(isStated))
  if (stating.length > RULES_MAX) stating.splice(RULES_MAX, Infinity, BEYOND)
  const found = stating.toSorted((a, b) => weightOf(a.selector) - weightOf(b.selector))
  RULES.set(root, found)
  return found
}

/** A selector within another one (CSS Nesting 1). */
function within(outer: string, own: string): string {
  return own.includes('&') ? own.replaceAll('&', outer.trim()) : `${outer.trim()} ${own.trim()}`
}

/** Undefined for a selector of another form than names, classes, ids and attributes, within each other. */
function matcherOf(selector: string): Matches | undefined {
  const steps = selector.replaceAll(/\s*>\s*/g, ' >').split(/\s+/)
  let around: Matches | undefined
  for (const step of steps) {
    const own = compoundOf(step.replace(/^>/, ''))
    if (own === undefined) return undefined
    const outer = around
    const isChild = step.startsWith('>')
    around = (element) => {
      if (!own(element)) return false
      if (outer === undefined) return true
      for (let next = element.parent; next !== undefined; next = next.parent) {
        if (outer(next)) return true
        if (isChild) return false
      }
      return false
    }
  }
  return around
}

const SIMPLE = /([.#]?)([\p{L}\p{N}_-]+)|\*|\[\s*([\w-]+)\s*(?:([~^$*|]?)=\s*["']?([^"'\]]*)["']?\s*)?\]/uy

function compoundOf(compound: string): Matches | undefined {
  const tests: Matches[] = []
  SIMPLE.lastIndex = 0
  while (SIMPLE.lastIndex < compound.length) {
    const found = SIMPLE.exec(compound)
    if (found === null) return undefined
    const [, mark, name = '', key, operator, value] = found
    if (key !== undefined) tests.push(({ attributes }) => has(attributes.get(key), operator, value))
    else if (mark === '.') tests.push(({ attributes }) => has(attributes.get('class'), '~', name))
    else if (mark === '#') tests.push(({ attributes }) => attributes.get('id') === name)
    else if (name !== '') tests.push((element) => element.name === foldKey(name))
  }
  return tests.length === 0 && compound !== '*' ? undefined : (element) => tests.every((test) => test(element))
}

const OPERATORS: Readonly<Record<string, (stated: string, value: string) => boolean>> = {
  '~': (stated, value) => stated.split(/\s+/).includes(value),
  '^': (stated, value) => stated.startsWith(value),
  $: (stated, value) => stated.endsWith(value),
  '*': (stated, value) => stated.includes(value),
}

function has(stated: string | undefined, operator = '', value: string | undefined): boolean {
  if (stated === undefined || value === undefined) return stated !== undefined
  return OPERATORS[operator.replace('|', '^')]?.(stated, value) ?? stated === value
}
